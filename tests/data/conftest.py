"""A data root and a cache for each test, and a watch over what is written into the data root."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import unbraid.data

LIBRARY = str(Path(next(iter(unbraid.data.__path__))))
MAY_WRITE = str(Path("io") / "fetch.py")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
written: list[str] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Notes what the library, except for `data fetch`, writes into the data root."""
    if event not in ("open", "os.mkdir", "os.rename", "os.remove", "os.utime"):
        return
    if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & WRITING):
        return
    root = os.environ.get("UNBRAID_DATA")
    if not root or not str(arguments[0]).startswith(root):
        return
    frame = sys._getframe(1)
    while frame.f_back:
        file = frame.f_code.co_filename
        if file.startswith(LIBRARY):
            if not file.endswith(MAY_WRITE):
                written.append(f"{event} {arguments[0]}")
            return
        frame = frame.f_back


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def _data_root_is_only_read() -> Iterator[None]:
    written.clear()
    yield
    assert not written, f"the library has written into the data root: {written}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
