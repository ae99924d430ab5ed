"""The archives of a release, built from the files under version control, installed and used far from the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all files under version control, and nothing else."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is not a clone")
    folder = tmp_path_factory.mktemp("clone")
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def archives(clone: Path) -> Path:
    """What `make package` builds, installs and tries; ARCHIVES names a folder where that has been done."""
    if "ARCHIVES" in os.environ:
        return ROOT / os.environ["ARCHIVES"]
    made = subprocess.run(["make", "package"], cwd=clone, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert made.stdout.count(" works\n") == 2
    return clone / "dist"


@pytest.mark.slow
def test_both_archives_hold_the_package_and_nothing_else(clone: Path, archives: Path) -> None:
    own = {str(path.relative_to(clone / "src")) for path in (clone / "src").rglob("*") if path.is_file()}
    (wheel,), (source,) = archives.glob("*.whl"), archives.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as files:
        assert {name for name in files.namelist() if ".dist-info/" not in name} == own
    with tarfile.open(source) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", *(f"src/{name}" for name in own)} <= names
    assert not {name for name in names if name.startswith(("docs", "experiments", "tests", "benchmarks"))}
