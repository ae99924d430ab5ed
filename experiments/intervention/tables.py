"""Tables 1 to 3 and figure 3 of the paper on intervention, each number beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from unbraid.reproduce.results import Numbers, Result, Table

from unbraid.data.split import correlation

SETS = {"dsprites": "dSprites", "shapes3d": "3D Shapes"}
METRICS = ("dci", "sap", "irs")
FACTOR_VAES = ("FactorVAE 10", "FactorVAE 40")
PAPER: dict[tuple[str, str], tuple[float, ...]] = {  # DCI, SAP, IRS independent, then correlated
    ("dsprites", "FactorVAE 10"): (0.73, 0.55, 0.62, 0.60, 0.46, 0.54),
    ("dsprites", "FactorVAE 40"): (0.72, 0.56, 0.63, 0.63, 0.47, 0.57),
    ("dsprites", "beta-TCVAE"): (0.62, 0.54, 0.55, 0.55, 0.46, 0.46),
    ("dsprites", "InfoGAN-CR"): (0.73, 0.58, 0.50, 0.68, 0.51, 0.45),
    ("dsprites", "intervention"): (0.76, 0.55, 0.62, 0.74, 0.51, 0.59),
    ("shapes3d", "FactorVAE 10"): (0.75, 0.43, 0.65, 0.60, 0.33, 0.57),
    ("shapes3d", "FactorVAE 40"): (0.73, 0.53, 0.67, 0.49, 0.26, 0.42),
    ("shapes3d", "beta-TCVAE"): (0.76, 0.46, 0.70, 0.68, 0.23, 0.64),
    ("shapes3d", "InfoGAN-CR"): (0.53, 0.40, 0.57, 0.36, 0.25, 0.44),
    ("shapes3d", "intervention"): (0.63, 0.45, 0.62, 0.67, 0.47, 0.66),
}
PAPER_DIGITS = {"FactorVAE 10": (0.83, 0.41), "FactorVAE 40": (0.72, 0.47), "intervention": (0.74, 0.70)}


class Results:
    """Numbers of runs by method, data set and kind of factors, one for each seed."""

    def __init__(self, found: Sequence[Result]) -> None:
        self.found = sorted(found, key=lambda result: int(result["seed"]))

    def runs(self, data: str, label: str | None = None, correlated: bool | None = None) -> list[Result]:
        return [
            result
            for result in self.found
            if result["data"] == data
            and label in (None, result["label"])
            and correlated in (None, bool(result["correlated"]))
        ]

    def score(self, data: str, label: str, correlated: bool, name: str) -> Numbers:
        return np.array([value(result, name) for result in self.runs(data, label, correlated)])

    def drop(self, data: str, label: str, name: str) -> Numbers:
        """Independent less correlated, seed by seed."""
        return self.score(data, label, False, name) - self.score(data, label, True, name)

    def labels(self, data: str) -> list[str]:
        return list(dict.fromkeys(result["label"] for result in self.runs(data)))


def value(result: Result, name: str, part: str | None = None) -> float:
    score = result["scores"][name]
    number = score["parts"].get(part) if part else score["value"]
    return float("nan") if number is None else float(number)


def rank_correlation(
    runs: Sequence[Result], metric: str, part: str | None = None, draws: int = 500
) -> tuple[float, float, float, int]:
    """Spearman's correlation of -translation with a metric, its interval by bootstrap, and the number of models.

    Args:
        part: of the translation, instead of its value
        draws: resamplings of the models
    """
    pairs = np.array([(-value(run, "translation", part), value(run, metric)) for run in runs]).reshape(-1, 2)
    pairs = pairs[np.isfinite(pairs).all(1)]
    if len(pairs) < 4 or not pairs.std(0).all():
        return float("nan"), float("nan"), float("nan"), len(pairs)
    rng, found = np.random.default_rng(0), []
    for _ in range(draws):
        again = pairs[rng.integers(len(pairs), size=len(pairs))]
        if again.std(0).all():
            found.append(float(spearmanr(*again.T).statistic))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(spearmanr(*pairs.T).statistic), float(low), float(high), len(pairs)


def scores(r: Results, data: str) -> Table:
    rows: list[list[Any]] = []
    for label in r.labels(data):
        cells = [cell(r.score(data, label, kind, m)) for kind in (False, True) for m in METRICS]
        changes = [f"{-r.drop(data, label, m).mean():+.2f}" for m in METRICS]
        paper = " / ".join(f"{v:.2f}" for v in PAPER[data, label])
        rows.append([label, *cells, " / ".join(changes), paper])
    names = [f"{m.upper()} {kind}" for kind in ("indep.", "corr.") for m in METRICS]
    columns = ["method", *names, "change", "the paper: DCI, SAP, IRS independent; correlated"]
    return Table(f"Table {1 + list(SETS).index(data)}: {SETS[data]}", columns, rows, "Mean (least to most over seeds).")


def digits(r: Results) -> Table:
    rows = []
    for label in r.labels("cmnist"):
        ours = [cell(r.score("cmnist", label, kind, m)) for m in ("sap", "dci") for kind in (False, True)]
        rows.append([label, *ours, *PAPER_DIGITS[label]])
    note = "SAP by logistic regression on whole features of 16 dimensions; two features."
    names = [f"{m} {kind}" for m in ("SAP", "DCI") for kind in ("indep.", "corr.")]
    columns = ["method", *names, "the paper: SAP independent", "correlated"]
    return Table("Table 3: coloured digits", columns, rows, note)


def agreement(r: Results) -> Table:
    rows: list[list[Any]] = []
    for data, name in SETS.items():
        of_factor_vae = [run for label in FACTOR_VAES for run in r.runs(data, label)]
        for kind, runs in (("FactorVAE", of_factor_vae), ("all methods", r.runs(data))):
            for part, meaning in ((None, "share left"), ("loss", "loss")):
                found = [rank_correlation(runs, m, part) for m in METRICS]
                cells = [f"{rho:.2f} ({low:.2f} to {high:.2f}), {n} models" for rho, low, high, n in found]
                rows.append([name, kind, meaning, *cells])
    note = (
        "Spearman's correlation of -translation with the metrics that know the factors: of the share of a feature's "
        "effect that a translator has not learned, and of the plain loss, as in the paper's algorithm; in brackets a "
        "bootstrap over models."
    )
    columns = ["data", "models", "translation", *(m.upper() for m in METRICS)]
    return Table("Figure 3: does translation agree with other metrics?", columns, rows, note)


def more_steps(r: Results, longer: Sequence[Result]) -> Table:
    rows = []
    for long in longer:
        same = [run for run in r.runs(long["data"], long["label"], long["correlated"]) if run["seed"] == long["seed"]]
        for run in (*same, long):
            numbers = [value(run, name) for name in (*METRICS, "translation")]
            kind = "correlated" if run["correlated"] else "independent"
            rows.append([run["data"], run["label"], kind, run["seed"], run["steps"], *numbers, run["weight_variance"]])
    columns = ["data", "method", "factors", "seed", "steps", *(m.upper() for m in METRICS), "translation"]
    return Table("More steps", [*columns, "variance of the weights"], rows)


def bearing(r: Results, weaker: Sequence[Result], kept: Sequence[Result]) -> Table:
    rows: list[list[Any]] = []
    for data, label in dict.fromkeys((run["data"], run["label"]) for run in weaker):
        runs = [*r.runs(data, label), *(run for run in weaker if (run["data"], run["label"]) == (data, label))]
        sigmas = sorted({run["sigma"] for run in runs}, reverse=True)
        rows += [[label, "random", *_borne([run for run in runs if run["sigma"] == sigma])] for sigma in sigmas]
    rows.append([kept[0]["label"], "those of independent factors", *_borne(kept)])
    note = (
        "sigma: of the correlation; the smaller, the stronger. Apart: digit and hue are told best by features of their "
        "own. The last row begins with the weights that the runs with independent factors ended with, and goes on "
        f"with correlated ones for {kept[0]['steps']:,} steps."
    )
    columns = ["method", "first weights", "sigma", "SAP", "DCI", "apart", "variance of the weights", "should be"]
    return Table("Coloured digits: how much correlation is borne", columns, rows, note)


def _borne(runs: Sequence[Result]) -> list[Any]:
    """Of runs that have one sigma."""
    sigma, correlated = runs[0]["sigma"], runs[0]["correlated"]
    apart = sum(apart_by_sap(run["scores"]["sap"]["parts"]) for run in runs)
    numbers = [cell([value(run, name) for run in runs]) for name in ("sap", "dci")]
    variances = [run["weight_variance"] for run in runs if run["weight_variance"] is not None]
    ideal = f"{variance_of_weights(sigma) if correlated else 0.0:.2f}" if variances else ""
    return [sigma if correlated else "independent", *numbers, f"{apart} of {len(runs)}", cell(variances), ideal]


def apart_by_sap(parts: dict[str, Any], least: float = 0.1) -> bool:
    """Whether two factors are told best by different features, each better by `least` than the other does."""
    return len(set(parts["best_latent"])) == 2 and min(parts["per_factor"]) >= least


def variance_of_weights(sigma: float) -> float:
    """Of p/p', where each exchange replaces one of two correlated factors with ten values each."""
    p = correlation((10, 10), sigma)
    return float((p**2 / np.outer(p.sum(1), p.sum(0))).sum() - 1)


def weights(r: Results) -> Table:
    rows = []
    for data in (*SETS, "cmnist"):
        kinds = [r.runs(data, "intervention", correlated) for correlated in (False, True)]
        rows.append([data, *(cell([run["weight_variance"] for run in runs]) for runs in kinds)])
    note = (
        "Of the intervention model at the end of training, with the weights' mean at one. It should be 0 for "
        f"independent factors, and {variance_of_weights(0.2):.2f} for correlated ones where each exchange replaces one "
        "of the two, as on digits; less where some replace neither. Far above that few exchanges count at all."
    )
    return Table("Variance of the importance weights", ["data", "independent", "correlated"], rows, note)


def costs(r: Results) -> Table:
    rows: list[list[Any]] = []
    for data in (*SETS, "cmnist"):
        for label in r.labels(data):
            runs = r.runs(data, label)
            found = [np.array([value(run, "translation", part) for run in runs]) for part in (None, "loss", "active")]
            rows.append([data, label, float(np.median([run["seconds"] for run in runs])), *map(cell, found)])
    columns = ["data", "method", "CPU seconds of a run", "translation", "translation loss, nats", "active features"]
    note = "CPU seconds are the median over runs; a run that was stopped and went on counts from where it went on."
    return Table("Cost, and the translation metric", columns, rows, note)


def cell(values: Any) -> str:
    finite = np.asarray(values, float)[np.isfinite(values)]
    if not len(finite):
        return ""
    mean = f"{finite.mean():.2f}"
    return mean if len(finite) == 1 else f"{mean} ({finite.min():.2f} to {finite.max():.2f})"
