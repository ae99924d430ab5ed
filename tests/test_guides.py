"""Every command that a guide shows ends well, on small data of the kind that it names and with few steps."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.data.test_table_files import h5ad
from unbraid.cli import main

DOCS = Path(__file__).parents[1] / "docs"
GUIDES = ("commands", "cases_and_controls", "data_files", "explore", "getting-started", "index", "studies", "your_own")
ELSEWHERE = {  # commands that need more than a moment, and where they are tried
    "--ray": "tests/study/test_cluster.py",
    "reproduce": "tests/experiments",
    "data fetch": "tests/data/test_fetch.py",
    "paper.py": "tests/experiments/test_unsupervised.py",
}
METHOD = """
from unbraid.data.sets.dsprites import DSprites as MyTable
from unbraid.methods.vae import VAE

class MyMethod(VAE):
    '''Of the user's own.

    Args:
        weight: of nothing
    '''

    def __init__(self, spec, *, weight: float = 1.0):
        super().__init__(spec, width=4)
"""
NETS = """
from math import prod
from torch import nn

def flat_encoder(shape, outputs, hidden=8):
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(shape), hidden), nn.ReLU(), nn.Linear(hidden, outputs))

def flat_decoder(shape, inputs):
    return nn.Sequential(nn.Linear(inputs, prod(shape)), nn.Unflatten(1, shape))

MyNet = flat_encoder
"""
QUICK = ["--data", "dsprites", "--size", "32", "--steps", "2", "--metrics", "mig", "--points", "300", "--quiet"]
STUDY = """
from unbraid.study import Study, product
study = Study(runs=product(method="beta_vae", data="dsprites", size=16, width=4, batch=4, steps=2, seed=[0, 1]),
              metrics=["mig"], points=300)
"""


def commands() -> list[str]:
    """The lines of indented blocks that begin with `unbraid`, without comments."""
    lines = [
        " ".join(shlex.split(line, comments=True))
        for guide in GUIDES
        for line in re.findall(r"^ {4,}(unbraid .*)$", (DOCS / f"{guide}.md").read_text(), re.MULTILINE)
    ]
    return sorted({line for line in lines if not any(word in line for word in ELSEWHERE)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, studies_in_this_process: None) -> Path:
    """Data, runs and a study under the names that the guides use."""
    place = tmp_path_factory.mktemp("guides")
    rng = np.random.default_rng(0)
    for name in ("holiday", "FOLDER", "cases", "controls", "glasses", "plain"):
        (place / name).mkdir()
        for i in range(12):
            Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(place / name / f"{i}.png")
    shutil.make_archive(str(place / "holiday"), "zip", place / "holiday")
    np.savez(place / "cells.npz", images=rng.integers(0, 255, (30, 32, 32, 1), dtype=np.uint8))
    rows = [",".join(map(str, row)) for row in rng.normal(size=(60, 4)).round(3)]
    for name in ("CASES.csv", "CONTROLS.csv", "FILE.csv"):
        (place / name).write_text("\n".join(["a,b,c,d", *rows]))
    for name in ("cases.csv", "controls.csv"):
        (place / name).write_text(
            "\n".join(["patient,site,a,b,c,d", *(f"p{i},{i},{row}" for i, row in enumerate(rows))])
        )
    counted = pd.DataFrame({"who": [f"c{i}" for i in range(60)], "site": 0, "batch": "x", "kind": "a"})
    for name in ("treated.h5ad", "untreated.h5ad"):
        h5ad(place / name, rng.poisson(5, (60, 4)), counted, list("abcd"))
    cells = [f"c{i},{i % 3},{i % 2},{i % 5},{row}" for i, row in enumerate(rows)]
    (place / "cells.csv").write_text("\n".join(["cell,type,batch,plate,a,b,c,d", *cells]))
    codes = [f"{i % 3},{i % 4},{i % 3}.1,{i % 4}.2" for i in range(100)]
    (place / "SCORED.csv").write_text("\n".join(["shape,scale,z0,z1", *codes]))
    (place / "mine.py").write_text(METHOD)
    (place / "package").mkdir()
    (place / "package" / "module.py").write_text(METHOD)
    (place / "nets.py").write_text(NETS)
    (place / "study.py").write_text(STUDY)
    shutil.copy(DOCS / "results" / "contrastive.json", place)
    for method in ("vae", "beta_vae"):
        assert main(["run", method, *QUICK, "--width", "4", "--out", str(place / "runs")]) == 0
    own = [str(place / "mine.py:MyMethod"), "--data", str(place / "mine.py:MyTable")]
    assert main(["run", *own, *QUICK[2:], "--out", str(place / "runs")]) == 0
    assert main(["study", str(place / "study.py"), "--out", str(place / "DIR")]) == 0
    run = str(next((place / "runs").glob("vae-*")))
    assert main(["encode", run, str(place / "cells.npz"), "--out", str(place / "codes.csv")]) == 0
    return place


def adapted(command: str, folder: Path) -> list[str]:
    """The same command on what the folder holds, with two steps of training."""
    runs = [str(next((folder / "runs").glob(f"{name}-*"))) for name in ("vae", "beta_vae", "MyMethod")]
    named = {
        "CASES": "CASES.csv",
        "CONTROLS": "CONTROLS.csv",
        "PATH": "cells.npz",
        "OTHER": runs[1],
        "FILE": "study.py",
        "FILE.py:NAME": "study.py:study",
        "experiments/unsupervised/study.py": "study.py",
        "docs/results/contrastive.json": "contrastive.json",
        "runs/MyMethod-MyTable-1a2b3c4d": runs[2],
    }
    words = shlex.split(command)[1:]
    if words[0] == "score":
        named["FILE.csv"] = "SCORED.csv"
    remaining = iter(runs[2:] if "--metrics" in words else runs)  # the last has factors
    words = [next(remaining) if word == "RUN" else named.get(word, word) for word in words]
    if words[0] == "run" and "--help" not in words:
        factors = {"dsprites", "shapes3d"} & {*words} or words[1] == "mine.py:MyMethod"
        words += ["--steps", "2", "--quiet", *(["--metrics", "mig", "--points", "300"] if factors else [])]
        words += [] if words[1] == "mine.py:MyMethod" else ["--width", "4"]
    if words[0] in ("encode", "decode"):
        words.append("--overwrite")
    if words[0] == "explore" and "--no-open" not in words:
        words.append("--no-open")
    return words


@pytest.mark.parametrize("command", commands(), ids=str)
def test_a_command_of_a_guide_ends_well(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    if "--help" in command:
        with pytest.raises(SystemExit, match="0"):
            main(adapted(command, folder))
    else:
        assert main(adapted(command, folder)) == 0


def test_commands_are_found() -> None:
    assert len(commands()) > 30
    assert "unbraid study FILE --list --calibrate" in commands()
