"""An experiment's folder: its plan, its claims and its page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.study.toys import run_here
from unbraid.cli import main
from unbraid.errors import UserError
from unbraid.study import Evaluation, Study, local, product
from unbraid.study.claims import Record, publish
from unbraid.study.reproduce import QUICK_STEPS, Result, Results, _module, _so_far, read_notes, reproduce, smaller
from unbraid.study.run import Resources, run_jobs
from unbraid.study.run_records import take_records, write_records

STUDY = """
from unbraid.study import Study, chain, product

SMALL = dict(data="dsprites", size=16, width=4, batch=16)
runs = chain(
    product(label="plain", method="vae", seed=[1, 2], steps=60, **SMALL),
    product(label="warm", method="vae", seed=[1, 2], steps=40, start_from={"steps": 60}, **SMALL),
)
study = Study(runs=runs, metrics=["mig"], points=200, measures=["measures.py:count"])
"""
MEASURES = """
def count(run, method, data, codes):
    return {"rows": len(codes.rows), "block": {"width": codes.blocks["z"].width}}
"""
CLAIMS = """
from unbraid.study.claims import Record
from unbraid.study.verdicts import claim, paired

from .words import PAPER


def record(found):
    wide = found.results.where(label="plain").values("count", "block", "width")
    given = {"seeds": len(wide), "notes": found.notes}
    claims = [
        claim("000-1", PAPER, f"{wide.mean():.0f}", [paired("width above 9", wide + [0, 0.1] - 9)], **given),
        claim("000-2", PAPER, f"{wide.mean():.0f}", [paired("width below 9", 9 - wide - [0, 0.1])], **given),
    ]
    return Record("A test", found.notes[""], found.command, found.seconds, claims, [])
"""
NOTES = """
What was
run.

## 000-1
Should not be seen.

## 000-2
Looked into:
nothing there.
"""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("somewhere") / "tests_of_wide_codes"
    folder.mkdir()
    files = {"study.py": STUDY, "measures.py": MEASURES, "claims.py": CLAIMS, "notes.md": NOTES}
    for name, text in {**files, "words.py": 'PAPER = "codes are wide"'}.items():
        (folder / name).write_text(text)
    return folder


def test_a_folder_runs_to_its_page_from_any_working_directory(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    relative = os.path.relpath(experiment, tmp_path)
    assert main(["reproduce", relative, "--out", "pages", "--runs", "there", "--workers", "1"]) == 0
    assert "results: pages" in capsys.readouterr().out
    told = json.loads((tmp_path / "pages" / f"{experiment.name}.json").read_text())
    assert [claim["verdict"] for claim in told["claims"]] == ["shown", "not shown"]
    assert [claim["note"] for claim in told["claims"]] == ["", "Looked into: nothing there."]
    assert told["about"] == "What was run."
    assert told["seconds"] > 0
    page = (tmp_path / "pages" / f"{experiment.name}.md").read_text()
    assert "codes are wide" in page and "Should not be seen" not in page
    runs = [path for path in (tmp_path / "there").iterdir() if (path / "run.json").exists()]
    assert len(runs) == 4
    begun = {json.loads((path / "run.json").read_text())["start_from"] for path in runs}
    assert len(begun - {None}) == 2 and begun - {None} <= {path.name for path in runs}


def test_the_page_of_a_part_of_the_runs_says_so(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "run_all", run_here)
    runs = tmp_path / "runs"
    asked = ["reproduce", str(experiment), "--runs", str(runs), "--workers", "1", "--so-far"]
    assert main(asked) == 1
    assert f"no run of {experiment.name} is done in {runs}" in capsys.readouterr().err
    assert main(["study", str(experiment / "study.py"), "--out", str(runs), "--workers", "1", "--limit", "2"]) == 0
    assert main(asked) == 0
    told = json.loads((runs / "results" / f"{experiment.name}.json").read_text())
    assert told["about"] == "**So far: 2 of 4 runs are done, and verdicts may change.** What was run."
    assert [claim["verdict"] for claim in told["claims"]] == ["shown", "not shown"]
    assert sum((path / "evaluation.json").exists() for path in runs.iterdir()) == 2


def test_records_give_the_same_page_without_any_run(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "run_all", run_here)
    given: dict[str, Any] = {"resources": Resources(workers=1)}
    page = reproduce(experiment, out=tmp_path / "a", runs=tmp_path / "runs", **given)
    records = page.with_name(f"{experiment.name}.runs.zip")
    monkeypatch.setattr(local, "run_all", None)
    again = reproduce(experiment, out=tmp_path / "b", runs=tmp_path / "other", records=records, **given)
    for name in (page.name, records.name, f"{experiment.name}.json"):
        assert (again.parent / name).read_bytes() == (page.parent / name).read_bytes(), name
    assert not list((tmp_path / "other").glob("*/weights.safetensors"))
    jobs = {"": _module(experiment, "study").study.jobs(experiment)}
    results = Results([_so_far(job, tmp_path / "other" / job.name) for job in jobs[""]])
    assert len(results.done) == 4 and len(results.here) == 0
    assert take_records(records, jobs, tmp_path / "other") == 0  # they are there


def test_records_leave_a_run_to_be_done_whose_weights_are_needed(experiment: Path, tmp_path: Path) -> None:
    jobs = _module(experiment, "study").study.jobs(experiment)
    second = next(job for job in jobs if job.plan.start_from)
    for job in jobs:
        (tmp_path / "runs" / job.name).mkdir(parents=True)
        (tmp_path / "runs" / job.name / "evaluation.json").write_text(job.name)
    some = [tmp_path / "runs" / job.name for job in jobs if job is not second]
    write_records(tmp_path / "x.zip", some, tmp_path / "runs")
    assert take_records(tmp_path / "x.zip", {"": jobs}, tmp_path / "new") == 2
    found = {path.name: (path / "evaluation.json").read_text() for path in (tmp_path / "new").iterdir()}
    assert found == {job.name: job.name for job in jobs if job.name not in (second.name, second.plan.start_from)}


def test_records_that_are_missing_or_damaged_are_a_sentence(
    experiment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", str(experiment), "--runs", str(tmp_path / "runs"), "--recorded"]) == 1
    assert f"no runs of {experiment.name} are recorded" in capsys.readouterr().err
    (tmp_path / "x.zip").write_bytes(b"PK")
    with pytest.raises(UserError, match="expected the records of an experiment's runs"):
        take_records(tmp_path / "x.zip", {}, tmp_path / "runs")


def test_a_warm_start_has_the_weights_of_the_other_run(experiment: Path, tmp_path: Path) -> None:
    """One more step of a tiny rate: the weights of the second run are all but those of the first."""
    from safetensors.numpy import load_file

    from unbraid.study import plan
    from unbraid.study.execute import task, work

    small: dict[str, Any] = {"data": "dsprites", "size": 16, "width": 4, "batch": 16, "method": "vae"}
    runs = [*product(steps=50, **small), *product(steps=1, lr=1e-9, start_from={"steps": 50, "lr": 1e-4}, **small)]
    first, second = plan.Study(runs=runs, metrics=["mig"], points=100).jobs()
    assert work(task(second, str(tmp_path)), lambda step, loss: None) == {"status": "busy"}
    for job in (first, second):
        assert work(task(job, str(tmp_path)), lambda step, loss: None)["status"] == "finished"
    one, two = (load_file(tmp_path / job.name / "weights.safetensors") for job in (first, second))
    assert all(abs(one[name] - two[name]).max() < 1e-6 for name in one)
    (cold,) = plan.Study(runs=product(steps=1, lr=1e-9, **small), metrics=["mig"], points=100).jobs()
    assert cold.name != second.name


def test_a_start_that_is_not_in_the_plan_is_refused() -> None:
    runs = product(data="dsprites", method="vae", steps=10, start_from={"steps": 50})
    with pytest.raises(UserError, match=r"begins with the weights of vae-dsprites-.*, which is no run of the study"):
        Study(runs=runs).jobs()


def test_a_run_whose_start_is_neither_done_nor_chosen_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "run_all", lambda *_, **__: None)
    small: dict[str, Any] = {"data": "dsprites", "method": "vae"}
    jobs = Study(runs=[{**small, "steps": 5}, {**small, "steps": 3, "start_from": {"steps": 5}}]).jobs()
    given: dict[str, Any] = {"title": "test", "resources": Resources(workers=1), "show": False}
    with pytest.raises(UserError, match="which is not done and not among the runs to do"):
        run_jobs(jobs[1:], jobs[1:], str(tmp_path), **given)
    assert run_jobs(jobs, jobs, str(tmp_path), **given) == {}
    (tmp_path / jobs[0].name).mkdir()
    (tmp_path / jobs[0].name / "evaluation.json").write_text("{}")
    assert run_jobs(jobs[1:], jobs, str(tmp_path), **given) == {}


def test_the_smallest_size_keeps_every_label_and_one_seed() -> None:
    own = Evaluation(metrics=["mig"], points=5000)
    runs = product(label=["a", "b"], method="vae", data="dsprites", steps=5000, seed=range(3), evaluation=own, beta=[1])
    small = smaller(Study(runs=runs))
    assert [(run["label"], run["seed"], run["steps"]) for run in small.runs] == [
        ("a", 0, QUICK_STEPS),
        ("b", 0, QUICK_STEPS),
    ]
    assert small.runs[0]["evaluation"].points == 300


def test_what_is_missing_is_said_before_anything_runs(experiment: Path, tmp_path: Path) -> None:
    other = tmp_path / "needy_experiment"
    other.mkdir()
    (other / "study.py").write_text('needs = ("mnist", "cifar10|cifar10-images.zip")\n' + STUDY)
    (other / "measures.py").write_text((experiment / "measures.py").read_text())
    with pytest.raises(UserError, match=r"needs mnist, cifar10 or cifar10-images\.zip"):
        reproduce(other, out=tmp_path / "out", runs=tmp_path / "runs", resources=Resources(workers=1))
    assert not (tmp_path / "runs").exists()
    with pytest.raises(UserError, match=r"is no experiment: it has no study\.py"):
        reproduce(tmp_path, out=tmp_path / "out", runs=tmp_path / "runs", resources=Resources(workers=1))


def test_a_quick_run_of_a_folder_without_a_study_is_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "without_a_study"
    folder.mkdir()
    (folder / "study.py").write_text("runs = []\n")
    with pytest.raises(UserError, match=r"study\.py must define 'study = Study"):
        reproduce(folder, out=tmp_path, runs=tmp_path / "runs", resources=Resources(workers=1), quick=True)


def test_runs_to_come_are_found_by_the_run_that_they_start_from(tmp_path: Path) -> None:
    small: dict[str, Any] = {"data": "dsprites", "method": "vae"}
    jobs = Study(runs=[{**small, "steps": 5}, {**small, "steps": 3, "start_from": {"steps": 5}}]).jobs()
    found = Results([_so_far(job, tmp_path / job.name) for job in jobs])
    assert [result.steps for result in found.where(start_from=None)] == [5]
    assert [result.steps for result in found.where(start_from=jobs[0].name)] == [3]


def test_the_index_leaves_out_files_that_are_no_records(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "torn.json").write_text("{")
    publish(Record("A test", "", "unbraid reproduce a", 0.0, [], []), tmp_path, "a")
    assert (tmp_path / "README.md").read_text().count(".md)") == 2  # the page, and the guide to data files


def test_no_workers_is_an_error_before_anything_begins(experiment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", str(experiment), "--workers", "0"]) == 1
    assert "--workers must be at least 1, and is 0" in capsys.readouterr().err


def test_values_are_found_by_path_in_the_order_of_seeds() -> None:
    def result(seed: int, value: float | None) -> Result:
        scores = {"mig": {"value": value, "parts": {"per_factor": [7.0, 8.0]}}}
        return Result("a", "d", seed, 10, {"beta": seed}, scores, {"truth": {"x": 2.0 * seed}}, 0.0, Path())

    results = Results([result(3, 0.3), result(1, None), result(2, 0.2)])
    assert results.values("mig").tolist()[1:] == [0.2, 0.3] and results.values("mig")[0] != results.values("mig")[0]
    assert results.values("mig", "parts", "per_factor").tolist() == [7.0, 7.0, 7.0]
    assert results.where(beta=2).values("truth", "x").tolist() == [4.0]
    assert len(results.where(label="b")) == 0


def test_notes_are_read_by_heading(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(NOTES)
    assert read_notes(tmp_path / "notes.md") == {
        "": "What was run.",
        "000-1": "Should not be seen.",
        "000-2": "Looked into: nothing there.",
    }
