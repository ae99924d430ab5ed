"""The page of a study: whole, half finished, with one data set, one seed, or without metrics."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unbraid.cli import main
from unbraid.figures.parts import Section, Table
from unbraid.reports import analyses
from unbraid.reports import study as page
from unbraid.study import Study, chain, product
from unbraid.study.measured import gather
from unbraid.study.plan import Job

METRICS = ("mig", "dci", "sap")


@pytest.fixture(autouse=True)
def few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "REPLICATES", 8)


def plan(seeds: int = 3, data: tuple[str, ...] = ("dsprites", "shapes3d")) -> list[Job]:
    objectives = chain(product(method="beta_vae", beta=[1, 4]), product(method="beta_tcvae", beta=[2, 6]))
    return Study(runs=product(objectives, data=data, seed=range(seeds))).jobs()


def leave(folder: Path, jobs: list[Job], metrics: tuple[str, ...] = METRICS, *, downstream: bool = True) -> None:
    """Directories as runs leave them; MIG is ten times the seed plus the strength, sampled TC falls with strength."""
    rng = np.random.default_rng(0)
    for job in jobs:
        beta, seed = float(job.plan.arguments["beta"]), job.plan.seed
        (path := folder / job.name).mkdir(parents=True)
        (path / "run.json").write_text(json.dumps(vars(job.plan)))
        scores: dict[str, Any] = {m: _score(10 * seed + beta + (0 if m == "mig" else rng.random())) for m in metrics}
        if downstream:
            parts = {"mean": {"100": 0.2 + rng.random(), "1000": 0.9}}
            scores["downstream"] = _score(0.9, parts)
        quantities = {"elbo": -float(seed), "total_correlation.mean": beta, "total_correlation.sampled": 1 / beta}
        (path / "scores.json").write_text(json.dumps(scores))
        (path / "evaluation.json").write_text(json.dumps({"quantities": quantities, "seconds": {"train": 3600.0}}))
        np.savez(path / "codes.npz", codes_z=rng.standard_normal((60, 3)), kl_z=np.ones(3), rows=np.arange(60))


def _score(value: float, parts: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "null": 0.0, "warnings": [], "parts": parts or {}}


def written(folder: Path) -> str:
    text = page.report(folder).read_text()
    Balanced().feed(text)
    return text


class Balanced(HTMLParser):
    """Fails where an element is closed that was not opened last."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "br", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_all_seven_analyses_are_there_with_intervals(tmp_path: Path) -> None:
    leave(tmp_path, plan())
    text = written(tmp_path)
    titles = re.findall(r"<h2>(.*?)</h2>", text)
    assert titles[:2] == ["Scores", "The best runs"] and titles[-1] == "All runs" and len(titles) == 9
    assert "24 scored runs, 24.0 hours" in text
    assert text.count('class="chart"') == 4 and text.count('class="heat"') == 8
    assert not re.search(r"https?:|//[a-z]", text)  # nothing is fetched from elsewhere
    assert "-1.00 (-1.00 to -1.00)" in text  # sampled TC falls with strength, always
    assert "same data set, another metric" in text and "another data set, another metric" in text
    row = re.search(r"<td[^>]*>least elbo|most elbo</td>(.*?)</tr>", text)
    assert row
    evidence = gather(tmp_path)
    assert evidence.metrics == list(METRICS)
    assert evidence.efficiency == {"downstream": (100, 1000)}


def test_scores_of_models_are_guides_that_need_no_factors(tmp_path: Path) -> None:
    leave(tmp_path, plan(), (*METRICS, "translation", "variation_predictability"))
    evidence = gather(tmp_path)
    assert evidence.metrics == list(METRICS)
    assert (evidence.guides["translation"], evidence.guides["variation_predictability"]) == (-1, 1)
    assert "least translation" in written(tmp_path)


@pytest.mark.parametrize(
    ("seeds", "data", "metrics", "words"),
    [
        (
            1,
            ("dsprites", "shapes3d"),
            METRICS,
            ["no interval can be given", "two seeds", "nothing is left for the seed"],
        ),
        (3, ("dsprites",), METRICS, ["Not shown, for want of data sets", "another data set, same metric"]),
        (3, ("dsprites", "shapes3d"), ("mig",), ["it takes two metrics, and the runs have 1"]),
        (
            2,
            ("dsprites",),
            (),
            ["no run has a score of which more is better", "no run was scored", "metric 'downstream' and another"],
        ),
    ],
)
def test_what_cannot_be_shown_is_said(
    seeds: int, data: tuple[str, ...], metrics: tuple[str, ...], words: list[str], tmp_path: Path
) -> None:
    leave(tmp_path, plan(seeds, data), metrics, downstream=bool(metrics))
    text = written(tmp_path)
    for word in words:
        assert word.replace("'", "&#39;") in text


def test_a_study_that_has_just_begun(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = plan()
    leave(tmp_path, jobs[:1])
    (tmp_path / jobs[1].name).mkdir()
    (tmp_path / jobs[1].name / "run.json").write_text(json.dumps(vars(jobs[1].plan)))
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"report: {tmp_path / 'report.html'}\n"
    text = (tmp_path / "report.html").read_text()
    assert "1 scored run, 60 minutes" in text and "the best of 1 run by mig" in text
    assert "rank correlations take three runs that differ" in text


def test_scores_of_any_kind_of_problem_and_own_measures_have_charts_under_the_labels_of_the_study(
    tmp_path: Path,
) -> None:
    runs = product(label=["first", "then"], method="beta_vae", data="dsprites", size=[32, 64], seed=range(2))
    for job in Study(runs=[{**run, "beta": 1.0 if run["label"] == "first" else 4.0} for run in runs]).jobs():
        (path := tmp_path / job.name).mkdir(parents=True)
        (path / "run.json").write_text(json.dumps(vars(job.plan)))
        scores = {"class_from_s": 0.5, "set_from_z": 0.75, "dci:gbt": 0.25, "reencoded_sap": 0.125}
        filled = {name: _score(value, {"part": 0.9}) for name, value in scores.items()}
        (path / "scores.json").write_text(json.dumps(filled))
        known = {"label": job.label, "measures": {"mine": {"depth": 3.0}}, "quantities": {"active_units": 4.0}}
        (path / "evaluation.json").write_text(json.dumps(known))
    evidence = gather(tmp_path)
    assert evidence.metrics == ["class_from_s", "dci:gbt", "reencoded_sap"]
    assert evidence.others == ["set_from_z", "mine.depth"]
    assert [data for data, _ in evidence.parts()] == ["dsprites size=32", "dsprites size=64"]
    assert evidence.notes == []
    text = written(tmp_path)
    assert text.count("<h3>set_from_z (chance is good)</h3>") == 2 and text.count("<h3>mine.depth</h3>") == 2
    assert '<span class="label">first</span>' in text and "beta=4.0" not in text
    assert "0.12 (0.12 to 0.12)" in text  # a mean in the folded table


def test_runs_that_are_pooled_are_named(tmp_path: Path) -> None:
    runs = product(method="beta_vae", beta=[1, 4], data="dsprites", steps=[100, 200], seed=range(2))
    leave(tmp_path, Study(runs=runs).jobs())
    assert any("differ in steps;" in note for note in gather(tmp_path).notes)


def test_options_of_one_run_are_refused_for_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave(tmp_path, plan(1, ("dsprites",)))
    assert main(["report", str(tmp_path), "--image", "3"]) == 1
    assert "are for one run" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


def test_a_score_that_is_the_same_in_all_runs_has_empty_cells(tmp_path: Path) -> None:
    leave(tmp_path, jobs := plan(), ("mig", "dci"), downstream=False)
    for job in jobs:
        scores = {"mig": _score(0.5), "dci": _score(float(job.plan.seed))}
        (tmp_path / job.name / "scores.json").write_text(json.dumps(scores))
    section = analyses.explained(gather(tmp_path))
    assert isinstance(section, Section) and isinstance(section.parts[0], Table)
    rows = {str(row[1]): row[2:] for row in section.parts[0].rows}
    assert rows["mig"] == [""] * 4 and all(rows["dci"])
