"""The verdicts follow the numbers, in made-up results; and a tiny plan goes all the way to the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from experiments.intervention import claims as rules
from experiments.intervention import why
from experiments.intervention.claims import claims, mixed_share
from experiments.intervention.measures import game
from experiments.intervention.scores import (
    METRICS,
    SETS,
    SIGMA,
    apart_by_exchange,
    apart_by_sap,
    main_runs,
    rank_correlation,
    rank_draws,
    rates,
    share_above,
)
from experiments.intervention.study import (
    CORRELATED,
    DECIDING,
    INDEPENDENT,
    METHODS,
    OF_THE_PAPER,
    PILOT,
    PLANNED,
    RESERVED,
    TRIED,
    WEAKER,
    WIDE,
    WITH_L_DIFF,
    flowers,
    pilot,
    recipe,
    seeds_of,
    study,
    tried,
)
from experiments.intervention.tables import (
    PAPER,
    PAPER_DIGITS,
    costs,
    exchanges,
    follows,
    of_digits,
    recipe_over_steps,
    robustness,
    scores,
    variance_of_weights,
    weights,
)
from experiments.intervention.tables import pilot as pilot_table
from PIL import Image
from scipy.stats import spearmanr

from tests.experiments.toys import EXPERIMENTS, reproduce_here
from unbraid.data.sets.shapes3d import Shapes3D
from unbraid.data.split import correlation
from unbraid.study.claims import Claim
from unbraid.study.plan import Study, chain
from unbraid.study.reproduce import Result, Results

BASELINES = ("FactorVAE 10", "FactorVAE 40", "beta-TCVAE")
IDS = ["004-1", "004-2", "004-3", "004-4", "004-4 (exchange)", "004-5", "004-5 (loss)", "004-6", "004-7"]


def result(label: str, data: str, correlated: bool, seed: int, **values: float) -> Result:
    mixed = values.pop("mixed", 0.1)
    importance = [[1 - mixed, mixed, 0.0], [mixed, 1 - mixed, 0.0], [0.0, 0.0, 1.0]]
    found: dict[str, dict[str, Any]] = {n: {"value": number, "parts": {}, "params": {}} for n, number in values.items()}
    if "sap" in found:
        found["sap"]["parts"] = {"best_latent": [0, 1], "per_factor": [0.4, 0.5]}
    if "translation" in found:
        found["translation"]["parts"] = {"loss": 100 * found["translation"]["value"]}
    parts = {"importance": importance, "informativeness_per_factor": [0.8, 0.9, 0.7]}
    found["dci"] |= {"parts": parts, "params": {"factors": ["floor_hue", "wall_hue", "shape"]}}
    return Result(label, data, seed, 2500, {"correlated": SIGMA[correlated]}, found, {}, 1.0, Path())


def paper_world() -> list[Result]:
    """Results like those of the paper: FactorVAE loses with correlated factors, and translation follows DCI."""
    found = []
    for seed in range(3):
        for data in ("dsprites", "shapes3d", "cmnist"):
            for correlated in (False, True):
                for place, label in enumerate(("intervention", "FactorVAE 10", "FactorVAE 40", "beta-TCVAE")):
                    lost = correlated * (0.4 if data == "cmnist" else 0.15) * (place > 0)
                    value = 0.7 - lost + 0.01 * seed + 0.01 * place
                    mixed = 0.4 if correlated and place else 0.05 + 0.01 * seed
                    numbers = {"dci": value, "sap": value, "irs": value, "translation": 1 - value, "exchange": value}
                    found.append(result(label, data, correlated, seed, mixed=mixed, **numbers))
    return found


def decided(found: list[Result]) -> dict[str, Claim]:
    return {claim.id: claim for claim in claims(Results(found))}


def test_results_like_the_papers_show_every_claim_and_their_opposite_none() -> None:
    told = decided(paper_world())
    assert list(told) == IDS
    assert {claim.verdict for claim in told.values()} == {"shown"}
    turned = paper_world()
    for run in turned:
        run.arguments["correlated"] = SIGMA[run.arguments["correlated"] == INDEPENDENT]
        run.scores["translation"]["value"] *= -1
        run.scores["translation"]["parts"]["loss"] *= -1
    assert {id: claim.verdict for id, claim in decided(turned).items()} == {
        "004-1": "not shown",
        "004-2": "not shown",
        "004-3": "shown",  # nothing is asked of the rank but to be near
        "004-4": "not shown",
        "004-4 (exchange)": "not shown",
        "004-5": "not shown",
        "004-5 (loss)": "not shown",
        "004-6": "unclear",  # both are near
        "004-7": "not shown",
    }


def test_digits_that_score_near_zero_show_nothing() -> None:
    world = paper_world()
    for run in world:
        if run.data == "cmnist" and run.label == "intervention":
            run.scores["sap"]["value"] *= 0.1
    assert decided(world)["004-4"].verdict == "not shown"


def test_a_model_that_learned_nothing_loses_nothing_and_shows_nothing() -> None:
    world = paper_world()
    for run in world:
        if run.label == "intervention":
            for metric in ("dci", "sap", "irs"):
                run.scores[metric]["value"] = 0.02 + 0.001 * run.seed
            run.scores["dci"]["parts"]["informativeness_per_factor"] = [0.8, 0.05, 0.7]
    told = decided(world)
    assert {told[id].verdict for id in ("004-1", "004-3", "004-4", "004-6", "004-7")} == {"not shown"}


def papers_table(rng: np.random.Generator, turned: bool, sd: float = 0.02) -> list[Result]:
    """The paper's tables with noise for each run; or with independent and correlated exchanged.

    As many seeds as the study has. Figures 3 and 4 have no numbers: translation follows the mean score with as much
    noise, and the mixed share is 0.1 for ours and 0.4 for FactorVAE.

    Args:
        rng: of the noise
        turned: whether the two kinds of factors are exchanged
        sd: of the noise
    """
    found = []
    digits = {("cmnist", label): (0.5, pair[0], 0.5, 0.5, pair[1], 0.5) for label, pair in PAPER_DIGITS.items()}
    for (data, label), values in {**PAPER, **digits}.items():
        for seed in seeds_of(data, label):
            for correlated, three in ((turned, values[:3]), (not turned, values[3:])):
                dci, sap, irs = np.array(three) + rng.normal(0, sd, 3)
                difficulty = (1 if turned else -1) * (np.mean(three) + rng.normal(0, sd))
                mixed = (0.4 if label == "intervention" else 0.1) if turned else 0.1 if label == "intervention" else 0.4
                numbers = {"dci": dci, "sap": sap, "irs": irs, "translation": difficulty}
                numbers["exchange"] = three[1] + rng.normal(0, sd)
                found.append(result(label, data, correlated, seed, mixed=mixed + rng.normal(0, 0.05), **numbers))
    return found


def test_the_papers_own_tables_show_every_claim_and_their_opposite_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "DRAWS", 100)
    rng, draws = np.random.default_rng(0), 40
    for turned in (False, True):
        verdicts = [decided(papers_table(rng, turned)) for _ in range(draws)]
        for id in verdicts[0]:
            shown = sum(found[id].verdict == "shown" for found in verdicts)
            if turned and id != "004-3":  # which asks for no order
                assert shown <= 0.05 * draws, id
            elif not turned:
                assert shown >= 0.8 * draws, (id, shown)


def test_the_papers_tables_with_the_spread_of_the_first_record_show_what_large_differences_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DCI had a standard deviation of 0.06 over seeds. Claims that are not here are shown in less than 80 %."""
    monkeypatch.setattr(rules, "DRAWS", 100)
    rng, draws = np.random.default_rng(0), 40
    verdicts = [decided(papers_table(rng, turned=False, sd=0.06)) for _ in range(draws)]
    for id in ("004-2", "004-6"):
        assert sum(found[id].verdict == "shown" for found in verdicts) >= 0.8 * draws, id


def test_a_claim_that_differs_from_seed_to_seed_is_unclear() -> None:
    noisy = paper_world()
    for run in noisy:
        if run.label == "intervention" and run.arguments["correlated"] == CORRELATED:
            run.scores["dci"]["value"] = 0.2 + 0.4 * run.seed
    assert decided(noisy)["004-1"].verdict == "unclear"


def test_rank_correlation_is_of_less_difficulty_with_higher_scores() -> None:
    dci, translation = np.array([0.1 * i for i in range(8)]), np.array([(10.0 - i) ** 3 for i in range(8)])
    rho, low, high, n = rank_correlation(translation, dci)
    assert rho == pytest.approx(1)
    assert (low, high, n) == pytest.approx((1, 1, 8))
    translation[0] = np.nan  # a collapsed model has none
    assert rank_correlation(translation, dci)[0] == pytest.approx(1)
    assert rank_correlation(translation, dci)[3] == 7
    assert np.isnan(rank_correlation(translation[:3], dci[:3])[0])
    x, y = np.random.default_rng(0).integers(5, size=(2, 12)).astype(float)  # with ties
    rho, draws, _ = rank_draws(x, y, 3)
    assert rho == pytest.approx(spearmanr(-x, y).statistic)
    rows = np.random.default_rng(0).integers(12, size=(3, 12))
    assert draws == pytest.approx([spearmanr(-x[row], y[row]).statistic for row in rows])


def test_the_mixed_share_is_a_half_when_one_latent_serves_both_factors() -> None:
    run = result("x", "shapes3d", True, 0, dci=0.5, mixed=0.25)
    assert mixed_share(run) == pytest.approx(0.25)
    run.scores["dci"]["parts"]["importance"] = [[0.9, 0.7, 0.1], [0.1, 0.3, 0.9]]
    assert mixed_share(run) == pytest.approx(0.5)


def test_the_table_has_the_papers_numbers_beside_ours() -> None:
    table = scores(Results(paper_world()), "dsprites")
    ours = next(row for row in table.rows if row[0] == "intervention")
    assert ours[1].startswith("0.71 (0.70 to 0.72)")
    assert ours[-1] == "0.76 / 0.55 / 0.62 / 0.74 / 0.51 / 0.59"


def test_every_setting_is_a_run_that_can_be_built() -> None:
    jobs = study.jobs(EXPERIMENTS / "intervention")  # which refuses what a method or data set does not take
    main = [
        job for job in jobs if job.label in METHODS[job.plan.data] and job.arguments["correlated"] in SIGMA.values()
    ]
    deciding = [job for job in main if job.label in DECIDING]
    assert main[: len(deciding)] == deciding and len(deciding) == 3 * 2 * 2 * 8
    sets = [job.plan.data for job in deciding]
    assert sets == ["cmnist"] * 32 + ["dsprites"] * 32 + ["shapes3d"] * 32
    assert [job.plan.seed for job in deciding[:32]] == sorted(job.plan.seed for job in deciding[:32])
    counts = Counter((job.plan.data, job.label, job.arguments["correlated"]) for job in main)
    assert {counts[key] for key in counts if key[1] in DECIDING} == {8}
    rest = {data: {key[1]: counts[key] for key in counts if key[0] == data and key[1] not in DECIDING} for data in sets}
    of_sets = {"FactorVAE 40": 8, "beta-TCVAE": 8, "HFS": 3, "InfoGAN-CR": 5}
    assert rest == {"cmnist": {"FactorVAE 40": 5}, "dsprites": of_sets, "shapes3d": of_sets}
    lengths = {job.plan.steps for job in jobs if job.label.endswith(", over steps")}
    assert lengths == {4000, 16_000}
    assert len([job for job in jobs if job.arguments["correlated"] in (0.4, 0.3)]) == 2 * 2 * 3
    assert {(job.plan.batch, job.plan.decay) for job in jobs} == {(64, 0.3)}
    assert {job.evaluation["points"] for job in jobs} == {5000}
    assert {job.plan.start_from for job in jobs} == {None}
    again = ("reencoded_sap", "reencoded_irs", "reencoded_dci", "alone_sap")
    wanted = ("dci", "sap", "irs", "translation", "exchange", *again)
    assert {tuple(job.evaluation["metrics"]) for job in jobs} == {wanted}


def test_the_papers_recipe_trains_without_l_diff_and_goes_on_with_it() -> None:
    jobs = {job.name: job for job in pilot.jobs(EXPERIMENTS / "intervention")}
    then = [job for job in jobs.values() if job.label == WITH_L_DIFF + PILOT]
    wanted = {(sigma, seed) for sigma in SIGMA.values() for seed in RESERVED}
    assert len(then) == 4 and {(job.arguments["correlated"], job.plan.seed) for job in then} == wanted
    for job in then:
        first = jobs[str(job.plan.start_from)]
        assert first.label == OF_THE_PAPER + PILOT and first.plan.start_from is None
        assert (first.plan.steps, job.plan.steps) == (20_000, 5_000)
        assert first.plan.arguments == {**job.plan.arguments, "lambda_3": 0.0} and job.arguments["lambda_3"] == 1
        assert (first.plan.seed, first.plan.data_arguments) == (job.plan.seed, job.plan.data_arguments)
        rates = {"lambda_1": 1, "lambda_2": 10, "lr": 1e-4, "decoder_lr": 1e-4, "critic_lr": 1e-4, "weight_lr": 1e-5}
        assert job.arguments == {**job.arguments, **rates, "decay": 0, "width": 16, "diff_every": 1}
    (wide,) = [job for job in jobs.values() if job.label == WIDE + PILOT]
    first = next(job for job in jobs.values() if job.label == OF_THE_PAPER + PILOT)
    assert wide.plan.arguments == {**first.plan.arguments, "width": 64, "critic_width": 64}
    others = [job for job in jobs.values() if job.label != WITH_L_DIFF + PILOT]
    assert {job.plan.start_from for job in others} == {None}


def test_settings_are_chosen_on_seeds_digits_and_rows_that_decide_nothing() -> None:
    tried, jobs = (s.jobs(EXPERIMENTS / "intervention") for s in (pilot, study))
    assert {job.plan.seed for job in tried} == {100, 101} and max(job.plan.seed for job in jobs) < 100
    of_digits = [job for job in jobs if job.plan.data == "cmnist"]
    assert {(job.arguments["tuning"], job.arguments["draw"]) for job in tried} == {(True, 100)}
    assert {(job.arguments["tuning"], job.arguments["draw"]) for job in of_digits} == {(False, 0)}
    assert not {job.label for job in tried} & {job.label for job in jobs}
    assert all(job.label.endswith(PILOT) for job in tried)
    counts = Counter(job.label.removesuffix(PILOT) for job in tried)
    assert {counts[name] for name in TRIED} == {4}
    of_rival = [(job.plan.steps, job.plan.decay) for job in tried if job.plan.method == "group_factor_vae"]
    assert Counter(of_rival) == {(8000, 0.3): 4, (8000, 0.0): 4, (2500, 0.0): 4}
    assert {tuple(job.evaluation["metrics"]) for job in tried} == {("exchange", "sap", "reencoded_sap")}


def test_runs_of_the_pilot_stay_what_they_are_when_a_setting_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """They say why it was chosen: what they are must not follow from the choice."""
    names = [job.name for job in pilot.jobs(EXPERIMENTS / "intervention")]
    for own in METHODS["cmnist"].values():
        monkeypatch.setitem(own, "lr", 0.5)
    assert len(again := tried("again", RESERVED, **PLANNED)) == 4 and {point["lr"] for point in again} == {1e-3}
    runs = chain(*(tried(name, RESERVED, **{**PLANNED, **changed}) for name, changed in TRIED.items()), recipe())
    assert {job.name for job in Study(runs=runs).jobs(EXPERIMENTS / "intervention")} < set(names)


def on_digits(label: str, sigma: float, seed: int = 11, **values: float) -> Result:
    """With what follows exchanged features, and a game whose L_adv ended at -1.3."""
    made = result(label, "cmnist", True, seed, dci=0.5, **values)
    made.scores["exchange"]["parts"] = {"donor": [[0.69, 0.24], [0.1, 0.304]]}
    game = {"steps": [4000.0, 8000.0], "weight_variance": [0.2, 0.3], "adversarial": [-1.0, -1.3]}
    return replace(made, arguments={"correlated": sigma}, measures={"weight_variance": 0.3, "game": game})


def test_runs_of_the_pilot_have_a_table_of_their_own_and_are_in_no_claim() -> None:
    world = paper_world()
    before = decided(world)
    tried = on_digits(f"FactorVAE 10, decay 0{PILOT}", CORRELATED, 100, sap=0.4, exchange=0.3)
    found = Results([*world, tried])
    assert {claim.id: claim for claim in claims(main_runs(found))} == before
    tried.scores["exchange"]["parts"]["per_factor"] = [0.2, -0.5]
    table, _ = pilot_table(found)
    row = ["FactorVAE 10, decay 0", "correlated", 100, 2500, "69/24 / 10/30", pytest.approx(-0.15), 0.4]
    assert table.rows == [[*row, pytest.approx(np.nan, nan_ok=True), -1.3, 0.3]]
    assert pilot_table(Results(world)) == []
    unfinished = replace(tried, finished=False, scores={}, measures={})
    assert pilot_table(Results([*world, unfinished])) == []


def test_a_row_of_one_run_says_what_follows_its_features_and_how_the_game_ended() -> None:
    run = on_digits("intervention", INDEPENDENT, sap=0.4, reencoded_sap=0.35, exchange=0.21)
    run.scores["exchange"]["parts"]["neither"] = [[0.05, 0.1], [0.0, 0.2]]
    assert of_digits(run)[:2] == [0.4, 0.35] and of_digits(run)[-3:] == [0.3, -1.3, "69/24 / 10/30"]
    own = ["intervention", "independent", 11, "69 / 24", "10 / 30", "5 / 10", "0 / 20", 0.21, 0.4]
    assert follows(Results([run])).rows == [own]
    assert rates(result("FactorVAE 10", "cmnist", True, 0, dci=0.5)) == ""
    assert [apart_by_exchange(on_digits("x", 0.2, exchange=value)) for value in (0.21, 0.2)] == [True, False]


def test_the_game_of_the_papers_recipe_is_shown_over_steps() -> None:
    run = on_digits(OF_THE_PAPER + PILOT, CORRELATED, 100, exchange=0.1)
    rows = recipe_over_steps(Results([run, on_digits("intervention", CORRELATED, exchange=0.1)])).rows
    own = [OF_THE_PAPER, "correlated", 100]
    assert rows == [
        [*own, "L_adv", "4,000: -1.00; 8,000: -1.30"],
        [*own, "variance of the weights", "4,000: 0.20; 8,000: 0.30"],
    ]


def unfinished(run: Result) -> Result:
    return replace(run, scores={}, measures={}, seconds=0.0, finished=False)


def test_a_page_can_be_made_while_runs_are_missing() -> None:
    """In any order: of every second run, of the pilot alone, and of none of one method."""
    weaker = [on_digits(label, 0.4, sap=0.3, exchange=0.1) for label in DECIDING]
    world = [*paper_world(), *weaker, on_digits(f"as planned{PILOT}", CORRELATED, 100, sap=0.4, exchange=0.3)]
    ways: list[Callable[[Result], bool]] = [
        lambda run: run.seed % 2 == 1,
        lambda run: run.label.endswith(PILOT),
        lambda run: run.label != "intervention" and run not in weaker,
        lambda run: run.arguments["correlated"] != CORRELATED,
    ]
    for kept in ways:
        r = Results([run if kept(run) else unfinished(run) for run in world])
        found = [scores(r, "dsprites"), follows(r), exchanges(r), robustness(r), *pilot_table(r), weights(r), costs(r)]
        cells = [str(cell) for table in found for row in table.rows for cell in row]
        assert not [cell for cell in cells if "+nan" in cell or "-nan" in cell]
        assert all(row[2] > 0 for row in costs(r).rows)
        told = {claim.id: claim.verdict for claim in claims(main_runs(r))}
        assert list(told) == IDS and "not shown" not in told.values()


def test_exchanges_on_sprites_and_scenes_are_beside_their_ceiling() -> None:
    found = [
        result("intervention", "dsprites", True, s, dci=0.5, reencoded_irs=0.5 + 0.1 * s, exchange=0.3) for s in (0, 1)
    ]
    for run in found:
        run.scores["exchange"]["parts"] = {"ceiling": 0.8}
    rows = exchanges(Results(found)).rows
    assert rows[0] == ["dSprites", "intervention", "independent", *[""] * 6]
    ours = ["0.30 (0.30 to 0.30)", "0.80 (0.80 to 0.80)", "", "", "0.55 (0.50 to 0.60)", ""]
    assert rows[1] == ["dSprites", "intervention", "correlated", *ours]


def test_the_game_is_measured_at_ten_evenly_spaced_steps(tmp_path: Path) -> None:
    run, nothing = SimpleNamespace(path=tmp_path), None
    told = cast(Any, game)
    (tmp_path / "history.csv").write_text("step,loss\n50,1.0\n")
    assert told(run, *[nothing] * 3) == {"steps": [], "weight_variance": [], "adversarial": []}
    lines = [f"{50 * k},{-k / 100},{k / 10}" for k in range(1, 41)]
    (tmp_path / "history.csv").write_text("\n".join(["step,adv,weight_variance", *lines]) + "\n")
    found = told(run, *[nothing] * 3)
    assert found["steps"] == [200.0 * k for k in range(1, 11)]
    assert (found["adversarial"][-1], found["weight_variance"][-1]) == (-0.4, 4.0)
    (tmp_path / "history.csv").write_text("\n".join(["step,adv,weight_variance", *lines[:3]]) + "\n")
    assert told(run, *[nothing] * 3)["steps"] == [50, 100, 150]


def test_shares_of_cells_are_drawn_with_the_seeds_that_each_cell_has() -> None:
    rng = np.random.default_rng(0)
    cells = [rng.normal(0.05 * k, 1, 5 + 3 * (k % 2)) for k in range(6)]
    share, draws = share_above(cells, 4000)
    assert share == np.mean([cell.mean() > 0 for cell in cells])
    again = np.random.default_rng(1)
    each = [np.mean([again.choice(cell, len(cell)).mean() > 0 for _ in range(4000)]) for cell in cells]
    assert draws.mean() == pytest.approx(np.mean(each), abs=0.02)
    assert share_above([np.zeros(3), np.ones(3)], 2)[0] == 0.75  # ties are a half
    for unknown in ([], [np.ones(1)], [np.ones(3), np.array([1, np.nan])]):
        assert np.isnan(share_above(unknown, 10)[0])
    same = share_above([cells[0]] * 2, 200)[1]
    assert set(same) == {0.0, 1.0}  # drawn together


def test_the_variance_that_weights_should_have_is_that_of_p_over_the_product_of_its_margins() -> None:
    found = [
        result("intervention", data, correlated, seed, dci=0.5)
        for data in ("dsprites", "shapes3d", "cmnist")
        for correlated in (False, True)
        for seed in (0, 1)
    ]
    for run in found:
        run.measures["weight_variance"] = run.seed + 2.0 * (run.arguments["correlated"] == CORRELATED)
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


def test_exchanges_of_codes_are_those_of_drawn_pairs() -> None:
    p, rng, n = why.world(0.2), np.random.default_rng(0), 400_000
    assert p.sum((1, 2)) == pytest.approx(correlation((10, 10), 0.2).sum(1))
    hosts, donors = (np.array(np.unravel_index(rng.choice(300, n, p=p.ravel()), p.shape)) for _ in range(2))
    first = rng.integers(2, size=n) == 0
    one, two = np.where(first, donors, hosts), np.where(first, hosts, donors)  # where the two features come from
    drawn = {
        "separate": [one[0], two[1], one[2]],
        "redundant": [one[0], two[1], one[2]],
        "collapsed": [one[0], one[1], one[2]],
        "handwriting": [one[0], one[1], two[2]],
    }
    for name, code in why.CODES.items():
        counted = np.zeros(p.shape)
        np.add.at(counted, tuple(drawn[name]), 1 / n)
        assert np.abs(why.exchanged(code, p) - counted).max() < 0.001


@pytest.mark.filterwarnings("ignore:MNIST is not in")
def test_the_objective_prefers_codes_that_sap_calls_as_good_and_exchange_calls_worthless() -> None:
    table = why.table((INDEPENDENT, 0.2), repeats=2)
    assert "standard error of 2 draws" in table.note and " ± " in table.note
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["separate", 0.2][2] == pytest.approx(variance_of_weights(0.2))
    assert rows["separate", 0.2][0] > 0.25 and rows["separate", "independent"][0] == 0
    for name in ("collapsed", "handwriting"):
        assert rows[name, 0.2][0] == rows[name, 0.2][2] == 0  # nothing to learn, for critic or weights
    assert {row[1] for row in rows.values()} == {0}  # with the best weights all are alike
    found = {name: rows[name, 0.2][3:] for name in why.CODES}
    sap_and_exchange = {"separate": [0.9, 1], "redundant": [0, 1], "collapsed": [0.9, 0], "handwriting": [0.9, 0]}
    assert found == {name: pytest.approx(numbers) for name, numbers in sap_and_exchange.items()}
    assert {k for code in (why.CODES["handwriting"],) for k in code.read_from} == {0, 1}  # both features are used


def test_the_divergence_of_the_game_is_that_of_its_best_critic() -> None:
    p, q = np.random.default_rng(0).dirichlet(np.ones(6), 2)
    best = p / (p + q)
    value = (p * np.log(best)).sum() + (q * np.log(1 - best)).sum()
    assert 2 * why.jensen_shannon(p, q) == pytest.approx(value + 2 * np.log(2))
    assert why.jensen_shannon(np.array([1.0, 0]), np.array([0, 1.0])) == pytest.approx(np.log(2))


@pytest.mark.filterwarnings("ignore:MNIST is not in")
def test_translation_between_values_of_an_empty_feature_is_free() -> None:
    found = {name: values.mean() for name, values in why.translated(repeats=1).items()}
    assert found["nothing"] < 0.05 * min(found["hue"], found["digit"], found["everything"])


def test_digits_are_listed_by_strength_of_correlation() -> None:
    def digits(label: str, sigma: float, sap: float, apart: bool, variance: float | None = None) -> Result:
        made = on_digits(label, sigma, sap=sap, exchange=0.1 if sap < 0.3 else 0.3)
        made.scores["sap"]["parts"]["per_factor"] = [0.4, 0.5 if apart else 0.05]
        measures = {"weight_variance": variance, "game": made.measures["game"]} if variance else {}
        return replace(made, measures=measures)

    found = [digits("intervention", 1000.0, 0.5, True, 0.1), digits("intervention", 0.2, 0.1, False, 2.0)]
    found += [digits("FactorVAE 10", 1000.0, 0.3, False), digits("FactorVAE 10", 0.2, 0.2, False)]
    found += [digits("intervention", 0.4, 0.4, True, 0.3), digits("FactorVAE 10", 0.4, 0.25, False)]
    found += [replace(digits("intervention", 0.4, 0.2, False, 0.5), seed=12)]
    moved = "69/24 / 10/30"
    ends = ["-1.30 (-1.30 to -1.30)", f"{moved}; {moved}"]
    two = ["0.30 (0.20 to 0.40)", "0.50 (0.50 to 0.50)", "0.20 (0.10 to 0.30)"]
    assert robustness(Results(found)).rows == [
        ["intervention", "independent", "0.50", "0.50", "0.30", "1 of 1", "1 of 1", "0.10", "0.00", "-1.30", moved],
        ["intervention", 0.4, *two, "1 of 2", "1 of 2", "0.40 (0.30 to 0.50)", "0.22", *ends],
        ["intervention", 0.2, "0.10", "0.50", "0.10", "0 of 1", "0 of 1", "2.00", "0.97", "-1.30", moved],
        ["FactorVAE 10", "independent", "0.30", "0.50", "0.30", "0 of 1", "1 of 1", "", "", "", moved],
        ["FactorVAE 10", 0.4, "0.25", "0.50", "0.10", "0 of 1", "0 of 1", "", "", "", moved],
        ["FactorVAE 10", 0.2, "0.20", "0.50", "0.10", "0 of 1", "0 of 1", "", "", "", moved],
    ]


Edits = list[tuple[str, str, bool, str, float]]  # data, label, correlated, metric, value


def edges(d: float) -> list[tuple[str, Edits]]:
    """Each margin of a claim: what puts it a distance `d` inside of its limit, with all others held.

    With independent factors ours is at 0.7, the baselines at 0.71, 0.72 and 0.73; correlated they lose 0.15 (digits:
    0.4) and ours nothing.
    """
    found: list[tuple[str, Edits]] = []
    start = dict(zip(BASELINES, (0.71, 0.72, 0.73), strict=True))
    lead = {"dci": 0.15, "sap": 0.085, "irs": 0.085}  # of the paper: what FactorVAE 10 loses more than the model
    lost = {"dci": 0.76 / 6, "sap": 0.86 / 6, "irs": 0.62 / 6}  # of the paper: mean over sets and these baselines
    for m in METRICS:
        found.append(("004-1", [(data, "intervention", True, m, 0.55 + lead[m] / 4 + d) for data in SETS]))
        ours = [(data, "intervention", kind, m, 0.71 / 2 + d) for data in SETS for kind in (False, True)]
        found.append(("004-1", ours))
        less = [(data, label, True, m, start[label] - lost[m] / 4 - d) for data in SETS for label in BASELINES]
        found.append(("004-2", less))
    rivals: Edits = [(data, "FactorVAE 10", True, "dci", 0.71 - 0.14 / 4 - d) for data in SETS]
    found.append(("004-1", [*rivals, *((data, "intervention", True, "dci", 0.8) for data in SETS)]))
    found += [("004-3", [(data, "intervention", False, "dci", 0.73 - 0.2 + d)]) for data in SETS]
    rival = ("cmnist", "FactorVAE 10")
    return [
        *found,
        ("004-4", [("cmnist", "intervention", True, "sap", 0.85 * 0.7 + d)]),
        (
            "004-4",
            [*(("cmnist", "intervention", kind, "sap", 0.2 + d) for kind in (False, True)), (*rival, True, "sap", 0.1)],
        ),
        ("004-4", [(*rival, True, "sap", 0.7 * 0.71 - d)]),
        ("004-4", [(*rival, False, "sap", 0.2 + d), (*rival, True, "sap", 0.1)]),
        ("004-4", [("cmnist", "intervention", k, "sap", 0.31 + 0.29 / 4 + d) for k in (False, True)]),
        ("004-4 (exchange)", [("cmnist", "intervention", True, "exchange", 0.85 * 0.7 + d)]),
    ]


def edited(edits: Edits) -> list[Result]:
    """Results like the paper's, the same with every seed, but for these values."""
    world = paper_world()
    first = {(run.data, run.label, run.arguments["correlated"]): run.scores for run in world if run.seed == 0}
    for data, label, correlated, metric, value in edits:
        first[data, label, SIGMA[correlated]][metric]["value"] = value
    for run in world:
        run.scores.update(first[run.data, run.label, run.arguments["correlated"]])
    return world


@pytest.mark.parametrize(("inside", "outside"), list(zip(edges(0.003), edges(-0.003), strict=True)))
def test_every_margin_of_a_claim_decides_it(inside: tuple[str, Edits], outside: tuple[str, Edits]) -> None:
    """A little inside of its limit the claim is shown, a little outside it is not."""
    for (id, edits), verdict in ((inside, "shown"), (outside, "not shown")):
        claim = decided(edited(edits))[id]
        assert claim.verdict == verdict, claim


def test_hues_must_be_told_and_less_mixed_than_by_the_other() -> None:
    for d, verdict in ((0.01, "shown"), (-0.01, "not shown")):
        for label in ("intervention", "FactorVAE 40"):
            for place in (0, 1):
                world = edited([])
                for run in world:
                    if (run.label, run.data) == (label, "shapes3d"):
                        told = [0.8, 0.9, 0.7]
                        told[place] = 0.3 + d
                        run.scores["dci"]["parts"] = {
                            **run.scores["dci"]["parts"],
                            "informativeness_per_factor": told,
                        }
                assert decided(world)["004-6"].verdict == verdict
        world = edited([])
        for run in world:
            if (run.label, run.data) == ("intervention", "shapes3d"):
                mixed = 0.4 - d  # as much as FactorVAE mixes
                matrix = [[1 - mixed, mixed, 0.0], [mixed, 1 - mixed, 0.0], [0.0, 0.0, 1.0]]
                run.scores["dci"]["parts"] = {**run.scores["dci"]["parts"], "importance": matrix}
        assert decided(world)["004-6"].verdict == verdict


def test_features_are_apart_where_each_factor_has_its_own_by_enough() -> None:
    run = result("intervention", "cmnist", True, 0, dci=0.5, sap=0.4)
    for per_factor, latents, apart in (
        ([0.1, 0.5], [0, 1], True),
        ([0.5, 0.1], [1, 0], True),
        ([0.099, 0.5], [0, 1], False),
        ([0.5, 0.099], [0, 1], False),
        ([0.5, 0.5], [1, 1], False),
    ):
        run.scores["sap"]["parts"] = {"best_latent": latents, "per_factor": per_factor}
        assert apart_by_sap(run) == apart


@pytest.mark.parametrize("place", range(6))
def test_translation_must_agree_with_every_metric_on_every_set(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for low, verdict in ((0.201, "shown"), (0.199, "unclear")):
        draws = [np.linspace(low if k == place else 0.5, 0.9, 1000) for k in range(6)]
        agrees = iter((0.8, np.concatenate([np.full(60, found[0]), found]), 30) for found in [*draws, *draws])
        monkeypatch.setattr(rules, "rank_draws", lambda *_, agrees=agrees: next(agrees))
        told = decided(paper_world())
        assert [told[id].verdict for id in ("004-5", "004-5 (loss)")] == [verdict] * 2


def test_the_cells_that_are_won_are_counted() -> None:
    """Ours wins all cells but those of one metric on one set; three of 24 may be lost, six may not."""
    for lost, verdict in ((1, "shown"), (2, "not shown")):
        edits: Edits = [("dsprites", "intervention", True, m, 0.1) for m in METRICS[:lost]]
        assert decided(edited(edits))["004-7"].verdict == verdict


def test_losses_are_counted_by_cell() -> None:
    """Every baseline loses in all 18 cells but those of one metric; three may be won, four may not."""
    for won, verdict in ((3, "shown"), (4, "not shown")):
        cells = [(data, label) for data in SETS for label in BASELINES][:won]
        edits: Edits = [(data, label, True, "irs", 0.8) for data, label in cells]
        edits += [("shapes3d", label, True, "irs", 0.1) for label in BASELINES[1:]]  # the mean drop is large
        assert decided(edited(edits))["004-2"].verdict == verdict


def test_translation_is_compared_over_the_papers_methods_alone() -> None:
    world = paper_world()
    more = [replace(run, label="HFS") for run in world if run.label == "beta-TCVAE"]
    assert decided([*world, *more])["004-5"] == decided(world)["004-5"]


def test_a_single_run_without_numbers_decides_nothing() -> None:
    world = [run for run in paper_world() if run.seed == 0]
    for run in world:
        for score in run.scores.values():
            score["value"] = None
    assert {claim.verdict for claim in decided(world).values()} == {"unclear"}


def test_flowers_are_learned_from_where_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    assert flowers() == []
    (tmp_path / "flowers.zip").touch()
    assert [point["path"] for point in flowers()] == [str(tmp_path / "flowers.zip")]
    (tmp_path / "flowers.zip").rename(tmp_path / "flowers12-224.zip")
    assert [point["path"] for point in flowers()] == [str(tmp_path / "flowers12-224.zip")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:MNIST is not in:UserWarning")
def test_a_tiny_plan_goes_from_runs_to_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table and picture is made, of flat rooms for 3D Shapes and the digits at hand, and no run is made twice."""

    def flat(table: Shapes3D, values: Any) -> Any:
        shades = np.linspace(0, 255, 16)[values[:, :3]][:, :, None, None]
        return np.broadcast_to(shades, (len(values), *table.shape)).astype(np.uint8)

    left_out = [(label, sigma) for label in BASELINES for sigma in WEAKER]
    aside = {"InfoGAN-CR", "HFS", "FactorVAE 10, over steps"}
    monkeypatch.setattr(Shapes3D, "render", flat)
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    monkeypatch.setattr("intervention.why.REPEATS", 2)
    (tmp_path / "data" / "flowers").mkdir(parents=True)
    (tmp_path / "data" / "mnist").touch()  # no folder: the digits that ship with scikit-learn take its place
    for place, flower in enumerate(np.random.default_rng(0).integers(0, 256, (30, 32, 32, 3)).astype(np.uint8)):
        Image.fromarray(flower).save(tmp_path / "data" / "flowers" / f"{place}.png")
    content, page = reproduce_here(
        "intervention",
        tmp_path,
        monkeypatch,
        (),
        lambda point: point["label"] not in aside and (point["label"], point.get("correlated")) not in left_out,
    )
    assert [claim["id"] for claim in content["claims"]] == IDS
    for title in ("dSprites", "3D Shapes", "coloured digits", "does translation agree", "Cost, and the translation"):
        assert title in page
    by_title = {table["title"]: table["rows"] for table in content["tables"]}
    for row in by_title["Variance of the importance weights"]:
        assert all(float(number) >= 0 for number in row[1:])  # there with both kinds of factors
    kinds = [["intervention", kind, steps] for kind in ("correlated", "independent") for steps in (3, 4)]
    assert [row[:3] for row in by_title["Coloured digits: over the length of training"]] == kinds
    lengths = by_title["Coloured digits: over the length of training"]
    assert all(isinstance(row[-2], float) and row[-1].count("/") == 3 for row in lengths)  # L_adv, and what follows
    followed = by_title["Coloured digits: what follows an exchanged feature"]
    assert {row[0] for row in followed} == {"intervention", "FactorVAE 10", "FactorVAE 40"}
    assert all(len(row) == 9 and " / " in row[3] and " / " in row[5] for row in followed)
    sigmas = [row[1] for row in by_title["Coloured digits: robustness to correlation"]]
    assert sigmas == ["independent", 0.4, 0.3, 0.2]
    moved = by_title["Sprites and scenes: what follows an exchanged feature"]
    assert {row[0] for row in moved} == {"dSprites", "3D Shapes"} and all(row[3] and row[4] for row in moved)
    assert not any("pilot" in title for title in by_title)
    names = ["importance_intervention_shapes3d", "traversals_factorvae_40_shapes3d", "traversals_flowers"]
    sizes = {}
    for name in [*names, "neighbours_flowers"]:
        with Image.open(tmp_path / "results" / "intervention" / f"{name}.png") as picture:
            sizes[name] = picture.size
    assert all(f"intervention/{name}.png" in page for name in sizes)
    assert 3 * sizes["traversals_flowers"][1] == pytest.approx(5 * sizes["neighbours_flowers"][1], rel=0.1)  # 5, 3 rows
