"""The site is built from nothing: a broken link or a name without documentation is an error."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"  # once for all processes of xdist
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    with (place.parent / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "built").exists():
            environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
            assert done.returncode == 0, done.stderr[-3000:]
            (place / "built").touch()
    return place


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix("") for page in (ROOT / "docs").rglob("*.md")}
    built = {page.relative_to(site).with_suffix("") for page in site.rglob("*.html")}
    assert {page.with_name("index") if page.name == "README" else page for page in pages} <= built
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|iframe|link(?=[^>]*stylesheet))[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert not loaded, (page.name, loaded)


def test_verdicts_are_coloured_by_the_page(site: Path) -> None:
    page = (site / "results" / "contrastive.html").read_text(encoding="utf-8")
    claims = json.loads((ROOT / "docs" / "results" / "contrastive.json").read_text(encoding="utf-8"))["claims"]
    for verdict in ("shown", "not shown", "unclear"):
        told = sum(claim["verdict"] == verdict for claim in claims)  # in the list of claims, and each by itself
        assert page.count(f'<strong class="verdict {verdict.replace(" ", "-")}">{verdict}</strong>') == 2 * told
    assert claims and "🟢" not in page and "🔴" not in page


def test_formulae_are_drawn_by_the_browser(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert 'class="arithmatex"' not in page.read_text(), page.name


def test_every_public_name_is_explained(site: Path) -> None:
    import unbraid

    text = (site / "api.html").read_text()
    missing = [name for name in unbraid.__all__ if not re.search(rf"<h3[^>]*>.*?\b{name}\b", text, re.DOTALL)]
    assert not missing
