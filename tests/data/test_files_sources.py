"""The list of sources, and the data root."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.data.io import fetch
from unbraid.data.io.downloads import SOURCES, USES, folder, present
from unbraid.data.io.paths import data_root, place
from unbraid.errors import UserError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


def test_every_source_is_well_formed() -> None:
    assert set(USES).isdisjoint(SOURCES)
    assert {part for parts in USES.values() for part in parts} <= set(SOURCES)
    for source in SOURCES.values():
        assert source.downloads or source.by_hand
        for download in source.downloads:
            assert download.url.startswith("http")
            assert len(bytes.fromhex(download.checksum)) in (16, 32)
            assert bool(download.unpacks) == download.file.endswith((".tar.gz", ".tgz"))


def test_checksums_of_the_real_files(shared: Path) -> None:
    for download in SOURCES["mnist"].downloads:
        file = shared / "data/mnist" / download.file
        assert fetch.digest(file, download.checksum) == download.checksum
        assert file.stat().st_size == download.size


def test_what_is_fetched_is_what_is_looked_for(root: Path) -> None:
    for name, source in SOURCES.items():
        assert not present(name)
        for download in source.downloads:
            path = folder(name) / (download.unpacks or download.file)
            (path if download.unpacks else path.parent).mkdir(parents=True, exist_ok=True)
            if not download.unpacks:
                path.touch()
    assert {name for name in SOURCES if present(name)} == {
        "mnist",
        "dsprites_npz",
        "shapes3d_h5",
        "mpi3d",
        "small_norb",
    }


def test_a_folder_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert place("x", str(tmp_path / "missing")) == tmp_path / "missing"
    with pytest.raises(UserError, match=r"cannot be read: .*too long"):
        place("x", "a" * 5000)
    with pytest.raises(UserError, match="cannot be read"):
        place("x", "a\0b")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UserError, match=f"{tmp_path} may not be read by this user"):
        place("x", str(tmp_path))


def test_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNBRAID_DATA", "~/somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_root() == tmp_path / "somewhere"
    monkeypatch.setenv("UNBRAID_DATA", "")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert data_root() == tmp_path / ".cache" / "unbraid"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data_root() == tmp_path / "xdg" / "unbraid"
    monkeypatch.setattr("sys.platform", "darwin")
    assert data_root() == tmp_path / "Library" / "Caches" / "unbraid"
