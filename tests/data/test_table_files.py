"""Tables of features in files: every format gives the same table, and what is wrong is said in a sentence."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix

import unbraid
from unbraid.data.io import column_files, h5ad_files, table_files
from unbraid.data.io.table_files import Columns, read_table
from unbraid.data.sets.table import Table
from unbraid.data.sets.two_folders import TwoFolders
from unbraid.errors import UserError

RNG = np.random.default_rng(0)
N = 12
FRAME = pd.DataFrame(
    {
        "who": [f"p{i}" for i in range(N)],
        "age": RNG.integers(20, 90, N),
        "dose": RNG.normal(size=N).astype(np.float32),
        "kind": ["a", "b", "c"] * (N // 3),
        "site": np.arange(N) % 2,
        "batch": ["x"] * N,
        "weight": RNG.normal(70, 9, N),
    }
)
FEATURES = ["age", "dose", "weight"]


def h5ad(path: Path, x: Any, frame: pd.DataFrame, features: list[str], *, old: bool = False) -> Path:
    """The on-disk format of AnnData, written by hand: `kind` is categorical, in the layout of 0.7 where `old`."""
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        if x is not None and isinstance(x, np.ndarray):
            file["X"] = x
        elif x is not None:
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{x.format}_matrix", x.shape
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(x, part)
        for name, index in (("obs", list(frame["who"])), ("var", features)):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group.create_dataset("_index", data=index, dtype=text)
        obs = file["obs"]
        obs["site"] = frame["site"].to_numpy()
        obs.create_dataset("batch", data=list(frame["batch"]), dtype=text)
        kinds, codes = np.unique(frame["kind"], return_inverse=True)
        if old:
            obs.create_dataset("__categories/kind", data=list(kinds), dtype=text)
            obs["kind"] = codes.astype(np.int8)
            obs["kind"].attrs["categories"] = obs["__categories/kind"].ref
        else:
            group = obs.create_group("kind")
            group.attrs["encoding-type"] = "categorical"
            group["codes"] = codes.astype(np.int8)
            group.create_dataset("categories", data=list(kinds), dtype=text)
        nullable = obs.create_group("visits")
        nullable.attrs["encoding-type"] = "nullable-integer"
        nullable["values"], nullable["mask"] = np.arange(len(frame)) % 3, np.zeros(len(frame), bool)
    return path


def written(folder: Path, kind: str) -> tuple[Path, dict[str, Any]]:
    """The frame in a file of some kind, and the arguments that say the same of its columns."""
    path, named = folder / f"t.{kind}", {"label": "kind", "factors": "site", "ignore": "batch", "id": "who"}
    if kind == "csv":
        FRAME.to_csv(path, index=False)
    elif kind == "tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == "parquet":
        FRAME.to_parquet(path)
    else:
        x = FRAME[FEATURES].to_numpy()
        made = {"dense": x, "csr": csr_matrix(x), "csc": csc_matrix(x), "old": x}[kind]
        path = h5ad(folder / "t.h5ad", made, FRAME, FEATURES, old=kind == "old")
        named = {"label": "kind", "factors": "site"}
    return path, named


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "dense", "csr", "csc", "old"])
@pytest.mark.parametrize("large", [False, True])
def test_every_format_gives_the_table_of_the_frame(
    kind: str, large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:  # copied into the cache folder piece by piece, and mapped
        monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
        for module in (table_files, column_files):
            monkeypatch.setattr(module, "IN_MEMORY", 8)
        monkeypatch.setattr(column_files, "PIECE", 5 * len(FRAME.columns))
    path, named = written(tmp_path, kind)
    table = unbraid.load_data("table", path=str(path), **named)
    wanted = unbraid.from_frame(FRAME, label="kind", factors=["site"], ignore=["batch"], id="who")
    rows = np.array([7, 0, 11])
    np.testing.assert_allclose(table.images(rows), wanted.images(rows), atol=1e-6)
    np.testing.assert_array_equal(table.values(rows), wanted.values(rows))
    assert (table.factors, table.label, table.files) == (wanted.factors, wanted.label, wanted.files)
    assert table.scaling is not None and table.scaling.names == tuple(FEATURES)
    assert set(table.gives) == {"Images", "Labelled", "Views", "Pairs"}
    assert bool(list((tmp_path / "cache").rglob("*.npy"))) == large


def test_values_that_may_be_missing_are_read_where_none_is(tmp_path: Path) -> None:
    path = h5ad(tmp_path / "t.h5ad", FRAME[FEATURES].to_numpy(), FRAME, FEATURES)
    table = Table(path=str(path), factors="visits")
    np.testing.assert_array_equal(table.values(np.arange(N))[:, 0], np.arange(N) % 3)
    with h5py.File(path, "a") as file:
        file["obs/visits/mask"][4] = True
    with pytest.raises(UserError, match="the factor 'visits' has NaN or infinite values"):
        Table(path=str(path), factors="visits")


def test_an_array_is_a_table_without_names(tmp_path: Path) -> None:
    x = RNG.normal(size=(10, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    table = Table(path=str(tmp_path / "x.npy"))
    np.testing.assert_allclose(table.images(np.arange(10)), unbraid.from_arrays(x).images(np.arange(10)))
    assert table.scaling is not None and table.scaling.labels == ("x0", "x1", "x2")
    with pytest.raises(UserError, match=r"x\.npy has no names of columns: 'kind' cannot be found; use csv or parquet"):
        Table(path=str(tmp_path / "x.npy"), label="kind")


def test_rows_are_held_out_and_the_scaling_is_of_all(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    named: Any = {"label": "kind", "factors": "site", "ignore": "batch", "id": "who"}
    table = Table(path=str(tmp_path / "t.csv"), test_rows=3, **named)
    whole = Table(path=str(tmp_path / "t.csv"), **named)
    assert table.test is not None and len(table) == 9 and len(table.test) == 3
    assert sorted(table.files + table.test.files) == sorted(FRAME["who"])
    for part in (table, table.test):
        rows = np.array([whole.files.index(name) for name in part.files])
        np.testing.assert_array_equal(part.images(np.arange(len(part))), whole.images(rows))
    assert table.arguments["test_rows"] == 3 and Path(table.arguments["path"]).is_absolute()


def two(folder: Path, cases: pd.DataFrame, controls: pd.DataFrame, **named: Any) -> TwoFolders:
    cases.to_csv(folder / "cases.csv", index=False)
    controls.to_csv(folder / "controls.csv", index=False)
    return TwoFolders(target=str(folder / "cases.csv"), background=str(folder / "controls.csv"), **named)


def test_cases_and_controls_are_matched_by_the_names_of_columns(tmp_path: Path) -> None:
    controls = FRAME[["weight", "who", "age", "dose"]]  # another order; neither label nor what is ignored
    table = two(tmp_path, FRAME, controls, label="kind", factors="site", ignore="batch", id="who")
    assert table.scaling is not None and table.scaling.names == tuple(FEATURES)
    assert table.background is not None and table.background.files == tuple(FRAME["who"])
    np.testing.assert_array_equal(table.images(np.arange(N)), table.background.images(np.arange(N)))
    assert table.label == "kind" and not table.background.factors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="age"), "controls.csv has no column 'age', which is a feature of .*cases.csv"),
        (lambda f: f.assign(new=1), "cases.csv has no column 'new', which is a feature of .*controls.csv"),
        (lambda f: f.drop(columns="who"), "no column of .*controls.csv is called 'who'"),
    ],
)
def test_cases_and_controls_with_other_columns_are_refused(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        two(tmp_path, FRAME, change(FRAME), label="kind", factors="site", ignore="batch", id="who")


def test_columns_of_images_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((5, 8, 8), np.uint8))
    with pytest.raises(UserError, match=r"'kind' is to be a column, and .*a\.npy holds images"):
        TwoFolders(target=str(tmp_path / "a.npy"), background=str(tmp_path / "a.npy"), label="kind")


def test_an_array_against_a_table_with_names_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((5, 3)))
    FRAME[FEATURES].to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(UserError, match="only one has names of columns: save both in one format"):
        TwoFolders(target=str(tmp_path / "a.npy"), background=str(tmp_path / "b.csv"))


BAD_CSV = {
    "a,b\n1,2\n3,tall\n": "the column 'b' of .* has 'tall' in row 1, and features are numbers: correct it, or name the",
    "a,b\n1,2020-01-01\n": "the column 'b' of .* has '2020-01-01' in row 0",
    "id,a\nx,1\ny,2\nx,3\n": "rows 0 and 2 of .* have the same id, 'x': ids must differ",
    "": "is empty: a table has a line of column names and a line for each sample",
    "id,a\n": "has no rows",
    "id\nx\n": "has no column left to be a feature",
    "a,b\n1,2\n,4\n": "NaN or infinite, the first in row 1, column 'a': impute them",
    "a,b\n1,inf\n": "NaN or infinite, the first in row 0, column 'b'",
    "a,b,a\n1,2,3\n": "two columns of .* are called 'a'",
    ",a\n0,2\n1,3\n": "has a column without a name, such as the index that pandas writes.* as 'Unnamed: 0'",
    "a,b\n1,2,3\n": "has lines with more values than there are names of columns",
    "a,b\n1,2\n1,2,3\n": "more values than there are names of columns .*Expected 2 fields in line 3, saw 3",
}


@pytest.mark.parametrize("content", BAD_CSV)
def test_what_is_wrong_with_a_csv_file_is_said(content: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    named = {"id": "id"} if content.startswith("id") else {}
    with pytest.raises(UserError, match=BAD_CSV[content]) as error:
        read_table(str(path), Columns(**named))  # type: ignore[arg-type]
    assert str(path) in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"label": "kinds"}, "no column of .*t.csv is called 'kinds': did you mean 'kind'?"),
        ({"factors": "site,sight"}, "no column of .*t.csv is called 'sight'"),
        ({"ignore": "Age"}, "no column of .*t.csv is called 'Age': did you mean 'age'?"),
        ({"id": "whom"}, "no column of .*t.csv is called 'whom': did you mean 'who'?"),
        ({"factors": "weight", "ignore": "batch,who,kind"}, "the factor 'weight' has fractions"),
    ],
)
def test_columns_that_are_not_there_are_named(named: Any, message: str, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError, match=message):
        Table(path=str(tmp_path / "t.csv"), **named)


def test_a_class_that_is_missing_is_no_class_of_its_own(tmp_path: Path) -> None:
    FRAME.assign(kind=["a", None, *["b"] * (N - 2)]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError, match="the factor 'kind' has no value in row 1"):
        Table(path=str(tmp_path / "t.csv"), label="kind", ignore="batch,who")


def test_what_is_wrong_with_other_files_is_said(tmp_path: Path) -> None:
    x = FRAME[FEATURES].to_numpy()
    with pytest.raises(UserError, match="has no X, the matrix of features"):
        Table(path=str(h5ad(tmp_path / "a.h5ad", None, FRAME, FEATURES)))
    with pytest.raises(UserError, match=r"X of .*b\.h5ad is float64 \(11, 3\), and there are names of 12 rows"):
        Table(path=str(h5ad(tmp_path / "b.h5ad", x[1:], FRAME, FEATURES)))
    with pytest.raises(UserError, match=r"rows 0 and 1 of .*c\.h5ad have the same name, 'p'"):
        Table(path=str(h5ad(tmp_path / "c.h5ad", x, FRAME.assign(who="p"), FEATURES)))
    for name in ("d.h5ad", "d.parquet", "d.npy"):
        (tmp_path / name).write_text("nothing of the kind")
        with pytest.raises(UserError, match=name):
            Table(path=str(tmp_path / name))
        with pytest.raises(UserError, match=f"missing-{name} does not exist"):
            Table(path=str(tmp_path / f"missing-{name}"))
    with pytest.raises(UserError, match=r"t\.xlsx is no table: the files that can be read end with \.csv"):
        Table(path=str(tmp_path / "t.xlsx"))


def test_an_h5ad_file_that_the_library_does_not_survive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe that nobody writes to stands for a file in which the library walks in circles."""
    os.mkfifo(endless := tmp_path / "endless.h5ad")
    monkeypatch.setattr(h5ad_files, "SECONDS", 1.0)
    with pytest.raises(UserError, match=r"endless.h5ad is corrupt, or on a very slow disk: it was not read within 1 s"):
        h5ad_files.H5ad(endless)
    good = h5ad(tmp_path / "good.h5ad", FRAME[FEATURES].to_numpy(), FRAME, FEATURES)
    dies = tmp_path / "dies"
    dies.write_text("#!/bin/sh\nkill -9 $$\n")
    dies.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(dies))
    with pytest.raises(UserError, match=r"good.h5ad is corrupt: the HDF5 library crashes when it reads it"):
        h5ad_files.H5ad(good)


def test_names_of_rows_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,age\n007,1\n7,2\n")
    assert read_table(str(tmp_path / "t.csv"), Columns(id="who")).ids == ("007", "7")


def test_the_index_that_pandas_writes_can_be_the_id(tmp_path: Path) -> None:
    FRAME.set_index("who")[FEATURES].rename_axis(None).to_csv(tmp_path / "t.csv")
    assert Table(path=str(tmp_path / "t.csv"), id="Unnamed: 0").files == tuple(FRAME["who"])
    FRAME[FEATURES].set_axis(FRAME["who"].to_list()).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(UserError, match="a column without a name"):
        Table(path=str(tmp_path / "t.parquet"))
    assert Table(path=str(tmp_path / "t.parquet"), id="__index_level_0__").files == tuple(FRAME["who"])


def test_a_name_with_a_comma_stands_in_quotes(tmp_path: Path) -> None:
    FRAME[FEATURES].rename(columns={"age": "age, years"}).to_csv(tmp_path / "t.csv", index=False)
    table = Table(path=str(tmp_path / "t.csv"), ignore='dose, "age, years"')
    assert table.scaling is not None and table.scaling.names == ("weight",)
