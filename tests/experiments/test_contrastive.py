"""The verdicts follow the numbers, and a tiny plan goes all the way to the page and is not repeated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unbraid.reproduce import contrastive, contrastive_claims
from unbraid.reproduce.contrastive_claims import claims
from unbraid.reproduce.contrastive_tables import Results
from unbraid.reproduce.results import Claim


def result(setting: contrastive.Setting, **changed: float) -> dict[str, Any]:
    """A run as the paper would have it, with a little noise over seeds."""
    noise = 0.002 * np.random.default_rng(setting.seed).standard_normal()
    eight, linear = "Eq. 8" in setting.label, setting.data == "linear"
    leaks = setting.label == "sRbVAE"
    best = {"Eq. 8": 0.92, "Eq. 7": 0.91, "cVAE": 0.89, "sRbVAE": 0.65}.get(setting.label, 0.7)
    numbers = {
        "s": best if linear else 0.3,
        "z": best if leaks else 0.12,
        "w2": 4.6 if eight else 8.9,
        "excess": 0.1 if eight else 0.3,
        "salience": 0.02 if "Eq." in setting.label else 2.0,
        "grass": 0.3 if leaks else 0.8,
        "probe": 0.8 if eight else 0.7,
    }
    at = {name: value * (1 + noise) for name, value in (numbers | changed).items()}
    parts = {"silhouette_values": [0.4], "per_class": [at["probe"]] * 10}
    scores = {f"clustering_{b}": {"value": at[b], "parts": parts} for b in ("s", "z")}
    scores |= {f"class_from_{b}": {"value": at["probe"], "parts": parts} for b in ("s", "z")}
    scores["w2_z"] = {"value": at["w2"], "parts": {"excess": at["excess"], "floor": 4.0, "trace": 13.0}}
    scores |= {name: {"value": at.get(name, 0.5), "parts": {}} for name in ("set_from_z", "z_from_s", "salience")}
    truth = {"grass_from_[z,0]": at["grass"]}
    facts = {"label": setting.label, "data": setting.data, "seed": setting.seed, "truth": truth, "seconds": 1.0}
    return {**facts, "scores": scores}


def verdicts(of: str = "", on: str = "", **changed: float) -> dict[str, Claim]:
    """The claims where the runs of one method, on one data set if that is given, came out otherwise."""
    found = [result(s, **(changed if s.label == of and on in (s.data, "") else {})) for s in contrastive.settings()]
    return {claim.id: claim for claim in claims(Results(found))}


def test_all_claims_are_shown_by_the_numbers_of_the_paper() -> None:
    ids = [f"003-{i}" for i in range(1, 11)] + ["003-3 (4 common and 12 salient latents)"]
    assert {id: claim.verdict for id, claim in verdicts().items()} == dict.fromkeys(ids, "shown")


@pytest.mark.parametrize(
    ("id", "of", "on", "changed"),
    [
        ("003-1", "Eq. 8", "nonlinear", {"w2": 8.0}),
        ("003-1", "Eq. 8", "linear", {"excess": 0.4}),  # it shrank, no more
        ("003-2", "Eq. 7", "linear", {"w2": 5.0}),
        ("003-3", "Eq. 7", "linear", {"z": 0.7}),
        ("003-3 (4 common and 12 salient latents)", "Eq. 8, 4/12", "linear", {"z": 0.5}),
        ("003-4", "cVAE", "linear", {"s": 0.97}),
        ("003-4", "sRbVAE", "linear", {"s": 0.93}),
        ("003-5", "sRbVAE", "linear", {"z": 0.3}),
        ("003-6", "sRbVAE", "nonlinear", {"s": 0.6}),
        ("003-7", "Eq. 7", "linear", {"salience": 1.0}),
        ("003-8", "Eq. 7", "linear", {"grass": 0.1}),
        ("003-9", "Eq. 8, lambda_z 10", "linear", {"s": 0.99}),
        ("003-10", "sRbVAE", "photographs", {"probe": 0.95}),
    ],
)
def test_a_claim_is_not_shown_where_a_number_is_against_it(
    id: str, of: str, on: str, changed: dict[str, float]
) -> None:
    found = verdicts(of, on, **changed)
    assert found[id].verdict == "not shown", found[id]


def test_a_note_goes_with_a_claim_that_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(contrastive_claims.NOTES, "003-7", "Looked into.")
    assert verdicts()["003-7"].note == ""
    assert verdicts("Eq. 7", "linear", salience=1.0)["003-7"].note == "Looked into."
    assert set(contrastive_claims.NOTES) <= set(verdicts())


def test_what_is_measured_against_the_truth() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 3))
    assert contrastive.explained(values @ rng.standard_normal((3, 5)), values) == pytest.approx(1)
    assert abs(contrastive.explained(rng.standard_normal((400, 5)), values)) < 0.1
    image = rng.random((6, 50))
    assert contrastive.correlation(3 * image + 2, image) == pytest.approx(1)
    assert contrastive.correlation(-image, image) == pytest.approx(-1)


@pytest.mark.slow
def test_a_tiny_plan_is_written_and_not_repeated(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contrastive, "SEEDS", (0, 1))
    for name, value in (("STEPS", 3), ("BATCH", 16), ("POINTS", 150), ("TRUTH_ROWS", 60)):
        monkeypatch.setattr(contrastive, name, value)
    small = {name: (data, {**given, "per_class": 40}) for name, (data, given) in contrastive.DATA.items()}
    monkeypatch.setattr(contrastive, "DATA", small)
    contrastive.main(tmp_path / "out", tmp_path / "runs", workers=1)
    weights = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("weights.safetensors")}
    assert len(weights) == len(list(contrastive.settings()))
    record = json.loads((tmp_path / "out/contrastive.json").read_text())
    assert {claim["id"].split()[0] for claim in record["claims"]} == {f"003-{i}" for i in range(1, 11)}
    assert [claim["seeds"] for claim in record["claims"]] == [4] + [2] * 10
    page = (tmp_path / "out/contrastive.md").read_text()
    assert all((tmp_path / "out" / path).exists() for _, path in record["pictures"])
    assert "L-MNIST | Eq. 8" in page
    contrastive.main(tmp_path / "out", tmp_path / "runs", workers=1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("weights.safetensors")} == weights
    again = json.loads((tmp_path / "out/contrastive.json").read_text())
    assert again["claims"] == record["claims"]
