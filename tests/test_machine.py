from __future__ import annotations

import os
import sys
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from unbraid import machine
from unbraid.errors import UserError


def test_cores_and_memory_on_any_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.cores() == os.cpu_count()
    machine.memory.cache_clear()
    assert machine.memory() > 2**28
    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.setattr(machine, "CONTAINER_LIMITS", ())
    machine.memory.cache_clear()
    assert machine.memory() == 0
    machine.require_memory(10**18, "what cannot be known", "")
    machine.memory.cache_clear()


def test_what_does_not_fit_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory", lambda: 8 * 10**9)
    machine.require_memory(8 * 10**9, "it", "")
    with pytest.raises(UserError, match=r"it would need 12\.5 GB of memory, and this machine has 8\.0 GB: do less"):
        machine.require_memory(125 * 10**8, "it", "do less")


def test_settings_are_harmless_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    machine.prepare_memory()
    monkeypatch.delattr(os, "getloadavg", raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOMP_SPINCOUNT", "")  # so that it is put back
    monkeypatch.delenv("GOMP_SPINCOUNT")
    machine.prepare_threads(1)
    assert os.environ["GOMP_SPINCOUNT"] == machine.SPIN_WHEN_QUIET


@pytest.mark.parametrize("seed", [0, np.int64(7), 2**64 - 1])
def test_torch_draws_the_same_as_after_its_own_seeding(seed: int) -> None:
    torch.random.manual_seed(seed)
    expected = torch.randn(5)
    machine.seed_torch(seed)
    assert torch.equal(torch.randn(5), expected)


def test_generators_of_other_devices_are_seeded_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(machine, "_has_accelerator", lambda: True)
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    machine.seed_torch(3)
    assert seeds == [3]


def test_accelerators_keep_their_generators_where_numbers_are_drawn_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(machine, "_has_accelerator", lambda: True)
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    machine.seed_torch(3, "cpu")
    assert seeds == []
    machine.seed_torch(4, torch.device("cuda", 1))
    assert seeds == [4]


def test_only_the_generators_that_are_used_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)  # torch warns of that, and initialises both
    before = torch.get_rng_state()
    with machine.forked_rng("cpu"):
        torch.randn(3)
    assert torch.equal(torch.get_rng_state(), before)
    fork = Mock()
    monkeypatch.setattr(torch.random, "fork_rng", fork)
    machine.forked_rng("cuda:1")
    fork.assert_called_once_with(devices=["cuda:1"], device_type="cuda")
