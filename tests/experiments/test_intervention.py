from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from unbraid.reproduce import intervention, intervention_claims
from unbraid.reproduce.intervention import CORRELATED, Setting, looks, settings
from unbraid.reproduce.intervention_claims import best, claims, mixed_share
from unbraid.reproduce.intervention_tables import PAPER, Results, bearing, rank_correlation, scores, weights

from unbraid import api, catalogue


def result(label: str, data: str, correlated: bool, seed: int, **values: float) -> dict[str, Any]:
    mixed = values.pop("mixed", 0.1)
    importance = [[1 - mixed, mixed, 0.0], [mixed, 1 - mixed, 0.0], [0.0, 0.0, 1.0]]
    found = {name: {"value": number, "parts": {}, "params": {}} for name, number in values.items()}
    if "sap" in found:
        found["sap"]["parts"] = {"best_latent": [0, 1], "per_factor": [0.4, 0.5]}
    parts = {"importance": importance, "informativeness_per_factor": [0.8, 0.9, 0.7]}
    found["dci"] |= {"parts": parts, "params": {"factors": ["floor_hue", "wall_hue", "shape"]}}
    return {"label": label, "data": data, "correlated": correlated, "seed": seed, "seconds": 1.0, "scores": found}


def paper_world() -> list[dict[str, Any]]:
    """Results like those of the paper: FactorVAE loses with correlated factors, and translation follows DCI."""
    found = []
    for seed in range(3):
        for data in ("dsprites", "shapes3d", "cmnist"):
            for correlated in (False, True):
                for place, label in enumerate(("intervention", "FactorVAE 10", "FactorVAE 40", "beta-TCVAE")):
                    lost = correlated * (0.4 if data == "cmnist" else 0.15) * (place > 0)
                    value = 0.7 - lost + 0.01 * seed + 0.01 * place
                    mixed = 0.4 if correlated and place else 0.05 + 0.01 * seed
                    numbers = {"dci": value, "sap": value, "irs": value, "translation": 1 - value}
                    found.append(result(label, data, correlated, seed, mixed=mixed, **numbers))
    return found


def test_results_like_the_papers_show_every_claim_and_their_opposite_none() -> None:
    told = {claim.id: claim for claim in claims(Results(paper_world()))}
    assert list(told) == [f"004-{i}" for i in range(1, 8)]
    assert {claim.verdict for claim in told.values()} == {"shown"}
    turned = [{**r, "correlated": not r["correlated"]} for r in paper_world()]
    for run in turned:
        run["scores"]["translation"]["value"] *= -1
    assert {c.id: c.verdict for c in claims(Results(turned))} == {
        "004-1": "not shown",
        "004-2": "not shown",
        "004-3": "shown",  # nothing is asked of the rank but to be near
        "004-4": "not shown",
        "004-5": "not shown",
        "004-6": "unclear",  # both are near
        "004-7": "not shown",
    }


def test_digits_that_share_a_feature_or_score_near_zero_show_nothing() -> None:
    for spoil in ("collapse", "noise", "one factor"):
        world = paper_world()
        for run in world:
            if run["data"] == "cmnist" and run["label"] == "intervention":
                if spoil == "collapse":
                    run["scores"]["sap"]["parts"]["best_latent"] = [0, 0]
                elif spoil == "one factor":
                    run["scores"]["sap"]["parts"]["per_factor"] = [0.7, 0.01]
                else:
                    run["scores"]["sap"]["value"] *= 0.1
        assert {c.id: c.verdict for c in claims(Results(world))}["004-4"] == "not shown"


def test_a_model_that_learned_nothing_loses_nothing_and_shows_nothing() -> None:
    world = paper_world()
    for run in world:
        if run["label"] == "intervention":
            for metric in ("dci", "sap", "irs"):
                run["scores"][metric]["value"] = 0.02 + 0.001 * run["seed"]
            run["scores"]["dci"]["parts"]["informativeness_per_factor"] = [0.8, 0.05, 0.7]
    told = {claim.id: claim.verdict for claim in claims(Results(world))}
    assert {told[id] for id in ("004-1", "004-3", "004-4", "004-6", "004-7")} == {"not shown"}


def test_the_papers_own_table_shows_that_it_is_best_in_almost_all_cases() -> None:
    found = []
    for (data, label), values in PAPER.items():
        for seed in range(3):
            for correlated, three in ((False, values[:3]), (True, values[3:])):
                numbers = dict(zip(("dci", "sap", "irs"), (v + 0.001 * seed for v in three), strict=True))
                found.append(result(label, data, correlated, seed, translation=0.5, **numbers))
    assert best(Results(found)).verdict == "shown"


def test_a_claim_that_differs_from_seed_to_seed_is_unclear() -> None:
    noisy = paper_world()
    for run in noisy:
        if run["label"] == "intervention" and run["correlated"]:
            run["scores"]["dci"]["value"] = 0.2 + 0.4 * run["seed"]
    assert claims(Results(noisy))[0].verdict == "unclear"


def test_rank_correlation_is_of_less_difficulty_with_higher_scores() -> None:
    runs = [result("FactorVAE 10", "dsprites", False, i, dci=0.1 * i, translation=(10 - i) ** 3) for i in range(8)]
    rho, low, high, n = rank_correlation(runs, "dci")
    assert rho == pytest.approx(1)
    assert (low, high, n) == pytest.approx((1, 1, 8))
    runs[0]["scores"]["translation"]["value"] = None  # a collapsed model has none
    assert rank_correlation(runs, "dci")[0] == pytest.approx(1)
    assert rank_correlation(runs, "dci")[3] == 7
    assert np.isnan(rank_correlation(runs[:3], "dci")[0])


def test_the_mixed_share_is_a_half_when_one_latent_serves_both_factors() -> None:
    run = result("x", "shapes3d", True, 0, dci=0.5, mixed=0.25)
    assert mixed_share(run) == pytest.approx(0.25)
    run["scores"]["dci"]["parts"]["importance"] = [[0.9, 0.7, 0.1], [0.1, 0.3, 0.9]]
    assert mixed_share(run) == pytest.approx(0.5)


def test_the_table_has_the_papers_numbers_beside_ours() -> None:
    table = scores(Results(paper_world()), "dsprites")
    ours = next(row for row in table.rows if row[0] == "intervention")
    assert ours[1].startswith("0.71 (0.70 to 0.72)")
    assert ours[-1] == "0.76 / 0.55 / 0.62 / 0.74 / 0.51 / 0.59"


def test_every_setting_is_a_run_that_can_be_built() -> None:
    plan = list(settings())
    assert len(plan) == 3 * (2 * 2 * 5 + 2 * 3)
    plan += chain(*looks().values())
    assert len({json.dumps(vars(s), sort_keys=True) for s in plan}) == len(plan)
    for setting in plan:
        catalogue.check(catalogue.find("methods", setting.method), setting.arguments)
        catalogue.check(catalogue.find("data", setting.data), setting.data_arguments)


def test_the_variance_that_weights_should_have_is_that_of_p_over_the_product_of_its_margins() -> None:
    found = [
        {**result("intervention", data, correlated, seed, dci=0.5), "weight_variance": seed + 2.0 * correlated}
        for data in ("dsprites", "shapes3d", "cmnist")
        for correlated in (False, True)
        for seed in (0, 1)
    ]
    table = weights(Results(found))
    assert table.rows[2] == ["cmnist", "0.50 (0.00 to 1.00)", "2.50 (2.00 to 3.00)"]
    p = np.array([[np.exp(-(((a - b) / 9) ** 2) / 0.08) for b in range(10)] for a in range(10)])
    p /= p.sum()
    rng = np.random.default_rng(0)
    a, b = (rng.choice(10, 400_000, p=margin) for margin in (p.sum(1), p.sum(0)))
    drawn = p[a, b] / (p.sum(1)[a] * p.sum(0)[b])
    assert drawn.mean() == pytest.approx(1, abs=0.01)
    assert f"{drawn.var():.1f}" == "1.0"
    assert "and 0.97 for correlated ones" in table.note


def test_what_digits_bear_is_told_by_strength_and_for_runs_that_were_apart_before() -> None:
    def digits(label: str, sigma: float, sap: float, apart: bool, variance: float | None = None) -> dict[str, Any]:
        made = result(label, "cmnist", sigma < 1000, 0, dci=0.5, sap=sap)
        made["scores"]["sap"]["parts"]["per_factor"] = [0.4, 0.5 if apart else 0.05]
        return {**made, "sigma": sigma, "steps": 1500, "weight_variance": variance}

    found = [digits("intervention", 1000.0, 0.5, True, 0.1), digits("intervention", 0.2, 0.1, False, 2.0)]
    found += [digits("FactorVAE 10", 1000.0, 0.3, False), digits("FactorVAE 10", 0.2, 0.2, False)]
    weaker = [digits("intervention", 0.4, 0.4, True, 0.3), digits("FactorVAE 10", 0.4, 0.25, False)]
    kept = [digits("intervention", 0.2, 0.45, True, 0.2), digits("intervention", 0.2, 0.35, False, 0.4)]
    table = bearing(Results(found), weaker, kept)
    assert table.note.endswith("with correlated ones for 1,500 steps.")
    assert table.rows == [
        ["intervention", "random", "independent", "0.50", "0.50", "1 of 1", "0.10", "0.00"],
        ["intervention", "random", 0.4, "0.40", "0.50", "1 of 1", "0.30", "0.22"],
        ["intervention", "random", 0.2, "0.10", "0.50", "0 of 1", "2.00", "0.97"],
        ["FactorVAE 10", "random", "independent", "0.30", "0.50", "0 of 1", "", ""],
        ["FactorVAE 10", "random", 0.4, "0.25", "0.50", "0 of 1", "", ""],
        ["FactorVAE 10", "random", 0.2, "0.20", "0.50", "0 of 1", "", ""],
        [
            "intervention",
            "those of independent factors",
            0.2,
            "0.40 (0.35 to 0.45)",
            "0.50 (0.50 to 0.50)",
            "1 of 2",
            "0.30 (0.20 to 0.40)",
            "0.97",
        ],
    ]


def test_a_run_that_was_apart_before_begins_with_the_weights_of_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intervention, "STEPS", 2)
    monkeypatch.setattr(intervention, "evaluate", lambda *_: {})
    begun: list[dict[str, torch.Tensor]] = []
    fit = api.fit

    def watched(method: Any, *given: Any, **named: Any) -> Any:
        begun.append({name: value.clone() for name, value in method.state_dict().items()})
        return fit(method, *given, **named)

    monkeypatch.setattr(api, "fit", watched)
    small = {"width": 4, "critic_width": 4, "features": 2, "inner_steps": 1}
    setting = Setting("intervention", "intervention_ae", small, "dsprites", CORRELATED, 0, 1, begun=1000.0)
    again = intervention.work(setting, tmp_path)
    before = api.load_run(str(next(tmp_path.glob("intervention_ae*")))).state_dict()
    assert again["sigma"] == CORRELATED
    assert all(torch.equal(value, before[name]) for name, value in begun[1].items())
    assert not all(torch.equal(value, before[name]) for name, value in begun[0].items())


def test_a_tiny_plan_goes_from_runs_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table and picture is made, of sprites that stand for all three sets, and no run is made twice."""
    small = {"width": 4, "critic_width": 4}
    methods: dict[str, tuple[str, dict[str, Any]]] = {
        "intervention": ("intervention_ae", {**small, "features": 3, "inner_steps": 1}),
        "FactorVAE 40": ("factor_vae", {"width": 4, "critic_width": 8, "latents": 3}),
    }
    load = api.load_data

    def sprites(name: str, **given: Any) -> Any:
        return load("images", **given) if name == "images" else load("dsprites", **{**given, "size": 16})

    (tmp_path / "mnist").mkdir()
    flowers = np.random.default_rng(0).integers(0, 256, (30, 32, 32, 3)).astype(np.uint8)
    (tmp_path / "flowers").mkdir()
    for place, flower in enumerate(flowers):
        Image.fromarray(flower).save(tmp_path / "flowers" / f"{place}.png")
    monkeypatch.setattr(api, "load_data", sprites)
    replaced = {"SEEDS": (0,), "STEPS": 2, "FEWER": 2, "POINTS": 150, "DATA": {"shapes3d": {}}}
    replaced |= {
        "METHODS": {"shapes3d": methods},
        "LONGER": [("shapes3d", "intervention", CORRELATED, 3), ("shapes3d", "FactorVAE 40", 1000.0, 4)],
        "WEAKER": {"shapes3d": (0.4,)},
        "KEPT": ("shapes3d",),
        "DCI": {"shapes3d": {}},
        "SAP": {"shapes3d": {}},
        "FLOWERS": {**small, "features": 2, "dims": 2},
    }
    for name, value in replaced.items():
        monkeypatch.setattr(intervention, name, value)
    monkeypatch.setattr(intervention, "data_root", lambda: tmp_path)
    monkeypatch.setattr(intervention_claims, "claims", lambda r: [])  # of runs with the factors of 3D Shapes
    monkeypatch.setattr(intervention_claims, "SETS", {"shapes3d": "3D Shapes"})
    out, runs = tmp_path / "results", tmp_path / "runs"
    intervention.main(out, runs, workers=1)
    page = (out / "intervention.md").read_text()
    for title in ("3D Shapes", "coloured digits", "does translation agree", "Cost, and the translation"):
        assert title in page
    line = next(line for line in page.split("Variance of the importance weights")[1].splitlines() if "shapes3d" in line)
    assert all(float(number) >= 0 for number in line.split("|")[2:4])  # there with both kinds of factors
    rows = [line.split(" | ") for line in page.split("## More steps")[1].splitlines() if line.startswith("| shapes3d")]
    assert [row[2:5] for row in rows[:4]] == [
        ["correlated", "0", "2"],
        ["correlated", "0", "3"],
        ["independent", "0", "2"],
        ["independent", "0", "4"],
    ]
    borne = page.split("how much correlation is borne")[1].split("##")[0]
    sigmas = [line.split(" | ")[2] for line in borne.splitlines() if line.startswith(("| inter", "| Factor"))]
    assert sigmas == ["independent", "0.4", "0.2"] * 2 + ["0.2"]
    kept, fresh = (next(runs.glob(f"{folder}intervention_ae*")) for folder in ("kept/", ""))
    starts = [json.loads((path / "run.json").read_text())["start"] for path in (kept, fresh)]
    assert starts[0] != starts[1]
    names = ["importance_intervention_shapes3d", "traversals_factorvae_40_shapes3d", "traversals_flowers"]
    sizes = {}
    for name in [*names, "neighbours_flowers"]:
        with Image.open(out / "intervention" / f"{name}.png") as picture:
            sizes[name] = picture.size
    assert all(f"intervention/{name}.png" in page for name in sizes)
    assert sizes["traversals_flowers"][1] == pytest.approx(2 * sizes["neighbours_flowers"][1], rel=0.1)  # rows: 4, 2
    monkeypatch.setattr(intervention, "evaluate", None)  # would fail if it were called again
    intervention.main(out, runs, workers=1)


@pytest.mark.slow
def test_a_run_is_trained_and_evaluated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervention, "POINTS", 300)
    setting = Setting("FactorVAE 10", "factor_vae", {"width": 4, "critic_width": 8}, "dsprites", CORRELATED, 0, steps=2)
    first = intervention.work(setting, tmp_path)
    assert first["correlated"]
    assert set(first["scores"]) == {"dci", "sap", "irs", "translation"}
    before = {path: path.stat().st_mtime_ns for path in Path(first["path"]).glob("*.json")}
    assert intervention.work(setting, tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in Path(first["path"]).glob("*.json")} == before
