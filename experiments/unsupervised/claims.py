"""What the large study's runs should show, and the rules that decide (Locatello et al. 2019, arXiv:1811.12359).

A number of the whole table is judged by what each seed adds to it (the jackknife), with Student's t over seeds. The ids
are those of our list of the study's claims; the wording is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.study import analyse, choosing
from unbraid.study.claims import Claim, Record, Verdict
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
        study = with_known_udr(study, found.folders["study"], found.pictures / "udr.csv")
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


def with_known_udr(table: pd.DataFrame, folder: Path, kept: Path) -> pd.DataFrame:
    """UDR needs the codes of runs, which records do not hold: what was found of a setting is kept in a file."""
    table = with_udr(table, folder)
    known = pd.read_csv(kept, index_col="run")["udr"] if kept.exists() else pd.Series(dtype=float)
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


def _judged(what: str, table: pd.DataFrame, number: Number) -> Margin:
    return paired(what, analyse.pseudo_values(table, number))


def _total_correlation(table: pd.DataFrame, which: str, word: str, sign: int) -> Asked:
    part = table[~table["objective"].isin(LEFT_OUT[which])]
    score = f"total_correlation.{which}"

    def trends(t: pd.DataFrame) -> list[float]:
        groups = (g for _, g in t.groupby(["data", "objective"]))
        return [sign * analyse.spearman(g["strength"], g[score]) for g in groups]

    found = trends(part)
    return (
        f"001-1 ({which})",
        f"total correlation of the {which} representation {word} with regularisation",
        f"mean rank correlation with strength {sign * _mean(found):+.2f}; the sign is right for "
        f"{sum(value > 0 for value in found)} of {len(found)} pairs of objective and data set (left out: "
        f"{', '.join(LEFT_OUT[which])})",
        [
            _judged(f"rank correlation of strength and total correlation, {word}", part, lambda t: _mean(trends(t))),
            _judged("share of right signs, above 2/3", part, lambda t: _mean([v > 0 for v in trends(t)]) - 2 / 3),
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

    rho = correlations(table)
    ranked = sorted(pairs, key=lambda p: -rho[p])
    return (
        "001-2",
        "metrics agree mildly; BetaVAE with FactorVAE and MIG with DCI strongly; modularity is the odd one",
        f"the two pairs lead the others by {lead(table):+.2f} in rank correlation; strongest: "
        f"{', '.join(f'{a}-{b} {rho[a, b]:.2f}' for a, b in ranked[:2])}; pairs without modularity agree more by "
        f"{odd(table):+.2f}",
        [
            _judged("lead of the two pairs over the others", table, lead),
            _judged("pairs without modularity over those with it", table, odd),
        ],
    )


def _explained(table: pd.DataFrame) -> Asked:
    ways = {"objective": ["objective"], "setting": ["objective", "strength"]}

    def shares(t: pd.DataFrame, way: str) -> list[float]:
        parts = [part for _, part in t.groupby("data")]
        return [v for part in parts for v in analyse.shares_beyond_chance(part, METRICS, ways[way])]

    objective, setting = (
        [analyse.explained(part, m, by) for _, part in table.groupby("data") for m in METRICS] for by in ways.values()
    )
    return (
        "001-3",
        "the objective explains 1-89 % of a score's variance, with strength 4-93 %; the rest is the seed",
        f"objective {min(objective):.0%}-{max(objective):.0%} (mean {np.mean(objective):.0%}), with strength "
        f"{min(setting):.0%}-{max(setting):.0%} (mean {np.mean(setting):.0%}); beyond what as many groups explain by "
        f"chance {_median(shares(table, 'setting')):.0%} in the median ({LUCK:.0%} for the seed is asked for)",
        [
            _judged(
                "what the strength adds, beyond chance",
                table,
                lambda t: _mean(shares(t, "setting")) - _mean(shares(t, "objective")),
            ),
            _judged(
                f"what is left to the seed in the median of scores and data sets, above {LUCK:g}",
                table,
                lambda t: 1 - _median(shares(t, "setting")) - LUCK,
            ),
        ],
    )


def _overlap(table: pd.DataFrame) -> Asked:
    def over_data(t: pd.DataFrame, number: Callable[[pd.DataFrame, str], float]) -> float:
        return _mean([number(part, m) for _, part in t.groupby("data") for m in METRICS])

    beats, shared = over_data(table, analyse.seed_beats_strength), over_data(table, analyse.overlaps)
    return (
        "001-4",
        "ranges of the objectives overlap; a good seed with a bad strength beats a bad seed with a good one",
        f"{shared:.0%} of pairs of objectives overlap in their 10-90 % ranges; a run of a worse strength beats one of "
        f"the best strength in {beats:.0%} of pairs (half and {LUCK:.0%} are asked for)",
        [
            _judged("overlapping pairs, above a half", table, lambda t: over_data(t, analyse.overlaps) - 0.5),
            _judged(
                f"pairs in which the worse strength wins, above {LUCK:g}",
                table,
                lambda t: over_data(t, analyse.seed_beats_strength) - LUCK,
            ),
        ],
    )


def _selection(table: pd.DataFrame) -> Asked:
    def gap(t: pd.DataFrame) -> float:
        parts = [part for _, part in t.groupby("data")]
        best = [analyse.agreement(p, UNSUPERVISED, METRICS).abs().to_numpy().max(0).mean() for p in parts]
        own = [analyse.agreement(p, METRICS).abs().to_numpy()[~np.eye(len(METRICS), dtype=bool)].mean() for p in parts]
        return float(np.mean(own) - np.mean(best))

    guides = {g: np.mean([choosing.choice_by(table, g, m) for m in METRICS]) for g in ("elbo", "udr")}
    return (
        "001-5",
        "unsupervised quantities (reconstruction, KL, ELBO, TC) do not select models reliably",
        f"metrics agree with each other more than with the best unsupervised quantity by {gap(table):+.2f} in absolute "
        f"rank correlation; the run with the best ELBO beats {guides['elbo']:.0%} of the others, the one with the best "
        f"UDR {guides['udr']:.0%}",
        [_judged("agreement of metrics, above that with the best unsupervised quantity", table, gap)],
    )


def _transfer(table: pd.DataFrame) -> list[Asked]:
    found = []
    for (before, paper_before), (after, paper_after) in pairwise(TRANSFERS.items()):

        def drop(t: pd.DataFrame, before: str = before, after: str = after) -> float:
            return transfer_rate(t, before) - transfer_rate(t, after)

        found.append(
            (
                f"001-6 ({after})",
                f"a transferred choice beats a random one in {paper_before:.1%} ({before}), {paper_after:.1%} "
                f"({after})",
                f"{transfer_rate(table, before):.1%}, {transfer_rate(table, after):.1%}",
                [_judged(f"drop from {before} to {after}", table, drop)],
            )
        )
    return found


def _efficiency(table: pd.DataFrame) -> Asked:
    def trend(t: pd.DataFrame) -> float:
        groups = [part for _, part in t.groupby("data")]
        return _mean([analyse.spearman(part[m], part["downstream.efficiency"]) for part in groups for m in METRICS])

    return (
        "001-7",
        "higher scores do not reliably bring sample efficiency downstream",
        "mean rank correlation of metrics and efficiency (accuracy with 100 over that with 1,000 labels) "
        f"{trend(table):+.2f} (less than {EFFICIENT:g} is asked for)",
        [_judged(f"rank correlation below {EFFICIENT:g}", table, lambda t: EFFICIENT - trend(t))],
    )


def _mean(values: list[float] | list[bool]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _median(values: list[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.median(known)) if known else float("nan")
