from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unbraid.cli import data
from unbraid.cli.parser import Parser
from unbraid.errors import UserError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "root"


def run(*words: str) -> int:
    parser = Parser(prog="unbraid")
    data.add(parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser))
    arguments = parser.parse(["data", *words])
    code: int = arguments.main(arguments)
    return code


def test_list_says_what_is_there(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--json") == 0
    sets = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert sets["mnist"]["present"] is False
    assert sets["dsprites"]["present"] is None
    assert sets["dsprites_npz"]["factors"] == sets["dsprites"]["factors"]
    assert sets["mpi3d"]["rows"] == "1,036,800" == f"{np.prod(list(sets['mpi3d']['factors'].values())):,}"
    assert sets["small_norb"]["rows"] == f"{np.prod(list(sets['small_norb']['factors'].values())):,}"
    assert sets["images"]["needs"] == ["path"]
    for name in ("train-images.idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte", "t10k-labels-x"):
        (root / "mnist").mkdir(parents=True, exist_ok=True)
        (root / "mnist" / name).touch()
    run("list", "--json")
    sets = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert (sets["mnist"]["present"], sets["mnist_stl10"]["present"], sets["cmnist"]["present"]) == (True, False, True)


def test_list_for_people_in_another_root(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--data-root", str(tmp_path / "mine")) == 0
    out = capsys.readouterr().out
    lines = {line.split()[0]: line for line in out.splitlines() if line.split()}
    assert f"data root: {tmp_path / 'mine'}\n" in out
    assert lines["stl10"].split()[-2:] == ["stl10", "no"]
    assert "class 10" in lines["stl10"]
    assert "given by you" in lines["images"]
    assert "(rendered)" in lines["shapes3d"]


def test_list_answers_at_once_and_without_torch() -> None:
    program = (
        "import sys, argparse\n"
        "from unbraid.cli import data\n"
        "parser = argparse.ArgumentParser()\n"
        "data.add(parser.add_subparsers())\n"
        "arguments = parser.parse_args(['data', 'list'])\n"
        "arguments.main(arguments)\n"
        "heavy = {'torch', 'scipy', 'sklearn', 'h5py', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def write_classes(folder: Path) -> None:
    for name, shade, count in (("ant", 40, 3), ("bee", 200, 1)):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.fromarray(np.full((16, 16), shade, np.uint8)).save(folder / name / f"{i}.png")


def test_show_draws_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_classes(tmp_path / "mine")
    assert (
        run("show", "images", "--path", "mine", "--size", "16", "--out", "out/sheet.png", "--joint", "class", "class")
        == 0
    )
    out = capsys.readouterr().out
    assert "images: 4 rows of 1 x 16 x 16; gives Images, Transitions, Labelled, Views" in out
    assert "25.00 .. 75.00 %" in out
    assert "class, shared by views" in out
    shares = [line.split() for line in out.splitlines() if line.split()[:1] in (["0"], ["1"])]
    assert shares == [["0", "75.00", "0.00"], ["1", "0.00", "25.00"]]
    sheet = np.asarray(Image.open(tmp_path / "out" / "sheet.png").convert("L"))
    assert {40, 200} <= set(np.unique(sheet).tolist())
    assert (tmp_path / "out" / "sheet-class-class.png").exists()
    assert run("show", "images", "--path", "mine") == 0
    assert (tmp_path / "images.png").exists()


def test_show_refuses_before_it_draws(tmp_path: Path) -> None:
    write_classes(tmp_path / "mine")
    for words, message in [
        (["show", "image"], "no data set is called 'image': did you mean 'images'"),
        (["show", "images"], "images needs --path"),
        (["show", "images", "--pth", "mine"], "no option is called '--pth': did you mean '--path'"),
        (["show", "images", "--path", "mine", "--joint", "class", "clas"], "factor of 'images' is called 'clas'"),
        (["show", "images", "--path", "mine", "--out", "mine/ant/0.png/x.png"], "x.png cannot be written"),
        (["shw"], "no command is called 'shw': did you mean 'show'"),
        (["show", "mnist"], "unbraid data fetch mnist"),
    ]:
        with pytest.raises(UserError, match=message):
            run(*words)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_fetch_of_what_is_there_and_what_has_no_address(
    shared: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root.mkdir()
    shutil.copytree(shared / "data/mnist", root / "mnist")
    assert run("fetch", "mnist") == 0
    assert capsys.readouterr().out.count("already there: ") == 4
    assert run("fetch", "mnist", "--file", "t10k-labels-idx1-ubyte.gz") == 0
    assert capsys.readouterr().out.count("already there: ") == 1
    with pytest.raises(
        UserError, match=r"no file of mnist is called 't10k-labels': did you mean 't10k-labels-idx1-ubyte\.gz'"
    ):
        run("fetch", "mnist", "--file", "t10k-labels")
    assert run("fetch", "dsprites") == 0
    assert "needs no files" in capsys.readouterr().out
    with pytest.raises(
        UserError, match=rf"celeba cannot be fetched: download img_align_celeba\.zip.* put the files into {root}/celeba"
    ):
        run("fetch", "celeba_hats_glasses")
    with pytest.raises(UserError, match="affectnet cannot be fetched: request it from its authors"):
        run("fetch", "affectnet")
