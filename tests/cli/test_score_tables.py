"""`unbraid score` of columns of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unbraid.cli import main

RNG = np.random.default_rng(0)
SHAPE, SCALE = RNG.integers(0, 3, 400), RNG.integers(0, 5, 400)
CODES = np.stack([SHAPE + 0.1 * RNG.normal(size=400), SCALE + 0.1 * RNG.normal(size=400)], 1)
FRAME = pd.DataFrame(
    {
        "file": [f"{i}.png" for i in range(400)],
        "z0": CODES[:, 0],
        "z1": CODES[:, 1],
        "shape": np.array(["heart", "oval", "square"])[SHAPE],
        "scale": SCALE,
        "zoom": ["far"] * 400,
    }
)


def scored(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["score", *words, "--metrics", "mig,dci", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_columns_score_as_the_same_arrays_do(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"codes.{kind}"
    FRAME.to_parquet(path) if kind == "parquet" else FRAME.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    np.savez(
        tmp_path / "same.npz",
        codes=CODES,
        factors=np.stack([SHAPE, SCALE], 1),
        factor_names=["shape", "scale"],
        kinds=["shape"],
    )
    found = scored(capsys, str(path), "--codes", "z?", "--factors", "shape,scale")
    assert found == scored(capsys, str(tmp_path / "same.npz"))
    assert found["mig"]["value"] > 0.8
    assert found == scored(capsys, str(path), "--codes", "z0,z1", "--factors", "shape,scale")
    swapped = scored(capsys, str(path), "--codes", "z1", "--factors", "shape")
    assert swapped["mig"]["value"] < 0.2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say which columns of .*codes.csv are codes and which are factors"),
        (["--codes", "z?"], "say which columns"),
        (["--codes", "z*", "--factors", "shape"], "the column 'zoom' of .*codes.csv has 'far' in row 0"),
        (["--codes", "y*", "--factors", "shape"], r"no column of .*codes.csv is called 'y\*'"),
        (["--codes", "z?", "--factors", "shap"], "no column of .*codes.csv is called 'shap': did you mean 'shape'?"),
        (["--codes", "z0", "--factors", "z0"], "has no column left for the codes"),
    ],
)
def test_what_is_wrong_with_columns_is_said(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FRAME.to_csv(tmp_path / "codes.csv", index=False)
    assert main(["score", str(tmp_path / "codes.csv"), *words]) == 1
    error = capsys.readouterr().err
    assert pd.Series([error]).str.contains(message).all(), error
    assert error.count("\n") == 1


def test_gaps_and_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FRAME.assign(shape=["", *FRAME["shape"][1:]]).to_csv(tmp_path / "gap.csv", index=False)
    np.savez(tmp_path / "a.npz", codes=CODES, factors=SHAPE)
    for path, message in (
        ("gap.csv", "the factor 'shape' of .*gap.csv has no value in row 0"),
        ("a.npz", "a.npz has no names of columns"),
        (".", "name columns of a table, and .* is a directory"),
    ):
        assert main(["score", str(tmp_path / path), "--codes", "z?", "--factors", "shape"]) == 1
        error = capsys.readouterr().err
        assert pd.Series([error]).str.contains(message).all(), error
    assert main(["score", str(tmp_path / "missing")]) == 1
    assert "there is no file" in capsys.readouterr().err
