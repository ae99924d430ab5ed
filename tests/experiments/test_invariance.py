"""The verdicts follow the numbers; and a tiny plan goes from data to page, once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.invariance.claims import claims
from experiments.invariance.measures import by_angle
from experiments.invariance.study import study
from experiments.invariance.tables import (
    ANGLES,
    BASELINES,
    COLORED,
    FREE,
    METRICS,
    OF_MEANS,
    PAPER_3,
    SCHEMES,
    SHAPES,
    TABLES,
    TURNED,
    WEAK,
)

from unbraid.codes import Codes
from unbraid.study.claims import Claim, noted
from unbraid.study.plan import Job
from unbraid.study.reproduce import Result, Results, read_notes, reproduce
from unbraid.study.run import Resources

FOLDER = Path(__file__).parents[2] / "experiments" / "invariance"
IDS = [f"002-{i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 11)]
JOINT = "CE + contrast, jointly"
Numbers = dict[str, Any]  # of one run, scores and measures


@cache
def plan() -> list[Job]:
    return study.jobs(FOLDER)


def of_digits(job: Job, holds: bool, jitter: float) -> Numbers:
    worst = {"CE only": 0.65, JOINT: 0.7, "Swap": 0.9}.get(job.label, 0.6)
    worst = worst if holds else 1.5 - worst
    average = 0.95 if job.label != "beta-VAE" else 0.9 if holds else 0.99
    p = {"digit": 0.95, "background": 0.4, "colour": 0.2, "angle": 0.3}
    n = {"digit": 0.5, "background": 0.99, "colour": 0.9, "angle": 0.8}
    chance = {"digit": 0.1, "background": 0.34, "colour": 0.17, "angle": 0.25}
    blocks = {"p": p, "n": n} if holds else {"p": n, "n": p}
    steep = {a: {"average": average - 0.001 * int(a[1:]), "worst": worst - 0.001 * int(a[1:]) + jitter} for a in ANGLES}
    return {
        "group_accuracy": {"value": average + jitter, "parts": {"worst": worst + jitter}},
        "leakage": {"value": 0.3, "parts": {"accuracy": blocks, "chance": chance}},
        "by_angle": steep,
        "shifts": dict.fromkeys(("neither", "angle", "ground", "both"), average),
        "drawn": {"p": 3.0, "n": 9.0},
    }


def of_shapes(job: Job, holds: bool, jitter: float) -> Numbers:
    values = {"Ada-ML-VAE": 0.4, "Ada-GVAE": 0.5, "Swap, no warm-up": 0.4, "Swap, amount only": 0.45, "Swap": 0.7}
    value = values.get(job.label, 0.2)
    return {name: {"value": (value if holds else 1 - value) + jitter} for name in METRICS}


def results(*changes: Change, holds: bool = True, noise: float = 0.002) -> Results:
    """Runs by which all claims hold, or none, but for some numbers that are the same in every seed."""
    found = []
    for job in plan():
        jitter = noise * np.random.default_rng((job.plan.seed, len(job.label))).normal()
        numbers = (of_shapes if job.plan.data == SHAPES else of_digits)(job, holds, jitter)
        for label, data, path, value in changes:
            if (label, data) == (job.label, job.plan.data):
                put(numbers, path, value)
        measures: dict[str, Any] = {
            name: numbers.pop(name) for name in ("by_angle", "shifts", "drawn") if name in numbers
        }
        own = (job.label, job.plan.data, job.plan.seed, job.plan.steps, job.arguments)
        found.append(Result(*own, scores=numbers, measures=measures, seconds=1.0, path=Path()))
    return Results(found)


def put(numbers: Numbers, path: str, value: float) -> None:
    *steps, last = path.split("/")
    for step in steps:
        numbers = numbers[step]
    assert last in numbers
    numbers[last] = value


def verdicts(found: Results) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims(found)}


def test_claims_are_shown_where_they_hold() -> None:
    assert {id: claim.verdict for id, claim in verdicts(results()).items()} == dict.fromkeys(IDS, "shown")


def test_claims_are_not_shown_where_the_numbers_are_the_other_way_round() -> None:
    found = verdicts(results(holds=False))
    assert {id: claim.verdict for id, claim in found.items()} == dict.fromkeys(IDS, "not shown")


Change = tuple[str, str, str, float]  # model, data set, where its results have the number, the number in every seed


def worst(label: str, value: float) -> Change:
    return label, COLORED, "group_accuracy/parts/worst", value


def average(label: str, value: float) -> Change:
    return label, COLORED, "group_accuracy/value", value


def at(label: str, angle: str, which: str, value: float) -> Change:
    return label, TURNED, f"by_angle/{angle}/{which}", value


def metric(label: str, name: str, value: float) -> Change:
    return label, SHAPES, f"{name}/value", value


def probe(data: str, block: str, factor: str, value: float) -> Change:
    return "Swap", data, f"leakage/parts/accuracy/{block}/{factor}", value


def edges() -> Iterator[tuple[str, list[Change], Change, int]]:
    """Of every condition of a claim: other numbers, and the edge of one that decides; the claim holds below it (1) or
    above it (-1)."""
    yield from colour_edges()
    yield from angle_and_scheme_edges()
    yield from shape_edges()
    yield from block_edges()


def colour_edges() -> Iterator[tuple[str, list[Change], Change, int]]:
    high = [average(m, 0.99) for m in BASELINES]  # average less worst: .39, and .05 of the swap model
    for m in BASELINES:
        yield "002-1", high, worst(m, 0.9), 1
        yield "002-1", high, average(m, 0.65), -1
    yield "002-2", [average("Baseline", 0.8), average("Swap", 0.7)], worst("Swap", 0.6), -1
    yield "002-2", [average("Baseline", 0.95)], average("Swap", 1.25), 1
    yield "002-3", [average("Baseline", 0.95)], average("beta-VAE", 0.955), 1


def angle_and_scheme_edges() -> Iterator[tuple[str, list[Change], Change, int]]:
    for a in ANGLES:
        yield "002-4", [at("Swap", a, "worst", 0.8)], at("Baseline", a, "worst", 0.8), 1
    for sign in "-+":
        steep = [at("Swap", f"{sign}65", "average", 0.9)]
        yield "002-4", steep, at("Swap", f"{sign}75", "average", 0.9), 1
    yield "002-5", [worst("Swap", 0.9)], worst(JOINT, 0.9), 1
    yield "002-5", [worst(JOINT, 0.7)], worst("CE only", 0.71), 1
    turned = [at("Swap", "+65", "worst", 0.8)]
    yield "002-5", turned, at(JOINT, "+65", "worst", 0.8), 1
    yield "002-5", [*turned, at(JOINT, "+65", "worst", 0.79)], at("CE only", "+65", "worst", 0.80), 1


def shape_edges() -> Iterator[tuple[str, list[Change], Change, int]]:
    for name in ("mig", "dci"):
        ups = [metric("Swap, no warm-up", name, 0.4), metric("Swap", name, 0.5)]
        yield "002-6", ups, metric("Swap, amount only", name, 0.5), 1
        yield "002-6", ups, metric("Swap, amount only", name, 0.39), -1
    for weak in WEAK:
        least = [metric(m, "mig", 0.3 if m == weak else 0.5) for m in WEAK]
        for free in FREE:
            yield "002-7", least, metric(free, "mig", 0.3), 1
    order = [metric("Swap", "mig", 0.5), metric("Ada-GVAE", "mig", 0.4), metric("Ada-ML-VAE", "mig", 0.3)]
    yield "002-8", order, metric("Ada-ML-VAE", "mig", 0.4), 1
    yield "002-8", order, metric("Ada-GVAE", "mig", 0.5), 1


def block_edges() -> Iterator[tuple[str, list[Change], Change, int]]:
    by_chance = {"angle": 0.25, "background": 0.34, "colour": 0.17}
    for data, factor in ((TURNED, "angle"), *product((TURNED, COLORED), ("background", "colour"))):
        yield "002-11", [], probe(data, "p", factor, by_chance[factor] + 0.10), 1
        yield "002-11", [], probe(data, "n", factor, by_chance[factor] + 0.25), -1
    for data in (TURNED, COLORED):
        yield "002-11", [], probe(data, "n", "digit", 0.95), 1


def test_every_condition_turns_its_claim_at_its_edge() -> None:
    for id, others, (label, data, path, value), side in edges():
        inside, outside = (
            verdicts(results(*others, (label, data, path, value + sign * side * 1e-3), noise=0.0))[id]
            for sign in (-1, 1)
        )
        assert (inside.verdict, outside.verdict) == ("shown", "not shown"), (id, label, data, path)
        assert outside.high is not None and outside.high < 0, (id, label, data, path)


def test_one_seed_and_scores_that_are_missing_decide_nothing() -> None:
    one = [r for r in results() if r.seed == (0 if r.data == SHAPES else 1)]
    for found in (Results(one), Results([replace(r, scores={}, measures={}) for r in one])):
        assert {(claim.verdict, claim.seeds) for claim in claims(found)} == {("unclear", 1)}
        assert all(len(row) == len(t.columns) for t in (table(found) for table in TABLES) for row in t.rows)


def test_a_note_goes_with_a_claim_that_is_not_shown() -> None:
    notes = read_notes(FOLDER / "notes.md")
    assert set(notes) - {""} <= set(IDS) and notes[""].startswith("Real MNIST")
    assert {claim.note for claim in noted(claims(results()), notes)} == {""}
    failed = noted(claims(results(holds=False)), notes)
    assert {claim.id: claim.note for claim in failed if claim.note} == {id: n for id, n in notes.items() if id}


def test_accuracy_at_an_angle_is_counted_there_alone() -> None:
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, 2, 900), rng.choice([0, 7], 900), rng.integers(3, 5, 900)], 1)
    predicted = np.where((factors[:, 1] == 7) & (factors[:, 2] == 4) & (factors[:, 0] == 1), 0, factors[:, 0])
    names = ("digit", "angle", "background")
    codes = Codes({}, np.arange(900), factors, names, label="digit", predicted=predicted)
    unused: Any = None
    found = by_angle(unused, unused, unused, codes)
    assert found["-75"] == {"average": 1.0, "worst": 1.0}
    assert found["+65"]["worst"] == 0
    at = factors[:, 1] == 7
    assert found["+65"]["average"] == pytest.approx((predicted == factors[:, 0])[at].mean())


def test_the_plan_has_every_model_of_every_table_three_times() -> None:
    count = Counter((job.label, job.plan.data) for job in plan())
    assert set(count.values()) == {3}
    for data in (COLORED, TURNED):
        labels = {*BASELINES, *(label for label, _, _ in SCHEMES.values()), OF_MEANS}
        assert {m for m, d in count if d == data} == labels
    assert {m for m, d in count if d == SHAPES} == set(PAPER_3)


@pytest.mark.slow
def test_a_tiny_plan_goes_from_data_to_page_and_is_not_repeated(
    tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the smallest size, with fewer steps."""
    runs = [{**run, "steps": 3, "evaluation": replace(run["evaluation"], points=300)} for run in study.runs]
    tiny = replace(study, runs=[run for run in runs if run["seed"] == (0 if run["data"] == SHAPES else 1)])
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    monkeypatch.setattr("invariance.study.quick", tiny, raising=False)
    out = tmp_path / "results"

    def write() -> Any:
        page = reproduce(FOLDER, out=out, runs=tmp_path / "runs", resources=Resources(workers=1), quick=True)
        assert page == out / "invariance.md"
        return json.loads((out / "invariance.json").read_text())

    told = write()
    assert [claim["id"] for claim in told["claims"]] == IDS
    assert {claim["verdict"] for claim in told["claims"]} == {"unclear"}  # one seed
    assert {"command", "commit", "seconds", "tables"} <= told.keys()
    page = (out / "invariance.md").read_text()
    for caption, path in told["pictures"]:
        assert (out / path).stat().st_size > 1000
        assert caption in page
    assert all(row[1][:1] in list("0123456789") for table in told["tables"][:4] for row in table["rows"])  # no gaps
    trained = {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/weights.safetensors")}
    assert len(trained) == 32
    write()
    assert trained == {p: p.stat().st_mtime_ns for p in tmp_path.glob("runs/*/weights.safetensors")}
