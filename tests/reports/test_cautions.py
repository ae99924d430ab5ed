"""A page says what is bad about a run, and nothing where nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reports.test_unusual import leave
from unbraid.reports.cautions import cautions, explained, fault, still_falling
from unbraid.reports.page import read_page
from unbraid.train.run import Run


def score(value: float | None, null: float | None = 0.1, low: float | None = None, **parts: float) -> dict[str, Any]:
    return {"value": value, "null": null, "low": low, "high": None, "parts": parts}


@pytest.mark.parametrize(
    ("name", "found", "told"),
    [
        ("z_from_s", score(0.99, 0.0), "z_from_s 0.99 where 0 is wanted"),
        ("z_from_s", score(0.1, 0.0), ""),
        ("set_from_z", score(0.9, 0.5), "set_from_z 0.90 where chance (0.50) is wanted"),
        ("set_from_z", score(0.6, 0.5), ""),
        ("salience", score(4.0, None, target=5.0), "salience 4.00 where a low value is wanted (target 5.00)"),
        ("salience", score(1.0, None, target=5.0), ""),
        ("mig", score(0.12, 0.1, 0.09), "mig 0.12 is no better than chance (0.10)"),
        ("mig", score(0.3, 0.1, 0.2), ""),
        ("reencoded_mig:fine", score(0.1, 0.1, 0.05), "reencoded_mig:fine 0.10 is no better than chance (0.10)"),
        ("gaussian_total_correlation", score(7.0, 0.0, 6.0), ""),
        ("mig", score(None), ""),
    ],
)
def test_each_score_knows_its_direction_and_says_when_it_is_bad(name: str, found: dict[str, Any], told: str) -> None:
    assert fault(name, found) == told


def history(loss: NDArray[np.float64]) -> list[dict[str, float]]:
    return [{"step": float(i), "loss": float(value)} for i, value in enumerate(loss, 1)]


def test_a_loss_that_still_falls_is_told_from_one_that_has_settled() -> None:
    steps, noise = np.arange(60), np.random.default_rng(0).normal(size=60)
    assert still_falling(history(100.0 - steps + 0.5 * noise))
    assert not still_falling(history(100 * np.exp(-steps / 6) + 0.5 * noise))
    assert not still_falling(history(20.0 + 3 * noise))
    assert not still_falling(history(100.0 + steps + noise))


def test_the_share_of_differences_that_reconstructions_have() -> None:
    x = np.random.default_rng(0).integers(0, 256, (8, 1, 6, 6))
    assert explained(x, x) == 1
    mean = np.repeat(x.mean(0, keepdims=True), 8, 0)
    assert explained(x, mean) == pytest.approx(0)
    assert explained(x, (x + mean) / 2) == pytest.approx(0.75)
    assert explained(x[:1], x[:1]) is None


def test_what_is_wrong_with_a_run(tmp_path: Path) -> None:
    run = leave(tmp_path, factors=("size", "hue"))
    scores = run.scores()
    scores["mig"]["parts"]["mutual_information"] = [[0.9, 0.01]] * 5
    run.write_json("scores.json", scores)
    told = [caution.text for caution in cautions(run, read_page(run))]
    assert any(text.startswith("Undertrained") for text in told)
    assert "Lost: no latent of the code knows hue" in told
    assert "1 of 5 latents of z carry nothing" in told
    assert any("Much is lost in reconstructions" in text for text in told)
    (run.path / "done").unlink()
    told = [caution.text for caution in cautions(Run(run.path), read_page(run))]
    assert "The training has not reached its 1,000 steps: it is at step 29" in told


@pytest.mark.parametrize(
    ("names", "likelihood", "told"), [("ab", "bernoulli", True), ("ab", "gaussian", False), ("", "bernoulli", False)]
)
def test_features_that_were_taken_for_pixels(tmp_path: Path, names: str, likelihood: str, told: bool) -> None:
    run = leave(tmp_path)
    run.plan.arguments["likelihood"] = likelihood
    run.write_arrays(
        "codes.npz", **run.arrays("codes.npz"), **({"feature_names": np.array(list(names))} if names else {})
    )
    found = [caution.text for caution in cautions(run, read_page(run))]
    assert any("--likelihood gaussian is made for numbers" in text for text in found) == told


def test_a_good_run_has_no_cautions(tmp_path: Path) -> None:
    run = leave(tmp_path, latents=2)
    arrays, pictures = run.arrays("codes.npz"), run.arrays("pictures.npz")
    run.write_arrays("codes.npz", **{**arrays, "kl_z": np.ones(2)})
    run.write_arrays("pictures.npz", **{**pictures, "reconstructions": pictures["originals"]})
    (run.path / "history.csv").write_text("step,loss\n" + "".join(f"{s},{5 + s % 2}\n" for s in range(1, 30)))
    scores = run.scores()
    scores["mig"]["parts"]["mutual_information"] = [[0.9, 0.0], [0.0, 0.9]]
    run.write_json("scores.json", scores)
    assert cautions(run, read_page(run)) == []
