"""The list of sources, and the data root."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.data.io import fetch
from unbraid.data.io.downloads import MADE_FROM, SOURCES, is_present, set_folder
from unbraid.data.io.paths import cache_folder, data_root, source_of
from unbraid.errors import UserError

pytestmark = pytest.mark.usefixtures("root", "cache")


def test_every_source_is_well_formed() -> None:
    assert set(MADE_FROM).isdisjoint(SOURCES)
    assert {part for parts in MADE_FROM.values() for part in parts} <= set(SOURCES)
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
        assert not is_present(name)
        for download in source.downloads:
            path = set_folder(name) / (download.unpacks or download.file)
            (path if download.unpacks else path.parent).mkdir(parents=True, exist_ok=True)
            if not download.unpacks:
                path.touch()
    assert {name for name in SOURCES if is_present(name)} == {
        "mnist",
        "dsprites_npz",
        "shapes3d_h5",
        "mpi3d",
        "small_norb",
    }


def test_a_folder_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert source_of("x", str(tmp_path / "missing")) == tmp_path / "missing"
    with pytest.raises(UserError, match=r"cannot be read: .*too long"):
        source_of("x", "a" * 5000)
    with pytest.raises(UserError, match="cannot be read"):
        source_of("x", "a\0b")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UserError, match=f"{tmp_path} cannot be read: permission denied"):
        source_of("x", str(tmp_path))


def test_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNBRAID_DATA", "~/somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_root() == tmp_path / "somewhere"
    monkeypatch.setenv("UNBRAID_DATA", "")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("UNBRAID_CACHE", "")
    assert cache_folder() == tmp_path / ".cache" / "unbraid"
    assert data_root() == tmp_path / ".cache" / "unbraid" / "data"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "unbraid"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "unbraid"
    monkeypatch.setenv("UNBRAID_CACHE", "~/fast")
    assert cache_folder() == tmp_path / "fast"
    assert data_root() == tmp_path / "fast" / "data"
