"""`unbraid encode` and `unbraid decode`: the codes of Python, from whatever files; each fault is one sentence."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import unbraid
from unbraid import encode_files
from unbraid.cli import main
from unbraid.model import Model

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (9, 16, 16), dtype=np.uint8)
COLOURED = RNG.integers(0, 256, (4, 16, 16, 3), dtype=np.uint8)
FRAME = pd.DataFrame(RNG.normal(1000, 3, (30, 4)), columns=["age", "dose", "time", "größe"])
Captured = pytest.CaptureFixture[str]


def trained(folder: Path, x: Any, name: str = "beta_vae", **arguments: Any) -> Model:
    table = unbraid.from_arrays(x, background=x if name == "salient_vae" else None, label=arguments.pop("label", None))
    method = unbraid.build(name, table, width=2, **arguments)
    return unbraid.load_run(unbraid.fit(method, table, steps=2, batch=4, out=str(folder), show=False).path)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return trained(tmp_path_factory.mktemp("images"), GREY, latents=3)


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return trained(tmp_path_factory.mktemp("features"), FRAME, "salient_vae", salient=1, common=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three grey pictures, one of them in a folder of its own."""
    place = tmp_path / "pictures"
    (place / "more").mkdir(parents=True)
    for i, name in enumerate(["b.png", "a.png", "more/c.png"]):
        Image.fromarray(GREY[i]).save(place / name)
    return place


def run_of(model: Model) -> str:
    assert model.run is not None
    return str(model.run.path)


def encoded(model: Model, path: Path, out: Path, *more: str) -> Any:
    assert main(["encode", run_of(model), str(path), "--out", str(out), "--quiet", *more]) == 0
    return pd.read_parquet(out) if out.suffix == ".parquet" else pd.read_csv(out, dtype={"name": str})


def fault(capsys: Captured, *words: str) -> str:
    """The sentence that a command ends with."""
    capsys.readouterr()  # of what was called before
    assert main(list(words)) == 1
    message = capsys.readouterr().err
    assert message.startswith("unbraid: ") and message.count("\n") == 1, message
    return message


def test_a_folder_and_a_zip_give_a_row_for_each_file(images: Model, folder: Path, tmp_path: Path) -> None:
    wanted = images.transform(GREY[[1, 0, 2]])
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as file:
        for path in folder.rglob("*.png"):
            file.write(path, path.relative_to(folder).as_posix())
    for path in (folder, tmp_path / "pictures.zip"):
        found = encoded(images, path, tmp_path / f"{path.suffix}codes.csv", "--batch", "2")
        assert list(found.columns) == ["name", "z0", "z1", "z2"] == ["name", *images.feature_names]
        assert list(found["name"]) == ["a.png", "b.png", "more/c.png"]
        np.testing.assert_allclose(found[images.feature_names], wanted, rtol=1e-4, atol=1e-6)


def test_test_rows_of_a_folder_are_encoded_too(images: Model, tmp_path: Path) -> None:
    for i, name in enumerate(["test/x.png", "train/y.png", "train/z.png"]):
        (tmp_path / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(GREY[i]).save(tmp_path / "p" / name)
    found = encoded(images, tmp_path / "p", tmp_path / "codes.csv", "--batch", "2").set_index("name")
    wanted = images.transform(GREY[:3])
    for i, name in enumerate(["test/x.png", "train/y.png", "train/z.png"]):
        np.testing.assert_allclose(found.loc[name], wanted[i], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["u8.npy", "f32.npy", "fortran.npy", "one.npz", "several.npz", "x.h5"])
def test_arrays_give_the_codes_of_python(images: Model, tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    given = (GREY / 255).astype(np.float32) if kind == "f32.npy" else GREY
    if kind.endswith("npy"):
        np.save(path, np.asfortranarray(given) if kind == "fortran.npy" else given)
    elif kind.endswith("npz"):
        more: dict[str, Any] = {"labels": np.arange(9)} if kind == "several.npz" else {}
        np.savez(path, images=given, **more)
    else:
        with h5py.File(path, "w") as file:
            file["images"], file["labels"] = given, np.arange(9)
    found = encoded(images, path, tmp_path / "codes.parquet", "--batch", "4")
    assert list(found["name"]) == [str(i) for i in range(9)]
    np.testing.assert_allclose(found[images.feature_names], images.transform(GREY), rtol=1e-4, atol=1e-6)


def test_a_run_on_files_takes_them_as_in_training(tmp_path: Path) -> None:
    """Colour, crop and size are those of the run: its own files give the codes that it was scored with."""
    np.save(tmp_path / "large.npy", RNG.integers(0, 256, (6, 40, 30), dtype=np.uint8))
    table = unbraid.load_data("images", path=str(tmp_path / "large.npy"), size=16, color="rgb")
    method = unbraid.build("vae", table, width=2, latents=2)
    model = unbraid.load_run(unbraid.fit(method, table, steps=1, out=str(tmp_path / "runs"), show=False).path)
    found = encoded(model, tmp_path / "large.npy", tmp_path / "codes.csv")
    np.testing.assert_allclose(
        found[model.feature_names], model.transform(table.images(np.arange(6))), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_features_are_found_by_their_names(features: Model, tmp_path: Path, ending: str) -> None:
    mixed = FRAME[["größe", "time", "age", "dose"]].assign(who=[f"p{i}" for i in range(30)], note="text")
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        mixed.to_parquet(path)
    else:
        mixed.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    found = encoded(features, path, tmp_path / "codes.csv", "--id", "who", "--batch", "7")
    assert list(found.columns) == ["name", "s0", "z0", "z1"]
    assert list(found["name"]) == list(mixed["who"])
    np.testing.assert_allclose(found[features.feature_names], features.transform(FRAME), rtol=1e-4, atol=1e-6)


def test_names_that_look_like_numbers_stay_as_they_are(features: Model, tmp_path: Path) -> None:
    FRAME.assign(who=[f"{i:03d}" for i in range(30)]).to_csv(tmp_path / "t.csv", index=False)
    found = encoded(features, tmp_path / "t.csv", tmp_path / "codes.csv", "--id", "who")
    assert found["name"][7] == "007"
    assert main(["decode", run_of(features), str(tmp_path / "codes.csv"), "--out", str(tmp_path / "back.csv")]) == 0
    assert pd.read_csv(tmp_path / "back.csv", dtype=str)["name"][7] == "007"


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_images_are_drawn_from_codes_by_name(images: Model, folder: Path, tmp_path: Path, ending: str) -> None:
    codes = tmp_path / f"codes.{ending}"
    assert main(["encode", run_of(images), str(folder), "--out", str(codes)]) == 0
    out = tmp_path / "drawn"
    assert main(["decode", run_of(images), str(codes), "--out", str(out), "--batch", "2"]) == 0
    assert {p.relative_to(out).as_posix() for p in out.rglob("*.png")} == {"a.png", "b.png", "more/c.png"}
    drawn = np.asarray(Image.open(out / "a.png"))
    wanted = images.reconstruct(GREY[1:2])[0] * 255
    assert np.abs(drawn - wanted).max() <= 0.51


def test_pictures_in_colour_and_names_without_ending(tmp_path: Path) -> None:
    model = trained(tmp_path / "runs", COLOURED, latents=2)
    np.save(tmp_path / "x.npy", COLOURED)
    encoded(model, tmp_path / "x.npy", tmp_path / "codes.csv")
    assert main(["decode", run_of(model), str(tmp_path / "codes.csv"), "--out", str(tmp_path / "drawn")]) == 0
    drawn = np.asarray(Image.open(tmp_path / "drawn" / "3.png"))
    assert np.abs(drawn - model.reconstruct(COLOURED)[3] * 255).max() <= 0.51


def test_features_come_back_in_their_units(features: Model, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    encoded(features, tmp_path / "t.csv", tmp_path / "codes.csv")
    assert main(["decode", run_of(features), str(tmp_path / "codes.csv"), "--out", str(tmp_path / "back.csv")]) == 0
    back = pd.read_csv(tmp_path / "back.csv")
    assert list(back.columns) == ["name", *FRAME.columns]
    np.testing.assert_allclose(back[FRAME.columns], features.reconstruct(FRAME), rtol=1e-5)


def test_features_that_were_drawn_can_be_encoded(features: Model, tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    encoded(features, tmp_path / "t.csv", tmp_path / "codes.csv")
    assert main(["decode", run_of(features), str(tmp_path / "codes.csv"), "--out", str(tmp_path / "drawn.npz")]) == 0
    again = encoded(features, tmp_path / "drawn.npz", tmp_path / "again.csv")
    wanted = features.transform(features.reconstruct(FRAME))
    np.testing.assert_allclose(again[features.feature_names], wanted, rtol=1e-4, atol=1e-6)


def test_images_are_whole_or_not_there(images: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []
    monkeypatch.setattr(encode_files, "write", lambda path, data: written.append(path))
    pd.DataFrame(np.zeros((2, 3)), columns=images.feature_names).to_csv(tmp_path / "codes.csv", index=False)
    assert main(["decode", run_of(images), str(tmp_path / "codes.csv"), "--out", str(tmp_path / "drawn")]) == 0
    assert [path.name for path in written] == ["0.png", "1.png"]


def save(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


BAD_ARRAYS: dict[str, tuple[Any, str]] = {
    "size": (GREY[:, :8], "x.npy has images of 8x16, and the model was trained on 16x16: resize them"),
    "channels": (np.stack([GREY] * 3, -1), "x.npy has 3 channels, and the model was trained on 1: make them grey"),
    "dtype": (GREY.astype(np.int64), "x.npy holds int64: images are bytes"),
    "range": (GREY.astype(np.float32), "x.npy has values from 0 to 255"),
    "nan": (np.where(np.arange(9)[:, None, None] == 7, np.nan, GREY / 255), "x.npy has NaN, first in image 7"),
    "text": (np.array([["a", "b"]]), "x.npy holds text: samples are numbers"),
    "none": (GREY[:0], "x.npy has no samples"),
    "features": (np.zeros((3, 4)), "x.npy has 4 features, and the model was trained on images of 16x16"),
    "axes": (np.zeros((2, 2, 2, 2, 2)), "x.npy has the shape [2, 2, 2, 2, 2]: images are"),
    "objects": (np.array([{}, {}]), "holds Python objects, which are never unpickled"),
}


@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_arrays_that_do_not_fit(images: Model, tmp_path: Path, capsys: Captured, kind: str) -> None:
    array, message = BAD_ARRAYS[kind]
    path = tmp_path / "x.npy"
    np.save(path, array, allow_pickle=True)
    assert message in fault(capsys, "encode", run_of(images), str(path), "--out", str(tmp_path / "codes.csv"))
    assert not (tmp_path / "codes.csv").exists()


def test_files_that_do_not_fit(images: Model, folder: Path, tmp_path: Path, capsys: Captured) -> None:
    out = ["--out", str(tmp_path / "codes.csv")]

    def said(path: Path, *more: str) -> str:
        return fault(capsys, "encode", run_of(images), str(path), *out, *more)

    (tmp_path / "nothing").mkdir()
    (tmp_path / "empty.npy").touch()
    (tmp_path / "torn.npy").write_bytes(save(tmp_path / "x.npy", GREY).read_bytes()[:-5])
    (tmp_path / "no.npz").write_bytes(b"nothing of the kind")
    np.savez(tmp_path / "two.npz", a=GREY, b=GREY)
    with h5py.File(tmp_path / "none.h5", "w") as file:
        file["text"] = "text"
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert "there is no file or folder" in said(tmp_path / "missing")
    assert "nothing contains no images" in said(tmp_path / "nothing")
    assert "empty.npy is an empty file" in said(tmp_path / "empty.npy")
    assert "torn.npy has 2,427 bytes, but its header announces 2,432" in said(tmp_path / "torn.npy")
    assert "no.npz is corrupt: expected an npz file" in said(tmp_path / "no.npz")
    assert "two.npz has the arrays 'a', 'b': call the one" in said(tmp_path / "two.npz")
    assert "none.h5 has the arrays none" in said(tmp_path / "none.h5")
    assert "t.csv is a table of features, and the model was trained on images of 16x16" in said(tmp_path / "t.csv")
    shutil.copy(folder / "a.png", tmp_path / "a.png")
    assert "a.png is neither a folder, a zip, an array nor a table" in said(tmp_path / "a.png")
    assert "--color converts images in files" in said(tmp_path / "none.h5", "--color", "grey")
    assert "--id names a column of a table" in said(folder, "--id", "who")
    Image.fromarray(COLOURED[0]).save(folder / "a.png")
    assert "a.png is in colour among grey images" in said(folder)
    for name in ("b.png", "more/c.png"):
        Image.fromarray(COLOURED[0]).save(folder / name)
    assert "are in colour, and those of training were grey: convert them with --color grey" in said(folder)
    (folder / "a.png").write_bytes(b"no picture")
    assert "a.png is not an image: remove or replace it" in said(folder)
    assert not (tmp_path / "codes.csv").exists()


def test_image_files_are_converted_if_asked(images: Model, tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    Image.fromarray(COLOURED[0]).save(tmp_path / "p" / "x.png")
    found = encoded(images, tmp_path / "p", tmp_path / "codes.csv", "--color", "grey")
    grey = np.asarray(Image.fromarray(COLOURED[0]).convert("L"))[None]
    np.testing.assert_allclose(found[images.feature_names], images.transform(grey), rtol=1e-4, atol=1e-6)


def test_images_that_are_not_square_need_an_array(tmp_path: Path, folder: Path, capsys: Captured) -> None:
    model = trained(tmp_path / "runs", GREY[:, :, :8], latents=2, net="mlp")
    message = fault(capsys, "encode", run_of(model), str(folder), "--out", str(tmp_path / "codes.csv"))
    assert "image files are made square, and the model was trained on 16x8: give an array" in message


def test_tables_that_do_not_fit(features: Model, folder: Path, tmp_path: Path, capsys: Captured) -> None:
    def said(frame: Any, *more: str) -> str:
        frame.to_csv(tmp_path / "t.csv", index=False)
        return fault(
            capsys, "encode", run_of(features), str(tmp_path / "t.csv"), "--out", str(tmp_path / "codes.csv"), *more
        )

    assert "t.csv lacks the features 'dose'" in said(FRAME.drop(columns="dose"))
    assert "has 'many' in row 0, and features are numbers" in said(FRAME.assign(dose="many"))
    holes = FRAME.assign(dose=np.where(np.arange(30) == 11, np.nan, 1.0))
    assert "NaN or infinite, the first in row 11, column 'dose'" in said(holes)
    assert "t.csv is called 'who': there are: age" in said(FRAME, "--id", "who")
    twice = FRAME.assign(who=["a", "b"] + ["a"] * 28)
    assert "t.csv have the same who, 'a': ids must differ" in said(twice, "--id", "who")
    assert "t.csv has no rows" in said(FRAME[:0])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but no more")
    words = ["encode", run_of(features), "--out", str(tmp_path / "codes.csv")]
    assert "broken.parquet is no parquet file" in fault(capsys, *words, str(tmp_path / "broken.parquet"))
    assert "holds images, and the model was trained on 4 features" in fault(capsys, *words, str(folder))
    np.save(tmp_path / "x.npy", np.zeros((2, 5)))
    assert "x.npy has 5 features, and the model was trained on 4" in fault(capsys, *words, str(tmp_path / "x.npy"))


def test_outputs_that_cannot_be_written(images: Model, tmp_path: Path, capsys: Captured) -> None:
    path = save(tmp_path / "x.npy", GREY)

    def said(out: Path, *more: str) -> str:
        return fault(capsys, "encode", run_of(images), str(path), "--out", str(out), *more)

    assert "has the ending '.txt': a table is written as .csv, .parquet, .npz" in said(tmp_path / "codes.txt")
    assert "does not exist: make it first" in said(tmp_path / "missing" / "codes.csv")
    (tmp_path / "is.csv").mkdir()
    assert "is a folder: name a file in it" in said(tmp_path / "is.csv")
    assert "at least one sample must be taken at once, not 0" in said(tmp_path / "codes.csv", "--batch", "0")
    assert "the device 'abacus' cannot be used here" in said(tmp_path / "codes.csv", "--device", "abacus")
    (tmp_path / "codes.csv").write_text("mine")
    assert "codes.csv exists already: name another file, or say --overwrite" in said(tmp_path / "codes.csv")
    assert (tmp_path / "codes.csv").read_text() == "mine"
    assert len(encoded(images, path, tmp_path / "codes.csv", "--overwrite")) == 9


def test_codes_that_cannot_be_drawn(images: Model, tmp_path: Path, capsys: Captured) -> None:
    codes = pd.DataFrame(np.zeros((3, 3)), columns=images.feature_names)

    def said(frame: Any, out: str = "drawn") -> str:
        frame.to_csv(tmp_path / "codes.csv", index=False)
        return fault(capsys, "decode", run_of(images), str(tmp_path / "codes.csv"), "--out", str(tmp_path / out))

    assert "codes.csv lacks the columns 'z1', 'z2' of the codes of this model" in said(codes[["z0"]])
    assert "the column 'z1' of" in (text := said(codes.assign(z1=np.nan))) and "must hold finite numbers" in text
    assert "the column 'z1' of" in said(codes.assign(z1="one"))
    assert "has no rows" in said(codes[:0])
    assert "two samples of" in said(codes.assign(name=["a", "a", "b"]))
    for name in ("../a", "/a", "c:a"):
        assert f"the name '{name}' in" in said(codes.assign(name=[name, "b", "c"]))
    for two in (["a", "a.png"], ["b\\c", "b/c"]):
        told = said(codes.assign(name=[*two, "d"]))
        assert f"'{two[0]}' and '{two[1]}' in" in told and "would both be drawn to" in told
    (tmp_path / "file").touch()
    assert "file is a file: name a folder for the images" in said(codes, "file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    assert "full is not empty: name another one, or say --overwrite" in said(codes, "full")
    np.savez(tmp_path / "codes.npz", codes=np.zeros((3, 3)))
    words = ["decode", run_of(images), "--out", str(tmp_path / "drawn")]
    assert "has no arrays 'codes' [n, k] and 'columns' [k]" in fault(capsys, *words, str(tmp_path / "codes.npz"))
    assert "codes are read from .csv, .tsv, .parquet, .npz" in fault(capsys, *words, str(tmp_path / "codes.txt"))
    assert "there is no file" in fault(capsys, *words, str(tmp_path / "missing.csv"))
    assert not (tmp_path / "drawn").exists()


def test_what_has_no_decoder_cannot_draw(tmp_path: Path, capsys: Captured) -> None:
    model = trained(tmp_path, GREY, "cnn", latents=2, label=np.arange(9) % 2)
    np.save(tmp_path / "x.npy", GREY)
    encoded(model, tmp_path / "x.npy", tmp_path / "codes.csv")
    words = ["decode", run_of(model), str(tmp_path / "codes.csv"), "--out", str(tmp_path / "drawn")]
    assert "has no decoder" in fault(capsys, *words)


@pytest.mark.filterwarnings("default")
def test_an_unfinished_run_is_named(images: Model, tmp_path: Path, capsys: Captured) -> None:
    shutil.copytree(run_of(images), tmp_path / "run")
    (tmp_path / "run" / "done").unlink()
    path = save(tmp_path / "x.npy", GREY)
    assert main(["encode", str(tmp_path / "run"), str(path), "--out", str(tmp_path / "codes.csv")]) == 0
    assert "has not reached its 2 steps" in capsys.readouterr().err
    assert "is not a run" in fault(capsys, "encode", str(tmp_path), str(path), "--out", str(tmp_path / "c.csv"))


def test_large_batches_go_through_at_once(images: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    plain = images.method.encode

    def spy(x: torch.Tensor) -> Any:
        sizes.append(len(x))
        return plain(x)

    monkeypatch.setattr(images.method, "encode", spy)
    monkeypatch.setattr(images, "batch", 1000)
    images.transform(np.repeat(GREY, 50, 0))
    assert sizes == [450]
