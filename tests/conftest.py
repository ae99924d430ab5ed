from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from unbraid import machine

torch.set_num_threads(1)
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # of what tests start: each core has tests of its own to do
    os.environ.setdefault(name, "1")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that train or measure for long")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: some tests wait for a browser or for processes."""
    return machine.cores() + 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: give --slow"))


@pytest.fixture(autouse=True, scope="session")
def data_root_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or fills the data root or the cache of whoever runs it; processes of xdist share a cache."""
    base = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNBRAID_DATA", str(tmp_path_factory.mktemp("data")))
        patch.setenv("UNBRAID_CACHE", str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"))
        yield


@pytest.fixture(autouse=True)
def the_same_numbers_whatever_ran_before(request: pytest.FixtureRequest) -> None:
    """Each test draws from a fresh generator: which tests share a process changes from run to run."""
    drawn: np.random.Generator | None = getattr(request.module, "RNG", None)
    if drawn is not None:
        drawn.bit_generator.state = np.random.default_rng(0).bit_generator.state


@pytest.fixture(autouse=True, scope="session")
def fewest_steps_for_pictures() -> Iterator[None]:
    """No test looks at where t-SNE puts the points of a picture; its scores are taken with all of their steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbraid.metrics.plane.PICTURE_STEPS", 250)
        yield


@pytest.fixture(autouse=True, scope="session")
def each_core_has_tests_of_its_own() -> Iterator[None]:
    """Metrics use one thread where none are asked for: two of each process of tests would wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbraid.metrics.fitting.cores", lambda: 1)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    """No test of this process takes the power away; that files are synchronised is seen in the calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def seeds_without_a_search() -> Iterator[None]:
    """torch.manual_seed keeps the stack for each kind of device that is not here: a third of a small test."""
    with pytest.MonkeyPatch.context() as patch:
        if not torch.accelerator.is_available():
            patch.setattr(torch, "manual_seed", lambda seed: torch.default_generator.manual_seed(int(seed)))
        yield


@pytest.fixture(autouse=True)
def same_weights_each_time() -> None:
    torch.manual_seed(0)


@pytest.fixture
def shared() -> Path:
    """Reference material that lies beside the project on some machines."""
    path = Path(__file__).parents[2] / "shared"
    if not path.is_dir():
        pytest.skip("the shared reference material is not here")
    return path


@pytest.fixture
def shared_data(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with the shared files."""
    root = tmp_path / "root"
    root.mkdir()
    for path in (shared / "data").iterdir():
        (root / path.name).symlink_to(path)
    monkeypatch.setenv("UNBRAID_DATA", str(root))
    return root


@pytest.fixture(scope="module")
def studies_in_this_process() -> Iterator[None]:
    """A study starts no workers, each of which imports torch; tests/study tries those."""
    from tests.study.toys import run_here

    with pytest.MonkeyPatch.context() as patch:
        for module in ("local", "estimate"):
            patch.setattr(f"unbraid.study.{module}.run_all", run_here)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium as the system has it."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None or importlib.util.find_spec("playwright") is None:
        pytest.skip("there is no Chromium here, or no Playwright to drive it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()
