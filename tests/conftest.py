from __future__ import annotations

from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the tests that train or measure for long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: give --slow"))


@pytest.fixture
def shared() -> Path:
    """Reference material that lies beside the project on some machines."""
    path = Path(__file__).parents[2] / "shared"
    if not path.is_dir():
        pytest.skip("the shared reference material is not here")
    return path
