"""Networks compiled while they are trained: the same numbers, the same names of weights, plain networks afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import unbraid
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.contract import Loss, Method, minimise

FEATURES = np.random.default_rng(0).normal(size=(40, 5))
NEEDS_COMPILER = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="torch.compile needs a C++ compiler"
)


def trained(out: Path, name: str = "beta_vae", **arguments: Any) -> Method[Any]:
    table = unbraid.from_arrays(FEATURES, background=FEATURES[:20])
    method = unbraid.build(name, table, seed=3, width=1, lr=1e-2)
    unbraid.fit(method, table, seed=3, batch=8, out=str(out), show=False, **{"steps": 6, **arguments})
    return method


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """torch.compile without its C++ part, which takes a minute: what was compiled is traced and counted."""
    found: list[Any] = []
    real = torch.compile

    def compile(function: Any, **_: Any) -> Any:
        found.append(function)
        return real(function, backend="aot_eager")

    monkeypatch.setattr(torch, "compile", compile)
    return found


@pytest.mark.parametrize("name", ["beta_vae", "factor_vae", "salient_vae"])
def test_traced_networks_train_to_the_same_weights(tmp_path: Path, traced: list[Any], name: str) -> None:
    plain = trained(tmp_path / "plain", name)
    assert not traced
    compiled = trained(tmp_path / "compiled", name, compile=True)
    networks = [function.__self__ for function in traced[1:]]  # the first one tries the compiler
    assert networks == list(compiled.children())
    assert not any("forward" in vars(module) for module in compiled.modules())
    found, wanted = compiled.state_dict(), plain.state_dict()
    assert list(found) == list(wanted)
    for key, value in wanted.items():
        torch.testing.assert_close(found[key], value, rtol=1e-5, atol=1e-6)


def test_a_run_is_continued_with_and_without(tmp_path: Path, traced: list[Any]) -> None:
    def stop(step: int, terms: dict[str, float]) -> None:
        if step == 100:
            raise KeyboardInterrupt

    wanted = trained(tmp_path / "plain", steps=150).state_dict()
    for first, second in ((True, False), (False, True)):
        out = tmp_path / f"{first}"
        with pytest.raises(KeyboardInterrupt):
            trained(out, steps=150, compile=first, save_every=-1, hooks=[stop])
        found = trained(out, steps=150, compile=second).state_dict()
        for key, value in wanted.items():
            torch.testing.assert_close(found[key], value, rtol=1e-4, atol=1e-5)


class Smooth(Method[Images]):
    """Its loss is the slope of its network."""

    def __init__(self, spec: Spec, *, lr: float = 1e-2) -> None:
        super().__init__(spec, lr=lr)
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(spec.shape[2], 1), nn.Tanh())

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        return {"z": self.net(x)}

    def losses(self, batch: Images, step: int) -> dict[str, Loss]:
        x = batch.x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.net(x).sum(), x, create_graph=True)
        return {"model": minimise(slope.square().sum())}


def test_gradients_of_gradients_are_refused(tmp_path: Path, traced: list[Any]) -> None:
    table = unbraid.from_arrays(FEATURES)
    unbraid.fit(unbraid.build(Smooth, table), table, steps=2, batch=8, out=str(tmp_path / "plain"), show=False)
    method = unbraid.build(Smooth, table)
    with pytest.raises(UserError, match=r"takes gradients of gradients.*leave compile out"):
        unbraid.fit(method, table, steps=2, batch=8, out=str(tmp_path / "compiled"), show=False, compile=True)
    assert "forward" not in vars(method.net)


def test_a_missing_compiler_is_a_sentence_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("No working C++ compiler found\nmore lines")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: fail)
    with pytest.raises(UserError, match=r"does not work here \(No working C\+\+ compiler found\): install a C\+\+"):
        trained(tmp_path / "runs", compile=True)
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@NEEDS_COMPILER
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # by the compiler itself
@pytest.mark.parametrize("name", ["beta_vae", "factor_vae"])
def test_compiled_networks_train_to_the_same_weights(tmp_path: Path, name: str) -> None:
    plain = trained(tmp_path / "plain", name).state_dict()
    compiled = trained(tmp_path / "compiled", name, compile=True).state_dict()
    again = trained(tmp_path / "again", name, compile=True).state_dict()
    assert list(compiled) == list(plain)
    for key, value in plain.items():
        torch.testing.assert_close(compiled[key], value, rtol=1e-4, atol=1e-5)
        assert torch.equal(compiled[key], again[key])
