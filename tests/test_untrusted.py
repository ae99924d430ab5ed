"""What SECURITY.md promises of a run's directory that comes from a stranger, sentence by sentence."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torture import bad_files, formats

import unbraid
from unbraid.cli import main
from unbraid.data.io.fetch import unpack
from unbraid.data.sets.images import Images
from unbraid.errors import UserError
from unbraid.train.run import Run

TINY = "run vae --size 8 --net dense --width 2 --latents 3 --batch 4 --steps 2 --points 60 --metrics mig --threads 1"
SCRIPT = "<script>alert(1)</script>"


class Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.mark}",)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    assert main([*TINY.split(), "--quiet", "--out", str(out)]) == 0
    (path,) = [found.parent for found in out.glob("*/run.json")]
    return path


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A stranger's run."""
    return Path(shutil.copytree(made, tmp_path / made.name))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Exists once code of the stranger has run."""
    return tmp_path / "executed"


def change(run: Path, **values: Any) -> None:
    config = json.loads((run / "run.json").read_text())
    for name, value in values.items():
        if isinstance(value, dict):
            config[name] |= value
        else:
            config[name] = value
    (run / "run.json").write_text(json.dumps(config))


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence with which a command ends."""
    capsys.readouterr()
    assert main(words) == 1
    error = capsys.readouterr().err
    lines = [line for line in error.splitlines() if not line.startswith("unbraid: note:")]
    assert len(lines) == 1, error
    return lines[0]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "report": lambda run: ["report", str(run), "--points", "50"],
    "explore": lambda run: ["explore", str(run), "--no-open"],
    "score": lambda run: ["score", str(run), "--metrics", "variation_predictability"],
    "encode": lambda run: ["encode", str(run), str(run / "x.npy"), "--out", str(run / "codes.csv")],
    "export": lambda run: ["export", str(run), "--torch", str(run / "model.pt2")],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_pickle_in_place_of_weights_is_not_executed(
    command: str, run: Path, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(run / "x.npy", np.zeros((3, 8, 8), np.uint8))
    (run / "weights.safetensors").write_bytes(pickle.dumps(Bomb(mark)))
    assert "weights.safetensors cannot be read" in refused(COMMANDS[command](run), capsys)
    (run / "weights.safetensors").unlink()
    torch.save({"step": Bomb(mark)}, run / "state.pt")
    assert "nothing in it was executed" in refused(COMMANDS[command](run), capsys)
    assert not mark.exists()


def test_a_run_that_is_continued_does_not_execute_its_state(
    run: Path, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("done", "weights.safetensors"):
        (run / name).unlink()
    torch.save({"step": Bomb(mark)}, run / "state.pt")
    assert "nothing in it was executed" in refused([*TINY.split(), "--quiet", "--out", str(run.parent)], capsys)
    assert not mark.exists()


@pytest.mark.parametrize("name", ["codes.npz", "pictures.npz"])
def test_an_array_of_objects_is_refused(name: str, run: Path, mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = dict(np.load(run / name))
    arrays[next(iter(arrays))] = np.array([Bomb(mark)], dtype=object)
    np.savez(run / name, **arrays)
    assert "not a readable .npz file of plain arrays" in refused(["report", str(run)], capsys)
    samples = run / "x.npz"
    np.savez(samples, images=np.array([Bomb(mark)] * 3, dtype=object))
    with pytest.raises(UserError, match="never unpickled"):
        Images(path=str(samples))
    assert not mark.exists()


EVIL = """
from pathlib import Path
Path({mark!r}).touch()
from unbraid.data.sets.dsprites import DSprites
from unbraid.methods.vae import VAE
class Method(VAE): ...
class Data(DSprites): ...
def net(shape, width): raise SystemExit
"""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("part", ["method", "data", "encoder"])
def test_code_that_only_the_run_names_is_not_imported(
    part: str, command: str, run: Path, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(run / "x.npy", np.zeros((3, 8, 8), np.uint8))
    file = run / f"evil_{part}_{command}.py"
    file.write_text(EVIL.format(mark=str(mark)))
    place = f"{file}:{ {'method': 'Method', 'data': 'Data', 'encoder': 'net'}[part] }"
    change(run, **({"arguments": {"encoder": place}} if part == "encoder" else {part: place}))
    if part == "data" and command in ("encode", "export"):  # these need no data
        assert main(COMMANDS[command](run)) == 0
    else:
        assert "--trust" in refused(COMMANDS[command](run), capsys)
    assert not mark.exists()


def test_code_that_the_user_trusts_is_imported(run: Path, mark: Path) -> None:
    """So that the test above can fail."""
    file = run / "evil.py"
    file.write_text(EVIL.format(mark=str(mark)))
    change(run, data=f"{file}:Data")
    assert main([*COMMANDS["explore"](run), "--trust"]) == 0
    assert mark.exists()


def test_archives_are_not_unpacked_and_their_names_lead_nowhere(tmp_path: Path) -> None:
    picture = formats.picture("png")
    for name in ("../out.png", "/out.png", "a/../../out.png", "C:/out.png"):
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
            file.writestr(name, picture)
        with pytest.raises(UserError, match="unsafe path"):
            Images(path=str(tmp_path / "x.zip"))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a/1.png", picture)
    before = sorted(tmp_path.rglob("*"))
    assert Images(path=str(tmp_path / "x.zip"), size=8).images(np.arange(1)).shape == (1, 3, 8, 8)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("name", "kind"), [("in/../../x", b"0"), ("/in/x", b"0"), ("in/x", b"2"), ("in/x", b"1")])
def test_a_tar_file_is_unpacked_below_its_folder_or_not_at_all(name: str, kind: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    with tarfile.open(tmp_path / "x.tar", "w") as file:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        file.addfile(member)
    with pytest.raises(UserError, match="was not unpacked"):
        unpack(tmp_path / "x.tar", "in", folder)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "a", folder, tmp_path / "x.tar"]


def test_links_in_a_run_lead_to_no_write(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link in the place of a file is replaced, or refused; what it leads to stays as it is."""
    mine = tmp_path / "mine"
    mine.write_text("{}")
    for name in ("report.html", "scores.json", "explorer.html", f".report.html.{os.getpid()}"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(mine)
    assert "cannot write" in refused(["report", str(run)], capsys)  # of the last link
    (run / f".report.html.{os.getpid()}").unlink(missing_ok=True)
    (run / "scores.json").unlink(missing_ok=True)
    assert main(["report", str(run)]) == 0
    assert main(["explore", str(run), "--no-open"]) == 0
    (run / "lock").unlink()
    (run / "lock").symlink_to(mine)
    (run / "done").unlink()
    assert "cannot write to" in refused([*TINY.split(), "--quiet", "--out", str(run.parent)], capsys)
    assert mine.read_text() == "{}"
    assert not (run / "report.html").is_symlink()


def test_names_are_escaped_in_report_and_explorer(run: Path) -> None:
    arrays = dict(np.load(run / "codes.npz"))
    arrays["factor_names"] = np.array([f"{SCRIPT}{i}" for i in range(len(arrays["factor_names"]))])
    for name in ("label", "groups", "kinds", "shared"):
        arrays.pop(name, None)
    np.savez(run / "codes.npz", **arrays)
    scores = json.loads((run / "scores.json").read_text())
    score = scores["mig"] | {"warnings": [SCRIPT], "params": {"meaning": SCRIPT}}
    (run / "scores.json").write_text(json.dumps({SCRIPT: score, "mig": score}))
    change(run, commit=SCRIPT, versions={SCRIPT: SCRIPT}, sampling={SCRIPT: SCRIPT})
    assert main(["report", str(run)]) == 0
    assert main(["explore", str(run), "--no-open"]) == 0
    for page in ("report.html", "explorer.html"):
        text = (run / page).read_text()
        assert SCRIPT not in text
        assert "alert(1)" in text, "the name is not on the page: nothing was tested"
        assert "<script src" not in text


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 30, "1" + "0" * 5000, "NaN"])
def test_huge_numbers_in_json_are_a_sentence(number: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (run / "run.json").read_text()
    for name in ("seed", "width", "latents"):
        before = json.loads(whole)
        old = before.get(name, before["arguments"].get(name))
        (run / "run.json").write_text(whole.replace(f'"{name}": {old}', f'"{name}": {number}', 1))
        with pytest.raises(UserError) as caught:
            unbraid.load_run(run)
        assert "\n" not in str(caught.value)
    (run / "run.json").write_text(whole)
    (run / "scores.json").write_text(f'{{"mig": {number}}}')
    assert "remove it" in refused(["report", str(run)], capsys)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory a process has")
def test_files_of_10_gb_are_refused_within_200_mb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", str(tmp_path / "cache"))
    count, wrong = bad_files.bombs(tmp_path)
    assert count == 10
    assert not wrong


def test_a_run_that_is_whole_is_read(run: Path) -> None:
    """The fixture is a good run: what is refused above is refused for its change."""
    assert Run(run).finished
    assert unbraid.load_run(run).transform(np.zeros((2, 8, 8), np.uint8)).shape == (2, 3)
