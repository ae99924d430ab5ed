"""Reports of runs that lack something, that have too much of it, or whose names are markup."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unbraid.cli import main
from unbraid.errors import UserError
from unbraid.reports import claims, compare
from unbraid.reports.page import report, traversal_sheet
from unbraid.train.run import Plan, Run

EVIL = "<script>alert(1)</script>"


class Tags(HTMLParser):
    """The elements of a page, without what stands inside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts = 0
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.scripts += tag == "script"

    def handle_data(self, data: str) -> None:
        self.text += data


def leave(
    root: Path,
    *,
    latents: int = 5,
    images: int = 10,
    shape: tuple[int, int, int] = (3, 16, 16),
    factors: tuple[str, ...] = ("size", "hue"),
    decoder: bool = True,
    seed: int = 0,
    **facts: Any,
) -> Run:
    """A run's directory as it is after scoring, without training: random codes and pictures."""
    rng = np.random.default_rng(seed)
    plan = Plan("beta_vae", {"beta": 4.0, "latents": latents}, facts.pop("data", "dsprites"), {}, {}, 1000, 64, seed)
    run = Run.create(root, plan, **facts)
    n = max(images, 60)
    arrays: dict[str, Any] = {"codes_z": rng.normal(size=(n, latents)), "rows": np.arange(n)}
    arrays |= {"kl_z": np.linspace(3, 0, latents), "factors": rng.integers(0, 3, (n, len(factors)))}
    run.write_arrays("codes.npz", **arrays, factor_names=np.array(factors, dtype=str))
    if decoder:
        pictures = rng.integers(0, 256, (2, images, *shape), dtype=np.uint8)
        swept = rng.integers(0, 256, (latents, 9, *shape), dtype=np.uint8)
        run.write_arrays("pictures.npz", originals=pictures[0], reconstructions=pictures[1], traversals_z=swept)
    matrix = rng.random((latents, len(factors)))
    parts = {"mig": {"mutual_information": matrix.tolist()}, "dci": {"importance": matrix.tolist()}}
    given = {"factors": list(factors), "block": "z"}
    score = {"value": 0.4, "low": 0.3, "high": 0.5, "null": 0.01, "n": n, "params": given, "warnings": []}
    if factors:
        run.write_json("scores.json", {name: {**score, "parts": parts[name]} for name in parts})
    (run.path / "history.csv").write_text("step,loss\n" + "".join(f"{s},{100 - s}\n" for s in range(1, 30)))
    run.finish()
    return run


def written(run: Run) -> str:
    page = report(run).read_text()
    assert Tags(page).scripts == 1, "the page's own"
    return page


def test_names_that_are_markup_are_text_everywhere(tmp_path: Path) -> None:
    run = leave(tmp_path, factors=(EVIL, "hue"), data=f"x.py:{EVIL}")
    scores = run.scores()
    scores["mig"]["warnings"] = [f"beware of {EVIL}"]
    scores[EVIL] = {**scores["mig"], "parts": {EVIL: 0.5}, "params": {"meaning": EVIL}}
    run.write_json("scores.json", scores)
    page = written(run)
    assert Tags(page).text.count(EVIL) > 5 and "&lt;script&gt;" in page
    other = leave(tmp_path, factors=(EVIL, "hue"), data=f"x.py:{EVIL}", seed=1)
    found = compare.compare([run.path, other.path])
    text = compare.report(found, tmp_path / "compared.html").read_text()
    assert Tags(text).scripts == 1 and EVIL in Tags(text).text


def test_markup_in_claims_is_text(tmp_path: Path) -> None:
    claim = {"id": EVIL, "paper": EVIL, "ours": EVIL, "low": 0.1, "high": 0.2, "seeds": 3, "verdict": "not shown"}
    table = {"title": EVIL, "columns": [EVIL], "rows": [[EVIL], [0.123456]], "note": EVIL}
    record = {"title": EVIL, "about": EVIL, "command": EVIL, "seconds": 90.0, "claims": [claim], "tables": [table]}
    (tmp_path / "x.json").write_text(json.dumps(record))
    page = claims.report(tmp_path / "x.json").read_text()
    assert Tags(page).scripts == 1
    assert 'class="verdict not-shown">not shown<' in page
    assert "0.1 to 0.2" in page and ">0.123<" in page and "2 minutes of one core" in page


def test_pictures_of_claims_have_their_own_type(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg/>")
    (tmp_path / "b.png").write_bytes(b"png")
    record = {"title": "x", "about": "", "command": "", "seconds": 1.0, "claims": [], "tables": []}
    (tmp_path / "x.json").write_text(json.dumps({**record, "pictures": [["one", "a.svg"], ["two", "b.png"]]}))
    page = claims.report(tmp_path / "x.json").read_text()
    assert "data:image/svg+xml;base64,PHN2Zy8+" in page and "data:image/png;base64,cG5n" in page


def test_a_file_without_claims_is_refused_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text("{}")
    assert main(["report", str(tmp_path / "x.json")]) == 1
    assert "is no record of claims" in capsys.readouterr().err


def test_a_run_without_decoder_or_factors(tmp_path: Path) -> None:
    page = written(leave(tmp_path, decoder=False, factors=()))
    assert "No factors are known" in page and "Traversals of z" not in page
    assert 'class="headline' not in page


def test_a_run_with_one_image(tmp_path: Path) -> None:
    page = written(leave(tmp_path, images=1))
    assert "Reconstructions" in page and "Much is lost" not in page


def test_two_hundred_latents_of_noise_stay_below_a_megabyte(tmp_path: Path) -> None:
    run = leave(tmp_path, latents=200, shape=(3, 64, 64))
    page = written(run)
    assert len(page.encode()) < 1_000_000
    assert page.count('alt="traversal of z') == 12
    assert "weaker latents carry something too" in page and "The 30 of 200 rows" in page


def test_large_images_are_made_smaller(tmp_path: Path) -> None:
    assert len(written(leave(tmp_path, latents=12, shape=(3, 256, 256))).encode()) < 1_000_000


def test_a_run_of_another_version_is_named(tmp_path: Path) -> None:
    run = leave(tmp_path)
    config = json.loads((run.path / "run.json").read_text())
    config["versions"] = {"unbraid": "9.9"}
    del config["commit"]
    (run.path / "run.json").write_text(json.dumps(config))
    assert "The run was made by unbraid 9.9" in written(Run(run.path))


def test_the_explorer_is_linked_where_it_lies_beside_the_report(tmp_path: Path) -> None:
    run = leave(tmp_path)
    assert 'href="explorer.html"' not in written(run)
    (run.path / "explorer.html").write_text("")
    assert 'href="explorer.html"' in written(run)


def test_a_study_of_five_hundred_runs_stays_below_three_megabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.reports.test_study import leave as leave_study
    from unbraid.reports import analyses, study
    from unbraid.study import Study, product

    monkeypatch.setattr(analyses, "REPLICATES", 2)
    runs = product(method="beta_vae", beta=[1, 2, 4, 6, 8], data=["dsprites", "shapes3d"], seed=range(50))
    jobs = Study(runs=runs).jobs()
    leave_study(tmp_path, jobs)
    for job in jobs:
        (tmp_path / job.name / "codes.npz").unlink()
    shutil.copy(report(leave(tmp_path / "one")), tmp_path / jobs[0].name / "report.html")
    page = study.report(tmp_path).read_text()
    assert len(page.encode()) < 3_000_000
    best = max(jobs, key=lambda job: 10 * job.plan.seed + job.plan.arguments["beta"])
    assert f'href="{best.name}/"' in page


def test_a_run_that_draws_nothing_has_no_sheet_of_traversals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no traversals: its method draws nothing"):
        traversal_sheet(leave(tmp_path, decoder=False), tmp_path / "sheet.png")
