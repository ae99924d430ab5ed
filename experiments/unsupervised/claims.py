"""What the large study's runs should show, and the rules that decide (Locatello et al. 2019, arXiv:1811.12359).

A number of the whole table is judged by what each seed adds to it (the jackknife), with Student's t over seeds; what is
told is the mean of that, which is corrected for bias. The ids are those of our list of the study's claims; the wording
is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.study import analyse, choosing
from unbraid.study.claims import Claim, Numbers, Record, Verdict
from unbraid.study.collect import collect, wide
from unbraid.study.reproduce import Found
from unbraid.study.udr import with_udr
from unbraid.study.verdicts import Margin, claim, paired
from unbraid.train.run import write

from .figures import draw
from .more import capacity_claim, impossibility_claim
from .tables import METRICS, TRANSFERS, UNSUPERVISED, newer_methods, over_steps, tables, transfer_rate

SETTING = ["data", "objective", "setting"]
LEFT_OUT = {
    "sampled": ["annealed_vae"],
    "mean": ["annealed_vae", "dip_vae dip_variant=i"],
}  # of the trends, by the study
PUBLISHED_UDR = Path(__file__).parents[2] / "docs" / "results" / "unsupervised" / "udr.csv"
LUCK = 0.05  # share of a score's variance, or of pairs of runs, from which the seed matters
EFFICIENT = 0.3  # rank correlation from which scores would be called a guide to efficiency
BEFORE: dict[str, Verdict] = {
    "001-1 (sampled)": "unclear", "001-1 (mean)": "shown", "001-2": "shown", "001-3": "shown", "001-4": "shown",
    "001-5": "unclear", "001-6 (other data)": "shown", "001-6 (other data and metric)": "unclear", "001-7": "shown",
}  # fmt: skip  # by the rules and runs of the first record
Number = Callable[[pd.DataFrame], float]
Asked = tuple[str, str, str, list[Margin]]


def record(found: Found) -> Record:
    """The page; what needs a study of which no run is done is left out."""
    study, capacity, curve, newer = (_done(found, name) for name in ("study", "capacity", "curve", "newer"))
    claims, shown, pictures = [impossibility_claim()], [], []
    if len(study):
        kept = found.pictures / "udr.csv"
        study = with_known_udr(study, found.folders["study"], kept, kept if kept.exists() else PUBLISHED_UDR)
        study, sizes = analyse.with_efficiency(study, ["downstream"])
        claims = [*study_claims(study, found.notes), *claims]
        shown, pictures = tables(study), draw(study, found.pictures, sizes["downstream"])
    if len(capacity):
        claims.append(capacity_claim(capacity))
    if len(study) and len(newer):
        shown += newer_methods(study, newer)
    if len(curve):
        shown.append(over_steps(curve))
    return Record(
        title="The large study: unsupervised disentanglement",
        about=found.notes[""].format(runs=len(study), seeds=study["seed"].nunique()),
        command=found.command,
        seconds=found.seconds,
        claims=claims,
        tables=shown,
        pictures=pictures,
    )


def _done(found: Found, name: str) -> pd.DataFrame:
    """The finished runs of the plan of one study; its folder may hold those of earlier plans too."""
    folder = found.folders[name]
    names = [result.path.name for result in found.results.done if result.path.parent == folder]
    return wide(collect(folder, names)) if names else pd.DataFrame(columns=["seed"])


def with_known_udr(table: pd.DataFrame, folder: Path, kept: Path, before: Path) -> pd.DataFrame:
    """UDR needs the codes of runs, which records do not hold: what was found of a setting is kept in a file.

    Args:
        kept: the file that is written
        before: the file of an earlier page, if there is one
    """
    table = with_udr(table, folder)
    known = pd.read_csv(before, index_col="run")["udr"] if before.exists() else pd.Series(dtype=float)
    complete = table["udr"].notna().groupby([table[name] for name in SETTING]).transform("all")
    table["udr"] = table["udr"].where(complete, table["run"].map(known).fillna(table["udr"]))
    write(kept, table[["run", "udr"]].dropna().sort_values("run").to_csv(index=False, float_format="%.6g").encode())
    return table


def study_claims(table: pd.DataFrame, notes: Mapping[str, str], wanted: Collection[str] = ()) -> list[Claim]:
    """Claims 001-1 to 001-7 from the table of runs, or those that are wanted."""
    table = table.astype({"data": object, "objective": object})  # pandas groups by them faster than by its strings
    rules: dict[str, Callable[[], list[Asked]]] = {
        "001-1": lambda: [
            _total_correlation(table, "sampled", "falls", -1),
            _total_correlation(table, "mean", "rises", 1),
        ],
        "001-2": lambda: [_agreement(table)],
        "001-3": lambda: [_explained(table)],
        "001-4": lambda: [_overlap(table)],
        "001-5": lambda: [_selection(table)],
        "001-6": lambda: _transfer(table),
        "001-7": lambda: [_efficiency(table)],
    }
    asked = [told for id in wanted or rules for told in rules[id]()]
    seeds = int(table["seed"].nunique())
    return [claim(*told, seeds=seeds, notes=notes, before=BEFORE[told[0]]) for told in asked]


def estimate(table: pd.DataFrame, number: Number) -> tuple[float, Numbers]:
    """A number of the table, corrected for bias by the jackknife, and what each seed adds to it."""
    each = analyse.pseudo_values(table, number)
    return float(each.mean()) if len(each) and np.isfinite(each).all() else number(table), each


def percent(share: float | np.floating, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"  # no minus before a zero


def _total_correlation(table: pd.DataFrame, which: str, word: str, sign: int) -> Asked:
    part = table[~table["objective"].isin(LEFT_OUT[which])]
    score = f"total_correlation.{which}"

    def trends(t: pd.DataFrame) -> list[float]:
        groups = (g for _, g in t.groupby(["data", "objective"]))
        return [sign * analyse.spearman(g["strength"], g[score]) for g in groups]

    found, (trend, trend_each) = trends(part), estimate(part, lambda t: _mean(trends(t)))
    share_each = analyse.pseudo_values(part, lambda t: _mean([v > 0 for v in trends(t)]))
    return (
        f"001-1 ({which})",
        f"total correlation of the {which} representation {word} with regularisation",
        f"mean rank correlation with strength {signed(sign * trend)}; the sign is right for "
        f"{sum(value > 0 for value in found)} of {len(found)} pairs of objective and data set (two thirds are "
        f"asked for; left out: {', '.join(LEFT_OUT[which])})",
        [
            paired(f"rank correlation of strength and total correlation, {word}", trend_each),
            paired("share of right signs, above 2/3", share_each - 2 / 3),
        ],
    )


def _agreement(table: pd.DataFrame) -> Asked:
    """BetaVAE-FactorVAE and MIG-DCI agree more than other pairs; modularity least."""
    pairs = [(a, b) for i, a in enumerate(METRICS) for b in METRICS[:i]]
    strong = {("factor_vae_score", "beta_vae_score"), ("dci", "mig")}

    def correlations(t: pd.DataFrame) -> dict[tuple[str, str], float]:
        found = np.stack([analyse.agreement(part, METRICS).to_numpy() for _, part in t.groupby("data")])
        return {(a, b): _mean(list(found[:, METRICS.index(a), METRICS.index(b)])) for a, b in pairs}

    def lead(t: pd.DataFrame) -> float:
        rho = correlations(t)
        return _mean([rho[p] for p in strong]) - _mean([rho[p] for p in pairs if p not in strong])

    def odd(t: pd.DataFrame) -> float:
        rho = correlations(t)
        return _mean([v for p, v in rho.items() if "modularity" not in p]) - _mean(
            [v for p, v in rho.items() if "modularity" in p]
        )

    rho, (led, lead_each), (apart, odd_each) = correlations(table), estimate(table, lead), estimate(table, odd)
    ranked = sorted(pairs, key=lambda p: -rho[p])
    return (
        "001-2",
        "metrics agree mildly; BetaVAE with FactorVAE and MIG with DCI strongly; modularity is the odd one",
        f"the two pairs lead the others by {signed(led)} in rank correlation; strongest: "
        f"{', '.join(f'{a}-{b} {rho[a, b]:.2f}' for a, b in ranked[:2])}; pairs without modularity agree more by "
        f"{signed(apart)}",
        [
            paired("lead of the two pairs over the others", lead_each),
            paired("pairs without modularity over those with it", odd_each),
        ],
    )


def _explained(table: pd.DataFrame) -> Asked:
    ways = {"objective": ["objective"], "setting": ["objective", "strength"]}

    def shares(t: pd.DataFrame, way: str) -> list[float]:
        parts = [part for _, part in t.groupby("data")]
        return [v for part in parts for v in analyse.shares_beyond_chance(part, METRICS, ways[way])]

    _, added = estimate(table, lambda t: _mean(shares(t, "setting")) - _mean(shares(t, "objective")))
    median, median_each = estimate(table, lambda t: _median(shares(t, "setting")))
    objective, setting = (
        [analyse.explained(part, m, by) for _, part in table.groupby("data") for m in METRICS] for by in ways.values()
    )
    return (
        "001-3",
        "the objective explains 1-89 % of a score's variance, with strength 4-93 %; the rest is the seed",
        f"objective {100 * min(objective):.0f}-{percent(max(objective))} (mean {percent(np.mean(objective))}), with "
        f"strength {100 * min(setting):.0f}-{percent(max(setting))} (mean {percent(np.mean(setting))}); beyond what as "
        f"many groups explain by chance {percent(median)} in the median ({percent(LUCK)} for the seed is asked for)",
        [
            paired("what the strength adds, beyond chance", added),
            paired(
                f"what is left to the seed in the median of scores and data sets, above {LUCK:g}",
                1 - median_each - LUCK,
            ),
        ],
    )


def _overlap(table: pd.DataFrame) -> Asked:
    def over_data(t: pd.DataFrame, number: Callable[[pd.DataFrame, str], float]) -> float:
        return _mean([number(part, m) for _, part in t.groupby("data") for m in METRICS])

    beats, beats_each = estimate(table, lambda t: over_data(t, analyse.seed_beats_strength))
    shared = over_data(table, analyse.overlaps)  # corrected for bias it can be above 100 %
    shared_each = analyse.pseudo_values(table, lambda t: over_data(t, analyse.overlaps))
    return (
        "001-4",
        "ranges of the objectives overlap; a good seed with a bad strength beats a bad seed with a good one",
        f"{percent(shared)} of pairs of objectives overlap in their 10-90 % ranges; a run of a worse strength beats "
        f"one of the best strength in {percent(beats)} of pairs (half and {percent(LUCK)} are asked for)",
        [
            paired("overlapping pairs, above a half", shared_each - 0.5),
            paired(f"pairs in which the worse strength wins, above {LUCK:g}", beats_each - LUCK),
        ],
    )


def _selection(table: pd.DataFrame) -> Asked:
    def gap(t: pd.DataFrame) -> float:
        parts = [part for _, part in t.groupby("data")]
        best = [analyse.agreement(p, UNSUPERVISED, METRICS).abs().to_numpy().max(0).mean() for p in parts]
        own = [analyse.agreement(p, METRICS).abs().to_numpy()[~np.eye(len(METRICS), dtype=bool)].mean() for p in parts]
        return float(np.mean(own) - np.mean(best))

    closer, closer_each = estimate(table, gap)
    guides = {g: np.mean([choosing.choice_by(table, g, m) for m in METRICS]) for g in ("elbo", "udr")}
    return (
        "001-5",
        "unsupervised quantities (reconstruction, KL, ELBO, TC) do not select models reliably",
        f"metrics agree with each other more than with the best unsupervised quantity by {signed(closer)} in absolute "
        f"rank correlation; of all runs of a data set that with the best ELBO beats {percent(guides['elbo'])} of "
        f"the others, the one with the best UDR {percent(guides['udr'])}",
        [paired("agreement of metrics, above that with the best unsupervised quantity", closer_each)],
    )


def _transfer(table: pd.DataFrame) -> list[Asked]:
    found = []
    rates = {kind: estimate(table, partial(transfer_rate, kind=kind)) for kind in TRANSFERS}
    for (before, paper_before), (after, paper_after) in pairwise(TRANSFERS.items()):
        found.append(
            (
                f"001-6 ({after})",
                f"a transferred choice beats a random one in {percent(paper_before, 1)} ({before}), "
                f"{percent(paper_after, 1)} ({after})",
                f"{percent(rates[before][0], 1)}, {percent(rates[after][0], 1)}",
                [paired(f"drop from {before} to {after}", rates[before][1] - rates[after][1])],
            )
        )
    return found


def _efficiency(table: pd.DataFrame) -> Asked:
    def trend(t: pd.DataFrame) -> float:
        groups = [part for _, part in t.groupby("data")]
        return _mean([analyse.spearman(part[m], part["downstream.efficiency"]) for part in groups for m in METRICS])

    rho, each = estimate(table, trend)
    return (
        "001-7",
        "higher scores do not reliably bring sample efficiency downstream",
        "mean rank correlation of metrics and efficiency (accuracy with 100 over that with 1,000 labels) "
        f"{signed(rho)} (less than {EFFICIENT:g} is asked for)",
        [paired(f"rank correlation below {EFFICIENT:g}", EFFICIENT - each)],
    )


def _mean(values: list[float] | list[bool]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _median(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.median(known)) if known else float("nan")
