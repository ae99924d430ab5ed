"""One tidy table from many directories."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import unbraid
from unbraid.errors import UserError
from unbraid.study import Study, product
from unbraid.study.collect import collect, wide, write_table


def synthetic(folder: Path, runs: int, parts: int) -> None:
    """Directories as runs leave them, whose scores are known: metric m of run r is r + m / 100."""
    jobs = Study(runs=product(method="beta_vae", data="dsprites", beta=[1, 4], seed=range(runs // 2))).jobs()
    for number, job in enumerate(jobs):
        path = folder / job.name
        path.mkdir()
        score: dict[str, Any] = {"value": number, "low": None, "high": None, "null": 0.5, "warnings": []}
        score["parts"] = {f"p{m}": number + m / 100 for m in range(parts)} | {"nested": {"10": 1.5}, "list": [1, 2]}
        (path / "run.json").write_text(json.dumps(vars(job.plan)))
        (path / "scores.json").write_text(json.dumps({"mig": score}))
        (path / "evaluation.json").write_text(json.dumps({"quantities": {"elbo": -number}, "seconds": {"train": 2}}))


def test_the_table_is_tidy_and_survives_both_formats(tmp_path: Path) -> None:
    synthetic(tmp_path, 6, 2)
    (tmp_path / "failed-run").mkdir()
    (tmp_path / "failed-run" / "failed.json").write_text("{}")
    table = collect(tmp_path)
    assert set(table["metric"]) == {"mig", "mig.p0", "mig.p1", "mig.nested.10", "elbo", "seconds.train"}
    assert len(table) == 6 * 6
    assert set(zip(table["strength"], table["setting"], strict=True)) == {(1.0, "beta=1.0"), (4.0, "beta=4.0")}
    assert set(table["strength_name"]) == {"beta"} and set(table["condition"]) == {""}
    assert unbraid.load_study(tmp_path).equals(wide(table))
    one = wide(table).set_index(["beta", "seed"]).loc[(4.0, 2)]
    assert (one["mig"], one["mig.p1"], one["elbo"]) == (5.0, 5.01, -5.0)
    parquet, csv = write_table(table, tmp_path / "table")
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), table)
    assert pd.read_csv(csv)["value"].tolist() == pytest.approx(table["value"].tolist())


def test_measures_have_columns_of_their_own_beside_metrics_quantities_and_arguments(tmp_path: Path) -> None:
    synthetic(tmp_path, 4, 0)
    for path in sorted(tmp_path.glob("*/evaluation.json"))[1:]:
        found = json.loads(path.read_text())
        found["measures"] = {"mig": 0.5, "elbo": 7, "seed": 8, "beta": 9, "seconds": {"train": 10}, "mine": 11}
        path.write_text(json.dumps(found))
    table = wide(collect(tmp_path))
    own = ["measure.mig", "measure.elbo", "measure.seed", "beta", "measure.seconds.train", "mine"]
    assert table.sort_values("run")[own].to_numpy().tolist()[1:] == [[0.5, 7, 8, 9, 10, 11]] * 3
    assert table[own].isna().sum().tolist() == [1] * 6
    assert sorted(table["mig"]) == [0, 1, 2, 3] and set(table["seconds.train"]) == {2} and set(table["seed"]) == {0, 1}
    assert set(table["argument.beta"]) == {1.0, 4.0}


def test_a_hundred_thousand_rows_in_seconds(tmp_path: Path) -> None:
    synthetic(tmp_path, 1000, 96)
    begin = time.process_time()
    table = collect(tmp_path)
    assert len(table) == 100_000
    assert time.process_time() - begin < 10


def test_nothing_and_damage_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no scored run"):
        collect(tmp_path)
    synthetic(tmp_path, 2, 0)
    next(tmp_path.glob("*/scores.json")).write_text("{")
    with pytest.raises(UserError, match=r"scores.json is damaged"):
        collect(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("scores.json", "[]", r"scores.json is damaged \(it is no JSON object\): delete .*/evaluation.json"),
        ("evaluation.json", '{"quantities"', r"evaluation.json is damaged .*: delete .*/evaluation.json and run"),
        ("evaluation.json", '{"quantities": 3}', "is not what a study writes"),
        ("scores.json", '{"mig": {"value": 1}}', "is not what a study writes"),
        ("run.json", "{}", "run.json lacks 'arguments': delete"),
        (
            "run.json",
            '{"method": "m", "arguments": {}, "data": "d", "data_arguments": {}, "sampling": {}, "seed": 0}',
            "run.json lacks 'batch': delete",
        ),
    ],
)
def test_a_damaged_file_is_one_sentence_with_a_cure(file: str, content: str, message: str, tmp_path: Path) -> None:
    synthetic(tmp_path, 2, 0)
    next(tmp_path.glob(f"*/{file}")).write_text(content)
    with pytest.raises(UserError, match=message) as caught:
        collect(tmp_path)
    assert "\n" not in str(caught.value)


def test_arguments_have_columns_of_their_own_beside_labels_and_metrics(tmp_path: Path) -> None:
    """The class column of a table of features is no label of the run, and a weight 'elbo' is not the ELBO."""
    synthetic(tmp_path, 4, 0)
    for path in tmp_path.glob("*/run.json"):
        plan = json.loads(path.read_text())
        plan["data_arguments"] |= {"label": "kind"}
        plan["arguments"] |= {"elbo": 0.5}
        path.write_text(json.dumps(plan))
    table = unbraid.load_study(tmp_path)
    assert "label" not in table
    assert set(table["argument.label"]) == {"kind"} and set(table["argument.elbo"]) == {0.5}
    assert sorted(table["elbo"]) == [-3, -2, -1, 0]


def test_lists_among_arguments_are_text(tmp_path: Path) -> None:
    synthetic(tmp_path, 4, 0)
    for number, path in enumerate(sorted(tmp_path.glob("*/run.json"))):
        plan = json.loads(path.read_text())
        plan["arguments"] |= {"layers": [8, 4 + number % 2], "weights": {"a": 1}}
        path.write_text(json.dumps(plan))
    table = collect(tmp_path)
    assert set(table["layers"]) == {"[8, 4]", "[8, 5]"} and set(table["weights"]) == {"{'a': 1}"}
    parquet, _ = write_table(table, tmp_path / "table")
    pd.testing.assert_frame_equal(pd.read_parquet(parquet), table)
