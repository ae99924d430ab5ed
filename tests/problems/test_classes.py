"""A run on labelled data: predictions, groups, leakage, what each factor moves, pictures under swap, report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import norm

from tests.toys import Squares
from unbraid import build, fit, load_run, report, represent
from unbraid.codes import Block, Codes
from unbraid.data.arrays import from_arrays, from_pairs
from unbraid.evaluate import score
from unbraid.methods.swap_vae import SwapVAE
from unbraid.problems.scores import take_scores
from unbraid.train.run import Run


class Labelled(Squares):
    """Squares without a background, in groups of light."""

    name = "squares_in_groups"
    groups = ("light",)
    fixed = ("side",)

    def __init__(self) -> None:
        self.dim = False


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    table = Labelled()
    method = build("swap_vae", table, width=4, predictive=3, nuisance=5)
    run = fit(method, table, steps=60, batch=32, out=str(tmp_path_factory.mktemp("runs")), show=False)
    represent(run, method, table, points=768)
    score(run, metrics=["classes"])
    report(run)
    return run


def test_predictions_are_the_classifier_s_on_the_code_p(run: Run) -> None:
    codes, method = run.arrays("codes.npz"), load_run(run.path).method
    assert isinstance(method, SwapVAE)
    assert method.classifier is not None
    with torch.no_grad():
        p = torch.from_numpy(codes["codes_p"])
        expected = method.classifier(p / p.norm(dim=1, keepdim=True)).argmax(-1).numpy()
    np.testing.assert_array_equal(codes["predicted"], expected)
    assert (str(codes["label"]), codes["groups"].tolist()) == ("side", ["light"])


def test_accuracy_and_its_worst_group_are_counted_from_the_file(run: Run) -> None:
    codes, scores = run.arrays("codes.npz"), run.scores()
    side, light = codes["factors"][:, 2], codes["factors"][:, 3]
    right = codes["predicted"] == side
    cells = [right[(side == a) & (light == b)] for a in range(3) for b in range(4)]
    assert scores["group_accuracy"]["value"] == pytest.approx(right.mean())
    assert scores["group_accuracy"]["parts"]["worst"] == pytest.approx(min(cell.mean() for cell in cells))
    least = min(right[light == b].mean() for b in range(4))
    assert scores["group_accuracy"]["parts"]["worst_nuisance"] == pytest.approx(least)


def test_leakage_finds_the_class_in_the_block_that_has_it() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (600, 2))
    blocks = {"n": np.eye(3)[factors[:, 1]] + 0.1 * rng.normal(size=(600, 3)), "p": np.eye(3)[factors[:, 0]]}
    codes = Codes({n: Block(b) for n, b in blocks.items()}, np.arange(600), factors, ("class", "nuisance"), "class")
    found = take_scores(codes, {"classes": {}})
    assert set(found) == {"leakage"}
    table = found["leakage"].parts["accuracy"]
    assert table["p"]["class"] > 0.95
    assert table["n"]["nuisance"] > 0.95
    assert max(table["p"]["nuisance"], table["n"]["class"]) < 0.5
    assert found["leakage"].value > 0.5


def test_leakage_of_draws_leaves_out_what_has_collapsed() -> None:
    """n tells the class by a latent whose mean moves by a thousandth of its standard deviation."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (900, 2))
    p, n = np.eye(3)[factors[:, 0]], np.eye(3)[factors[:, 1]]
    blocks = {"n": np.concatenate([n, 1e-3 * p], 1), "p": p}
    scale = {"n": np.concatenate([np.full((900, 3), 0.1), np.ones((900, 3))], 1), "p": np.full((900, 3), 0.1)}
    parts = {name: Block(code, scale=scale[name]) for name, code in blocks.items()}
    codes = Codes(parts, np.arange(900), factors, ("class", "nuisance"), "class")
    found = take_scores(codes, {"classes": {}})
    of_means, of_draws = (found[name].parts["accuracy"] for name in ("leakage", "leakage_sampled"))
    assert of_means["n"] == {"class": 1, "nuisance": 1} and of_means["p"]["class"] == 1
    assert of_draws["n"]["class"] == pytest.approx(1 / 3, abs=0.1)
    assert min(of_draws["n"]["nuisance"], of_draws["p"]["class"]) > 0.99
    assert set(take_scores(codes, {"leakage_sampled": {}})) == {"leakage_sampled"}
    narrow = {name: Block(code, scale=np.full(code.shape, 1e-6)) for name, code in blocks.items()}
    again = take_scores(Codes(narrow, codes.rows, factors, codes.factor_names, "class"), {"classes": {}})
    assert again["leakage_sampled"].parts["accuracy"]["n"]["class"] < 0.5  # at its own scale it is nothing
    assert again["leakage"] == found["leakage"]
    wide = {name: Block(code, scale=np.ones(code.shape)) for name, code in blocks.items()}
    noisy = take_scores(Codes(wide, codes.rows, factors, codes.factor_names, "class"), {"leakage_sampled": {}})
    t = np.linspace(-8, 9, 2000)  # the right one of three unit normals, which has mean 1 and not 0, is the largest
    best = np.trapezoid(norm.pdf(t - 1) * norm.cdf(t) ** 2, t)
    assert noisy["leakage_sampled"].parts["accuracy"]["p"]["class"] == pytest.approx(best, abs=0.08)


def test_moves_are_changes_of_the_code_when_one_factor_changes(run: Run) -> None:
    codes, method, table = run.arrays("codes.npz"), load_run(run.path).method, Labelled()
    values = np.random.default_rng(7).integers(0, table.sizes, (3000, 4))
    other = values.copy()
    other[:, 3] = (values[:, 3] + np.random.default_rng(8).integers(1, 4, 3000)) % 4
    with torch.no_grad():
        before, after = (method.encode(torch.from_numpy(table.render(v)) / 255)["n"].numpy() for v in (values, other))
    expected = np.abs(after - before).mean(0) / before.std(0)
    assert codes["moves_n"].shape == (4, 5)
    np.testing.assert_allclose(codes["moves_n"][3], expected, rtol=0.25, atol=0.05)


def test_pictures_under_swap_keep_the_dimension_that_changed(run: Run) -> None:
    """From the codes of the pair: p and all of n but the dimension of largest KL come from the other image."""
    pictures, method = run.arrays("pictures.npz"), load_run(run.path).method
    swapped = pictures["swapped"]
    assert swapped.shape == (5, 2, 10, 1, 12, 12)
    x1, x2 = (torch.from_numpy(part).float() / 255 for part in swapped[0])
    with torch.no_grad():
        (m1, v1), (m2, v2) = (method.posterior(x)["n"] for x in (x1, x2))
        kl = 0.5 * ((m1 - m2) ** 2 / v2.exp() + (v1 - v2).exp() - 1 + v2 - v1)
        n = m2.clone()
        for i, j in enumerate(kl.argmax(1)):
            n[i, j] = m1[i, j]
        drawn = method.decode({"p": method.encode(x2)["p"], "n": n})
    assert drawn is not None
    assert np.abs(swapped[2, 0] - 255 * drawn.numpy()).max() <= 1


def test_the_report_shows_the_blocks(run: Run) -> None:
    page = (run.path / "report.html").read_text()
    for part in (
        "Pairs, swapped",
        "[random p, n]",
        "What each factor moves",
        "p by side",
        "n by light",
        "<td>leakage</td>",
        "<td>leakage_sampled</td>",
    ):
        assert part in page, part


def test_without_pairs_to_swap_the_rest_is_drawn(tmp_path: Path) -> None:
    """A table of few rows has no two that differ in one factor; pairs of one's own differ in as many as they do."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 6)), rng.integers(0, 3, 60)
    table = from_arrays(rows, label=labels, factors=rng.integers(0, 30, (60, 2)))
    uai = build("uai", table, net="dense")
    run = fit(uai, table, steps=2, batch=8, out=str(tmp_path), show=False)
    represent(run, uai, table)
    assert not (run.path / "pictures.npz").exists() and len(run.arrays("codes.npz")["codes_p"]) == 60
    x = rng.integers(0, 256, (2, 40, 12, 12), dtype=np.uint8)
    pairs = from_pairs(*x, changed=2, label=labels[:40])
    swap = build("swap_vae", pairs, width=4, predictive=3, nuisance=5)
    run = fit(swap, pairs, steps=2, batch=8, out=str(tmp_path), show=False)
    represent(run, swap, pairs)
    assert run.arrays("pictures.npz")["swapped"].shape == (5, 2, 10, 1, 12, 12)


def test_options_reach_the_scores_that_are_taken_by_default(run: Run) -> None:
    found = score(run, options={"leakage": {"train": 300}, "mig": {"bins": 7}})
    assert found["leakage"].params["train"] == 300 and found["mig"].params["bins"] == 7
    by_metric = score(run, options={"probe_table": {"train": 200}})
    assert by_metric["leakage"].params["train"] == 200 and by_metric["mig"].params["bins"] == 20
