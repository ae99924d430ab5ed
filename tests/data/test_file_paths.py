"""Paths in the arguments of data sets mean the same from any working directory."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from unbraid import catalogue
from unbraid.config import Argument
from unbraid.data.sets.images import Images
from unbraid.data.sets.mnist import MNIST
from unbraid.data.sets.two_folders import TwoFolders

PATHS = ("path", "target", "background", "texture", "picture")


def test_every_path_of_a_data_set_is_a_file_path() -> None:
    for entry in catalogue.entries("data").values():
        for argument in entry.arguments:
            assert (argument.annotation == "FilePath") == (argument.name in PATHS), (entry.name, argument.name)
            assert argument.annotation != "FilePath" or argument.type == "str"


def test_arguments_hold_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "y").mkdir()
    np.save("x.npy", np.zeros((4, 8, 8), np.uint8))
    for given in ("x.npy", "./y/../x.npy", "~/x.npy", Path("x.npy"), str(tmp_path / "x.npy")):
        table = Images(path=given, size=8)  # type: ignore[arg-type]
        assert table.arguments == {"path": str(tmp_path / "x.npy"), "size": 8, "color": "as_is"}
        json.dumps(table.arguments)
    both = TwoFolders(target="x.npy", background="x.npy", size=8)
    assert both.arguments["target"] == both.arguments["background"] == str(tmp_path / "x.npy")
    assert inspect.signature(MNIST.__init__).parameters["path"].default == ""


def test_what_is_no_path_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, text = (Argument("a", kind, False, "", "") for kind in ("FilePath", "str"))
    assert path.absolute("") == ""
    assert path.absolute("https://host/x.zip") == "https://host/x.zip"
    assert path.absolute("~nobody-of-that-name/x") == str(tmp_path / "~nobody-of-that-name/x")
    assert path.converted("x", "it") == str(tmp_path / "x")
    assert text.converted("x", "it") == "x"
    assert path.absolute(None) is None
