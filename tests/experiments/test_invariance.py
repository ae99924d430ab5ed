"""The verdicts follow the numbers; and a tiny plan goes from data to page, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unbraid.reproduce import invariance, invariance_tables
from unbraid.reproduce.invariance_claims import (
    angle_claim,
    block_claim,
    claims,
    colour_claims,
    scheme_claim,
    shape_claims,
)
from unbraid.reproduce.invariance_scores import by_angle
from unbraid.reproduce.invariance_tables import (
    ANGLES,
    BASELINES,
    COLORED,
    FREE,
    METRICS,
    OF_MEANS,
    SCHEMES,
    SHAPES,
    TURNED,
    WEAK,
    Results,
)

from unbraid import catalogue


def digits(label: str, data: str, seed: int, average: float, worst: float, leak: bool) -> dict[str, Any]:
    jitter = 0.002 * np.random.default_rng((seed, len(label))).normal()
    p = {"digit": 0.95, "background": 0.4, "colour": 0.2, "angle": 0.3}
    n = {"digit": 0.5, "background": 0.99, "colour": 0.9, "angle": 0.8}
    chance = {"digit": 0.1, "background": 0.34, "colour": 0.17, "angle": 0.25}
    blocks = {"p": n, "n": p} if leak else {"p": p, "n": n}
    leakage = {"value": 0.3, "parts": {"accuracy": blocks, "chance": chance}}
    steep = {a: {"average": average - 0.001 * int(a[1:]), "worst": worst - 0.001 * int(a[1:]) + jitter} for a in ANGLES}
    return {
        "label": label, "data": data, "seed": seed, "seconds": 1.0, "path": "", "angles": steep,
        "shifts": dict.fromkeys(("neither", "angle", "ground", "both"), average), "drawn": {"p": 3.0, "n": 9.0},
        "scores": {
            "group_accuracy": {"value": average + jitter, "parts": {"worst": worst + jitter}}, "leakage": leakage,
        },
    }  # fmt: skip


def shapes(label: str, seed: int, value: float) -> dict[str, Any]:
    jitter = 0.002 * np.random.default_rng((seed, len(label))).normal()
    scores = {name: {"value": value + jitter} for name in METRICS}
    return {
        "label": label, "data": "shapes3d", "seed": seed, "seconds": 1.0, "path": "", "angles": {}, "scores": scores
    }  # fmt: skip


def results(*, holds: bool) -> list[dict[str, Any]]:
    worst = dict.fromkeys(BASELINES, 0.6) | {"CE only": 0.65, "CE + contrast, jointly": 0.7, "Swap": 0.9}
    mig = dict.fromkeys(FREE, 0.2) | {
        "Ada-ML-VAE": 0.4, "Ada-GVAE": 0.5, "Swap, no warm-up": 0.4, "Swap, amount only": 0.45, "Swap": 0.7,
    }  # fmt: skip
    if not holds:
        worst, mig = {m: 1.5 - v for m, v in worst.items()}, {m: 1 - v for m, v in mig.items()}
    found = []
    for seed in range(3):
        for data in ("colored_mnist", "rotation_colored_mnist"):
            for m, value in worst.items():
                average = 0.95 if m != "beta-VAE" else 0.9 if holds else 0.99
                found.append(digits(m, data, seed, average, value, leak=not holds))
        found += [shapes(m, seed, value) for m, value in mig.items()]
    return found


def test_claims_are_shown_where_they_hold() -> None:
    verdicts = {claim.id: claim.verdict for claim in claims(Results(results(holds=True)))}
    assert set(verdicts) == {f"002-{i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 11)}
    assert set(verdicts.values()) == {"shown"}, verdicts


def test_claims_are_not_shown_where_the_numbers_are_the_other_way_round() -> None:
    verdicts = {claim.id: claim.verdict for claim in claims(Results(results(holds=False)))}
    assert set(verdicts.values()) == {"not shown"}, verdicts


Change = tuple[str, str, str, float]  # model, data set, where its results have the number, the number in every seed
JOINT = "CE + contrast, jointly"


def changed(found: list[dict[str, Any]], *changes: Change) -> list[dict[str, Any]]:
    for label, data, path, value in changes:
        *steps, last = path.split("/")
        for result in found:
            if (result["label"], result["data"]) == (label, data):
                place = result
                for step in steps:
                    place = place[step]
                assert last in place
                place[last] = value
    return found


def worst(label: str, value: float) -> Change:
    return label, COLORED, "scores/group_accuracy/parts/worst", value


def average(label: str, value: float) -> Change:
    return label, COLORED, "scores/group_accuracy/value", value


def at(label: str, angle: str, which: str, value: float) -> Change:
    return label, TURNED, f"angles/{angle}/{which}", value


def metric(label: str, name: str, value: float) -> Change:
    return label, SHAPES, f"scores/{name}/value", value


def probe(data: str, block: str, factor: str, value: float) -> Change:
    return "Swap", data, f"scores/leakage/parts/accuracy/{block}/{factor}", value


def turns() -> Iterator[tuple[str, list[Change], Change]]:
    """A claim, numbers with which it still holds, and one number that alone contradicts one of its conditions."""
    high = [average(m, 0.99) for m in BASELINES]  # average less worst: .39, and .05 of the swap model
    for m in BASELINES:
        yield "002-1", high, worst(m, 0.92)  # .99 - .92 is more than .05
        yield "002-1", high, average(m, 0.63)
    yield "002-2", [average("Baseline", 0.8), average("Swap", 0.7)], worst("Baseline", 0.95)
    yield "002-2", [], average("Swap", 1.3)
    plain = average("Baseline", 0.95)
    yield "002-3", [plain, average("beta-VAE", 0.954)], average("beta-VAE", 0.956)
    for a in ANGLES:
        yield "002-4", [], at("Baseline", a, "worst", 0.9)
    yield (
        "002-4",
        [at("Swap", "-65", "average", 0.9), at("Swap", "-75", "average", 0.89)],
        (at("Swap", "-75", "average", 0.91)),
    )
    yield (
        "002-4",
        [at("Swap", "+65", "average", 0.9), at("Swap", "+75", "average", 0.89)],
        (at("Swap", "+75", "average", 0.91)),
    )
    yield "002-5", [worst("Swap", 0.9), worst(JOINT, 0.89)], worst(JOINT, 0.91)
    yield "002-5", [worst(JOINT, 0.7), worst("CE only", 0.709)], worst("CE only", 0.711)
    turned = [at("Swap", "+65", "worst", 0.8), at(JOINT, "+65", "worst", 0.79)]
    yield "002-5", turned, at(JOINT, "+65", "worst", 0.81)
    yield "002-5", [*turned, at("CE only", "+65", "worst", 0.799)], at("CE only", "+65", "worst", 0.801)
    for name in ("mig", "dci"):
        ups = [
            metric("Swap, no warm-up", name, 0.4),
            metric("Swap, amount only", name, 0.4),
            metric("Swap", name, 0.41),
        ]
        yield "002-6", ups, metric("Swap, amount only", name, 0.42)
        yield "002-6", [*ups, metric("Swap, no warm-up", name, 0.409)], metric("Swap, no warm-up", name, 0.411)
    for weak in WEAK:
        least = [metric(m, "mig", 0.3 if m == weak else 0.5) for m in WEAK]
        for free in FREE:
            yield "002-7", [*least, metric(free, "mig", 0.29)], metric(free, "mig", 0.31)
    order = [metric("Swap", "mig", 0.5), metric("Ada-GVAE", "mig", 0.4), metric("Ada-ML-VAE", "mig", 0.3)]
    yield "002-8", order, metric("Ada-ML-VAE", "mig", 0.41)
    yield "002-8", order, metric("Ada-GVAE", "mig", 0.51)
    by_chance = {"angle": 0.25, "background": 0.34, "colour": 0.17}
    for data, factor in ((TURNED, "angle"), *product((TURNED, COLORED), ("background", "colour"))):
        chance = by_chance[factor]
        yield "002-11", [probe(data, "p", factor, chance + 0.09)], probe(data, "p", factor, chance + 0.11)
        yield "002-11", [probe(data, "n", factor, chance + 0.26)], probe(data, "n", factor, chance + 0.24)
    for data in (TURNED, COLORED):
        yield "002-11", [probe(data, "n", "digit", 0.94)], probe(data, "n", "digit", 0.96)


def verdict(claim: str, *changes: Change) -> str:
    r = Results(changed(results(holds=True), *changes))
    part = {"002-4": angle_claim, "002-5": scheme_claim, "002-11": block_claim}.get(claim)
    found = [part(r)] if part else colour_claims(r) if claim < "002-4" else shape_claims(r)
    return next(c.verdict for c in found if c.id == claim)


def test_every_condition_of_a_claim_can_turn_it() -> None:
    for claim, numbers, last in turns():
        told = verdict(claim, *numbers), verdict(claim, *numbers, last)
        assert told == ("shown", "not shown"), (claim, last)


def test_one_seed_decides_nothing() -> None:
    found = [result for result in results(holds=True) if result["seed"] == 0]
    assert {claim.verdict for claim in claims(Results(found))} == {"unclear"}


def test_accuracy_at_an_angle_is_counted_there_alone() -> None:
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, 2, 900), rng.choice([0, 7], 900), rng.integers(3, 5, 900)], 1)
    predicted = np.where((factors[:, 1] == 7) & (factors[:, 2] == 4) & (factors[:, 0] == 1), 0, factors[:, 0])
    names = np.array(["digit", "angle", "background"])
    found = by_angle({"factors": factors, "factor_names": names, "predicted": predicted})
    assert found["-75"] == {"average": 1.0, "worst": 1.0}
    assert found["+65"]["worst"] == 0
    at = factors[:, 1] == 7
    assert found["+65"]["average"] == pytest.approx((predicted == factors[:, 0])[at].mean())


def test_the_plan_has_every_model_of_every_table_three_times() -> None:
    plan = list(invariance.settings())
    for setting in plan:
        catalogue.check(catalogue.find("methods", setting.method), setting.arguments)
    count = {(s.label, s.data): 0 for s in plan}
    for setting in plan:
        count[setting.label, setting.data] += 1
    assert set(count.values()) == {3}
    for data in ("colored_mnist", "rotation_colored_mnist"):
        assert {m for m, d in count if d == data} == {
            *BASELINES, *(label for label, _, _ in SCHEMES.values()), OF_MEANS
        }  # fmt: skip
    assert {m for m, d in count if d == "shapes3d"} == set(invariance_tables.PAPER_3)


@pytest.mark.slow
def test_a_tiny_plan_goes_from_data_to_page_and_is_not_repeated(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invariance, "SEEDS", (0,))
    monkeypatch.setattr(invariance, "SHAPE_SEEDS", (0,))
    monkeypatch.setattr(invariance, "STEPS", 3)
    monkeypatch.setattr(invariance, "SHAPE_STEPS", 3)
    monkeypatch.setattr(invariance, "DIGIT_SETS", {"colored_mnist": 300, "rotation_colored_mnist": 300})
    monkeypatch.setattr(invariance, "SHAPE_POINTS", 300)
    invariance.main(tmp_path / "results", tmp_path / "runs", workers=1)
    told = json.loads((tmp_path / "results/invariance.json").read_text())
    assert {claim["verdict"] for claim in told["claims"]} == {"unclear"}  # one seed
    assert {"command", "commit", "seconds", "tables"} <= told.keys()
    page = (tmp_path / "results/invariance.md").read_text()
    for caption, path in told["pictures"]:
        assert (tmp_path / "results" / path).stat().st_size > 1000
        assert caption in page
    trained = {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/weights.safetensors")}
    assert len(trained) == 32
    invariance.main(tmp_path / "results", tmp_path / "runs", workers=1)
    assert trained == {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/weights.safetensors")}
