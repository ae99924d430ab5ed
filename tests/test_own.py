"""Methods and data sets of a user's own: by class, by place, in studies, and loaded again."""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import unbraid
from tests.toys import Squares
from unbraid import catalogue
from unbraid.cli import main
from unbraid.errors import UserError
from unbraid.study.plan import resolve
from unbraid.train.load import built
from unbraid.train.run import Run

SOURCE = '''
from pathlib import Path
from typing import Literal

import numpy as np
from torch import nn
from unbraid.config import Size, Weight
from unbraid.data.batch import Images
from unbraid.data.table import Spec, Table
from unbraid.methods.contract import Method, minimise
from unbraid.nets import autoencoders as nets


class Sparse(Method[Images]):
    """A sparse autoencoder.

    Args:
        weight: of the size of the code
        latents: number of dimensions
    """

    def __init__(self, spec: Spec, *, weight: Weight = 1.0, latents: Size = 3, net: Literal["dense", "mlp"] = "dense"):
        super().__init__(spec, lr=1e-3)
        self.weight = weight
        self.encoder = nets.encoder(net, spec.shape, latents, width=2)
        self.decoder = nets.decoder(net, spec.shape, latents, width=2, likelihood="bernoulli")

    def losses(self, batch, step):
        z = self.encoder(batch.x)
        rec, size = self.decoder.nll(z, batch.x).mean(), z.abs().sum(-1).mean()
        return {"model": minimise(rec + self.weight * size, rec=rec, size=size)}

    def encode(self, x):
        return {"z": self.encoder(x)}


class Dots(Table):
    """Dots at random places."""

    name = "dots"
    shape = (1, 8, 8)

    def __init__(self, *, count: Size = 40):
        self.count = count

    def __len__(self):
        return self.count

    def images(self, rows):
        found = np.zeros((len(rows), 1, 8, 8), np.uint8)
        found[np.arange(len(rows)), 0, rows % 8, rows // 8 % 8] = 255
        return found


class Net(nn.Sequential):
    def __init__(self, shape, outputs, hidden=4):
        super().__init__(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], hidden), nn.Linear(hidden, outputs))


def draw(shape, inputs):
    return nn.Sequential(nn.Linear(inputs, shape[0] * shape[1] * shape[2]), nn.Unflatten(1, shape))


class Unfinished(Method[Images]):
    pass


Path("been_here").write_text("imported")
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a method, a data set and networks, in the working directory."""
    monkeypatch.chdir(tmp_path)
    catalogue._executed.cache_clear()
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path / "mine.py"


QUICK = ["--steps", "3", "--batch", "8", "--quiet"]


def the_run(folder: Path) -> Run:
    (path,) = (folder / "runs").glob("*/run.json")
    return Run(path.parent)


def test_an_own_method_and_data_set_run_on_the_command_line(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "mine.py:Sparse", "--data", "mine.py:Dots", "--count", "30", "--weight", "0.5", *QUICK]
    assert main(words) == 0, capsys.readouterr().err
    run = the_run(mine.parent)
    assert run.path.name.startswith("Sparse-Dots-")
    assert run.plan.method == f"{mine}:Sparse"
    assert run.plan.data_arguments == {"count": 30}
    assert run.plan.arguments == {"weight": 0.5, "latents": 3, "net": "dense"}
    assert "Sparse on Dots" in (run.path / "report.html").read_text()
    capsys.readouterr()
    assert main([*run.plan.command.split()[1:], "--quiet"]) == 0  # the command that the report shows repeats it
    assert the_run(mine.parent).path == run.path


def test_an_own_data_set_is_shown_with_its_options(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "mine.py:Dots", "--count", "20"]) == 0, capsys.readouterr().err
    assert (mine.parent / "Dots.png").exists()


def test_the_help_comes_from_the_signature(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "mine.py:Sparse", "--data", "mine.py:Dots", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "A sparse autoencoder." in shown
    assert "--weight WEIGHT of the size of the code (float, default: 1.0)" in shown
    assert "--count COUNT" in shown
    assert main(["run", "mine.py:Sparse", "--weight", "-1", *QUICK]) == 1
    assert "weight of Sparse must be 0 or more, not -1" in capsys.readouterr().err
    assert main(["run", "mine.py:Sparse", "--net", "dence", *QUICK]) == 1
    assert "did you mean 'dense'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mine.py:Gone", "mine.py has no 'Gone'"),
        ("gone.py:Sparse", "there is no file .*gone.py"),
        ("mine.py:Net", "Net' is no method: derive it from unbraid.methods.contract.Method"),
        ("mine.py:Unfinished", "Unfinished' is not complete: it lacks losses"),
        ("no.such.package:Sparse", "'no.such.package:Sparse' cannot be imported: No module named 'no'"),
        ("os:system", "'os:system' is no method"),
    ],
)
def test_places_that_hold_no_method(mine: Path, place: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        catalogue.find("methods", place)


def test_a_run_of_an_own_method_is_loaded_only_where_it_is_named(mine: Path) -> None:
    """A run's directory from a stranger imports nothing."""
    data = Squares()
    method = unbraid.build("mine.py:Sparse", data)
    path = unbraid.fit(method, data, steps=2, batch=8, show=False).path
    catalogue._executed.cache_clear()
    (mine.parent / "been_here").unlink()
    with pytest.raises(
        UserError, match=r"was made with .*mine.py:Sparse, which is code of its own: name it, as in load_run"
    ):
        unbraid.load_run(path)
    assert not (mine.parent / "been_here").exists()
    x = np.random.default_rng(0).random((5, 12, 12))
    wanted = unbraid.load_run(path, "mine.py:Sparse").transform(x)
    assert (mine.parent / "been_here").exists()
    np.testing.assert_array_equal(unbraid.load_run(path, type(method)).transform(x), wanted)
    np.testing.assert_array_equal(unbraid.load_run(path, trust=True).transform(x), wanted)


def test_the_sources_that_a_run_names_are_not_imported_to_be_compared(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(mine.parent))
    data = Squares()
    path = unbraid.fit(unbraid.build("vae", data, width=2), data, steps=1, batch=4, show=False).path
    config = json.loads((path / "run.json").read_text())
    config["sources"] = {"mine:Sparse": "0123456789abcdef"}
    (path / "run.json").write_text(json.dumps(config))
    unbraid.load_run(path)
    assert "mine" not in sys.modules
    assert not (mine.parent / "been_here").exists()


@pytest.mark.parametrize(("method", "place"), [("mine.py:Sparse", "mine.py:Sparse"), ("vae", "mine.py:Dots")])
def test_scores_and_reports_of_a_strange_run_import_nothing_either(
    mine: Path, capsys: pytest.CaptureFixture[str], method: str, place: str
) -> None:
    assert main(["run", method, "--data", "mine.py:Dots", *QUICK, "--train-only"]) == 0
    run = the_run(mine.parent)
    catalogue._executed.cache_clear()
    (mine.parent / "been_here").unlink()
    assert main(["report", str(run.path)]) == 1
    message = capsys.readouterr().err
    assert place in message
    assert "--trust on the command line" in message
    assert main(["score", str(run.path), "--metrics", "translation"]) == 1
    assert not (mine.parent / "been_here").exists()
    assert main(["report", str(run.path), "--trust"]) == 0
    assert (mine.parent / "been_here").exists()


def test_a_changed_source_is_noticed(mine: Path) -> None:
    data = Squares()
    path = unbraid.fit(unbraid.build("mine.py:Sparse", data), data, steps=2, batch=8, show=False).path
    mine.write_text(SOURCE + "\n# another remark\n")
    with pytest.warns(UserWarning, match=r"mine.py:Sparse has changed since .* was made"):
        unbraid.load_run(path, trust=True)
    with pytest.raises(UserError, match=r"mine.py:Sparse has changed since .* was begun: choose another folder"):
        unbraid.fit(unbraid.build("mine.py:Sparse", data), data, steps=2, batch=8, show=False)


def test_studies_take_own_methods_data_sets_and_networks(mine: Path) -> None:
    plan = resolve({"method": "mine.py:Sparse", "data": "mine.py:Dots", "encoder": "mine.py:Net(hidden=5)", "steps": 2})
    data = unbraid.load_data(plan.data, **plan.data_arguments)
    method = built(catalogue.find("methods", plan.method), data.spec, plan.arguments, plan.seed)
    run = unbraid.fit(method, data, steps=2, sampling=plan.sampling, show=False)
    assert run.path.name == plan.name
    assert plan.arguments["encoder"] == f"{mine}:Net(hidden=5)"
    assert "encoder" not in resolve({"method": "vae", "data": "dsprites"}).arguments


def test_installed_packages_give_methods_by_name(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(mine.parent))
    point = EntryPoint("sparse", "mine:Sparse", "unbraid.methods")
    taken = EntryPoint("vae", "mine:Sparse", "unbraid.methods")
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [point, taken] if group == "unbraid.methods" else [])
    catalogue._installed.cache_clear()
    data = Squares()
    run = unbraid.fit(unbraid.build("sparse", data), data, steps=2, batch=8, show=False)
    assert run.path.name.startswith("sparse-Squares-")
    assert unbraid.load_run(run.path).feature_names == ["z0", "z1", "z2"]  # installed: it needs not be named
    assert list(catalogue.installed_entries("methods")) == ["sparse"]
    assert catalogue.find("methods", "vae").load().__module__ == "unbraid.methods.vae"
    catalogue._installed.cache_clear()
    sys.modules.pop("mine")


def test_networks_on_the_command_line(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "vae", "--data", "mine.py:Dots", "--encoder", "mine.py:Net(hidden=6)", "--decoder", "mine.py:draw"]
    assert main([*words, *QUICK, "--train-only"]) == 0, capsys.readouterr().err
    run = the_run(mine.parent)
    assert run.plan.arguments["encoder"] == f"{mine}:Net(hidden=6)"
    assert f"--encoder '{mine}:Net(hidden=6)'" in run.plan.command
    assert unbraid.load_run(run.path, trust=True).method.encoder[1].out_features == 6  # type: ignore[index]


def test_an_edited_file_is_read_again(mine: Path) -> None:
    first = catalogue.load_object("mine.py:Sparse")
    assert catalogue.load_object("mine.py:Sparse") is first
    mine.write_text(SOURCE.replace("A sparse autoencoder", "Another one"))
    second = catalogue.load_object("mine.py:Sparse")
    assert (first.__doc__.split("\n")[0], second.__doc__.split("\n")[0]) == ("A sparse autoencoder.", "Another one.")
    assert catalogue.place_of(first) == catalogue.place_of(second) == f"{mine}:Sparse"


def test_files_of_one_name_in_folders_of_one_name_are_two(tmp_path: Path) -> None:
    found = []
    for folder in ("a", "b"):
        path = tmp_path / folder / "copy (1)" / "net.py"
        path.parent.mkdir(parents=True)
        path.write_text("class Net: ...")
        found.append((catalogue.load_object(f"{path}:Net"), f"{path}:Net"))
    for thing, place in found:
        assert catalogue.place_of(thing) == place
        assert catalogue.source_digest(f"{place}(width=3)") is not None


def test_a_file_that_cannot_be_executed_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    (tmp_path / "bad.py").write_text("def (")
    with pytest.raises(UserError, match=r"bad\.py:Net' cannot be imported: invalid syntax"):
        catalogue.load_object(f"{tmp_path}/bad.py:Net")
    with pytest.raises(UserError, match=r"':Net' names nothing: write file\.py:name or"):
        catalogue.load_object(":Net")
    assert not [name for name in set(sys.modules) - before if "bad" in name]
