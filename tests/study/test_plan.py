"""Plans: combined, resolved and refused before anything trains."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.toys import Squares
from unbraid import catalogue
from unbraid.cli import main
from unbraid.errors import UserError
from unbraid.study import Study, chain, product, zipped
from unbraid.study.plan import Job, load, resolve, select

STUDIES = Path(__file__).parents[2] / "experiments" / "unsupervised"
RUN = {"method": "beta_vae", "data": "dsprites"}


def test_product_zip_and_chain_combine_as_their_names_say() -> None:
    assert product(a=[1, 2], b="xy") == [{"a": 1, "b": "xy"}, {"a": 2, "b": "xy"}]
    assert product(zipped(a=[1, 2], b=[3, 4], c=5), d=range(2)) == [
        {"a": 1, "b": 3, "c": 5, "d": 0},
        {"a": 1, "b": 3, "c": 5, "d": 1},
        {"a": 2, "b": 4, "c": 5, "d": 0},
        {"a": 2, "b": 4, "c": 5, "d": 1},
    ]
    assert chain(product(a=1), product(b=[2, 3])) == [{"a": 1}, {"b": 2}, {"b": 3}]
    with pytest.raises(UserError, match="of 2, 3"):
        zipped(a=[1, 2], b=[1, 2, 3])
    with pytest.raises(UserError, match="'a' is set twice, to 1 and to 2"):
        product(product(a=1), a=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "beta_vea"}, "did you mean 'beta_vae'"),
        ({"data": "dsprits"}, "did you mean 'dsprites'"),
        ({"btea": 1}, "no argument of beta_vae on dsprites is called 'btea': did you mean 'beta'"),
        ({"beta": "4"}, "beta of beta_vae must be a number, not '4'"),
        ({"steps": 1.5}, "steps of .* must be a whole number, not 1.5"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"decay": 1.5}, "decay of .* must be from 0 to 1"),
        ({"method": "dip_vae", "dip_variant": "iii"}, "dip_variant of dip_vae must be i or ii, not 'iii'"),
        ({"method": "ada_gvae", "data": "mnist"}, "ada_gvae trains on Pairs, and 'mnist' gives only Images, Labelled"),
        ({"data": "images"}, "images needs --path"),
    ],
)
def test_what_cannot_work_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Study(runs=product([{**RUN, **change}])).jobs()


@pytest.mark.parametrize(
    "point",
    [
        {"method": "cnn", "data": "images", "path": "faces"},
        {"method": "cnn", "data": "table", "path": "cells.csv", "class_label": "kind"},
        {"method": "ada_gvae", "data": "table", "path": "cells.csv", "factors": "size,age"},
        {"method": "cnn", "data": "two_folders", "target": "cases", "background": "controls"},
    ],
)
def test_what_files_may_give_is_not_refused_before_they_are_read(point: dict[str, Any]) -> None:
    assert Study(runs=product([point], steps=10, seed=0)).jobs()


def test_the_same_run_twice_is_refused_however_it_is_written() -> None:
    names = {resolve({**RUN, "beta": beta}).name for beta in (4, 4.0, np.float64(4))}
    assert len(names | {resolve(RUN).name}) == 1
    with pytest.raises(UserError, match="runs 1 and 3 are the same: method=beta_vae, data=dsprites, beta=4 and"):
        Study(runs=product([RUN], beta=[4, 5, 4.0])).jobs()


def test_metrics_and_their_options_are_checked() -> None:
    runs = product([RUN])
    with pytest.raises(UserError, match="did you mean 'mig'"):
        Study(runs=runs, metrics=["migg"]).jobs()
    with pytest.raises(UserError, match="did you mean 'bins'"):
        Study(runs=runs, metrics={"mig": {"bin": 3}}).jobs()
    for name, option in (("leakage", "resampling"), ("probes_z", "resampling"), ("clustering_s", "resampling")):
        with pytest.raises(UserError, match="did you mean 'resamplings'"):
            Study(runs=runs, metrics={name: {option: 3}}).jobs()
    with pytest.raises(UserError, match="resamplings of probe_table must be"):
        Study(runs=runs, metrics={"slices": {"resamplings": -1}}).jobs()
    with pytest.raises(UserError, match="class_from_z takes no options, and 'bins' is given"):
        Study(runs=runs, metrics={"class_from_z": {"bins": 3}}).jobs()
    with pytest.raises(UserError, match="some scores of two_sets take no options"):
        Study(runs=runs, metrics={"two_sets": {"batch": 3}}).jobs()
    good: dict[str, Any] = {"leakage:few": {"strength": 2.0}, "w2_z": {"batches": 5}, "slices": {"train": 30}}
    (job,) = Study(runs=runs, metrics=good).jobs()
    assert job.evaluation["metrics"] == good
    (job,) = Study(runs=runs, metrics={"downstream:gbt": {"predictor": "gbt", "sizes": (10, 100)}}).jobs()
    assert job.evaluation["metrics"] == {"downstream:gbt": {"predictor": "gbt", "sizes": [10, 100]}}


@pytest.mark.parametrize("name", catalogue.entries("methods"))
def test_what_is_resolved_from_the_source_is_what_the_constructor_resolves(name: str) -> None:
    entry = catalogue.find("methods", name)
    given = {argument.name: argument.default for argument in entry.arguments}
    assert entry.load()(Squares().spec, **given).arguments == entry.load()(Squares().spec).arguments == given


@pytest.mark.parametrize("name", ["dsprites", "shapes3d", "color_dsprites", "noisy_dsprites"])
def test_the_same_for_data_sets(name: str) -> None:
    table = catalogue.find("data", name).load()(size=16)
    assert resolve({"method": "vae", "data": name, "size": 16}).data_arguments == table.arguments
    assert table.name == name


def test_only_the_wanted_runs() -> None:
    jobs = Study(runs=product([RUN], beta=[1, 2, 4], seed=range(3))).jobs()
    chosen = select(jobs, ["beta=1,4,seed=2"])
    assert [(job.plan.arguments["beta"], job.plan.seed) for job in chosen] == [(1.0, 2), (4.0, 2)]
    with pytest.raises(UserError, match="did you mean 'beta'"):
        select(jobs, ["bet=1"])
    with pytest.raises(UserError, match="no run of the study has beta=3"):
        select(jobs, ["beta=3"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "must define 'study = Study"),
        ("x = 1\ny = x / 0", "line 2: ZeroDivisionError"),
        ("x = 1\nx = (", "line 2: SyntaxError"),
        ("from unbraid.study import *\nstudy = Study(runs=[])", "the study has no runs"),
        ("from unbraid.study import *\nstudy = Study(runs=[3])", "a run must be a dictionary of arguments, .* not 3"),
        ("from unbraid.study import *\nstudy = Study(runs=product(method=3, data='mnist'))", "no method is called '3'"),
        (
            "from unbraid.study import *\nstudy = Study(runs=[], metrics={'mig': 3})",
            "options of mig must be a dict",
        ),
        (
            "from unbraid.study import *\nstudy = Study(runs=[{'method': 'vae', 'data': 'dsprites', 'evaluation': 9}])",
            "must be an Evaluation",
        ),
        ("from unbraid.study import *\nstudy = Study(runs=[], metrics=3)", r"bad\.py: TypeError"),
        ("from unbraid.study import *\nstudy = Study(runs=[], points=0)", "points must be .* at least 1, not 0"),
        ("from unbraid.study import *\nstudy = Study(runs=[], bootstrap=0.5)", "bootstrap must be a whole number"),
        ("from unbraid.study import *\nstudy = Study(runs=[], measures='a.py:f')", "measures must be a list"),
        ("from unbraid.study import *\nstudy = Study(runs=[], measures=['a.py:f', 'b.py:f'])", "two measures .* 'f'"),
        ("from unbraid.study import *\nstudy = Study(runs=[], measures=['a.py:f'])", r"there is no file .*a\.py"),
        ("from unbraid.study import Study\nstudy = Study(runs=[], measures=['bad.py:f'])", r"bad\.py has no 'f'"),
        ("from unbraid.study import *\nstudy = Study(runs=[], measures=['no.such:f'])", "there is no 'no'"),
        ("from unbraid.study import *\nstudy = Study(runs=[], measures=['f'])", "'f' names nothing"),
    ],
)
def test_a_bad_file_is_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        load(file)


def test_another_study_of_a_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.py"
    both = "from unbraid.study import *\n{} = Study(runs=product(method='vae', data='dsprites', seed=range({})))\n"
    file.write_text(both.format("study", 2) + both.format("longer", 5))
    assert (len(load(file)), len(load(f"{file}:study")), len(load(f"{file}:longer"))) == (2, 2, 5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unbraid.study.run.run_jobs", lambda *_, **__: {})
    for place in ("two.py", "two.py:longer"):
        assert main(["study", place]) == 0
    assert "2 to do, in runs/two\n" in (told := capsys.readouterr().out) and "5 to do, in runs/two-longer\n" in told
    with pytest.raises(UserError, match=r"two.py: it must define 'other = Study\(...\)'; it defines longer, study"):
        load(f"{file}:other")
    with pytest.raises(UserError, match=r"there is no study file .*three\.py"):
        load(f"{tmp_path / 'three.py'}:study")


def test_the_large_study_is_listed_without_data_files_torch_or_ray(tmp_path: Path) -> None:
    words = ["study", str(STUDIES / "paper.py"), "--list", "--out", str(tmp_path / "none")]
    program = (
        f"import sys; from unbraid.cli import main; assert main({words!r}) == 0; "
        "assert not {'torch', 'ray'} & sys.modules.keys()"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], env={"UNBRAID_DATA": str(tmp_path)}, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert "12600 runs to do, 3,780,000,000 steps" in result.stdout
    assert not (tmp_path / "none").exists()


def test_the_small_study_has_six_objectives_with_four_strengths_and_five_seeds() -> None:
    jobs = load(STUDIES / "study.py")
    assert len({job.name for job in jobs}) == 6 * 4 * 5 * 3
    assert {job.plan.data for job in jobs} == {"dsprites", "color_dsprites", "shapes3d"}


def test_the_classes_of_a_table_have_a_word_beside_the_label_of_the_run() -> None:
    runs = product(label="mine", method="vae", data="table", path="cells.csv", class_label="kind")
    (job,) = Study(runs=runs).jobs()
    assert (job.label, job.plan.data_arguments["label"]) == ("mine", "kind")
    with pytest.raises(UserError, match="'label'"):
        resolve({**RUN, "class_label": "kind"})


def test_decay_is_an_argument_of_a_run() -> None:
    jobs = Study(runs=product([RUN], decay=[0, 0.3])).jobs()
    assert [job.plan.decay for job in jobs] == [0.0, 0.3]
    assert jobs[0].name == resolve(RUN).name != jobs[1].name
    assert select(jobs, ["decay=0.3"]) == jobs[1:]
    assert Job.from_dict(jobs[1].as_dict()) == jobs[1]
