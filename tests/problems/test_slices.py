"""A run whose code is cut into slices: probes among its scores, and a part of its report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.methods.test_sub_supervised import Pairs
from unbraid import build, fit, report, represent
from unbraid.codes import Codes
from unbraid.evaluate import score
from unbraid.problems.scores import take_scores
from unbraid.train.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    table = Pairs()
    method = build("sub_infomax", table, width=3, slices=3, orthogonality=0.1)
    run = fit(method, table, steps=5, batch=8, out=str(tmp_path_factory.mktemp("runs")), show=False)
    represent(run, method, table, points=240)
    score(run, metrics=["slices"])
    report(run)
    return run


def test_the_tasks_are_what_views_share(run: Run) -> None:
    assert list(run.arrays("codes.npz")["shared"]) == ["side", "light"]
    found = run.scores()
    assert set(found) == {"probes_z", "copies_z", "probes_r", "copies_r"}
    accuracy = found["probes_z"]["parts"]["accuracy"]
    assert list(accuracy) == ["z", "z0", "z1", "z2"]
    assert list(accuracy["z0"]) == ["side", "light"]


def test_the_report_shows_the_probes_of_each_slice(run: Run) -> None:
    page = (run.path / "report.html").read_text()
    for whole in "zr":
        part = page[page.index(f"What each slice of {whole} tells") :]
        accuracy = run.scores()[f"probes_{whole}"]["parts"]["accuracy"]
        for block, values in accuracy.items():
            row = part[part.index(f"<td>{block}</td>") :].partition("</tr>")[0]
            assert all(f"{100 * value:.1f}" in row for value in values.values())
        best = max((f"{whole}{k}" for k in range(3)), key=lambda block: accuracy[block]["side"])
        assert f"<td>{best}</td>" + f'<td class="number"><b>{100 * accuracy[best]["side"]:.1f}</b>' in part
    balance = page[page.index("InfoMax against InfoMin") : page.index("<h2>Training</h2>")]
    assert all(f">{term}<" in balance for term in ("infomax", "infomin"))
    training = page[page.index("<h2>Training</h2>") :]
    assert all(f">{term}<" in training for term in ("infomax", "infomin", "hessian"))


def test_a_degenerate_solution_is_called_by_its_name(run: Run, tmp_path: Path) -> None:
    import shutil

    copy = Run(shutil.copytree(run.path, tmp_path / "copy"))
    arrays = copy.arrays("codes.npz")
    rng = np.random.default_rng(0)
    noise = {name: rng.normal(size=array.shape) for name, array in arrays.items() if name.startswith("codes_")}
    found = take_scores(Codes.from_arrays(arrays | noise), {"slices": {}})
    copy.write_json("scores.json", {name: value.as_dict() for name, value in found.items()})
    page = report(copy).read_text()
    assert "Degenerate: random (no slice of z tells any task" in page
