"""How many samples a metric needs: its value for a good, a mixed and a noise code, and by chance, against n.

    python benchmarks/metrics_samples.py [NAME ...] [--out docs/metrics/pictures] [--redraw]

Writes a picture for each metric of arrays, and `values.json` with all that was measured; `--redraw` draws that file.
Independent factors of 3, 6 and 12 values. Good: a latent for each factor, with noise of a fifth of its standard
deviation, and one latent of noise. Mixed: each of the latents has half of its neighbour's factor besides. Noise: four
latents that know nothing. By chance: the good code with its rows shuffled (latents against each other where there are
no factors).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.pictures import new_figure
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.metrics.probe_table import probe_table
from unbraid.metrics.suite import Metric, available, metric_function, needs_factors
from unbraid.metrics.udr import udr
from unbraid.metrics.w2 import w2

SIZES = np.array([3, 6, 12])
NOISE, SHARE = 0.2, 0.5
SAMPLES = (100, 300, 1000, 3000, 10_000)
SLOW: dict[str, tuple[int, dict[str, Any]]] = {  # the largest n, and options that cost less
    "beta_vae_score": (3000, {"points": 1000, "test_points": 1000}),
    "factor_vae_score": (10_000, {"votes": 1000, "test_votes": 1000}),
    "z_max_variance": (10_000, {"votes": 1000, "test_votes": 1000}),
    "clustering_accuracy": (1000, {"resamplings": 0}),
    "downstream": (3000, {"predictor": "trees", "sizes": (10, 100, 1000)}),
    "dci": (3000, {}),
    "label_efficiency": (3000, {}),
    "dci_es": (3000, {}),
    "neuron_knockout": (3000, {}),
    "info_mec": (1000, {}),
    "udr": (10_000, {"resamplings": 0}),
    "w2": (10_000, {"large": 0}),
}
OTHERS: dict[str, Metric] = {
    "group_accuracy": group_accuracy,
    "probe_table": probe_table,
    "udr": udr,
    "w2": w2,
}  # have a chance level
CODES = ("good", "mixed", "noise")
COLOURS = {"good": "#3b86d8", "mixed": "#d9792b", "noise": "#9c6ad0", "by chance": "#808488"}
INK = "#808488"  # is read on white and on black


def draw(kind: str, n: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    factors = rng.integers(0, SIZES, (n, len(SIZES)))
    codes = (factors - (SIZES - 1) / 2) / np.sqrt((SIZES**2 - 1) / 12)
    if kind == "mixed":
        codes = codes + SHARE * np.roll(codes, 1, axis=1)
    codes = np.concatenate([codes, np.zeros((n, 1))], 1) + NOISE * rng.standard_normal((n, len(SIZES) + 1))
    return (rng.standard_normal(codes.shape) if kind == "noise" else codes), factors


def inputs(name: str, kind: str, n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """The arrays that a metric of other things takes; which codes they stand for is said on its page."""
    codes, factors = draw(kind, n, rng)
    if name == "udr":  # three runs: the latents in another order, each run turned in its own way, or nothing in common
        runs = [codes if kind != "noise" else rng.standard_normal(codes.shape) for _ in range(3)]
        return ([np.roll(run @ _turn(k) if kind == "mixed" else run, k, axis=1) for k, run in enumerate(runs)],)
    if name == "w2":  # the same distribution, one that is shifted by one half, and one twice as wide
        other = draw("good", n, rng)[0]
        return draw("good", n, rng)[0], {"good": other, "mixed": other + 0.5, "noise": 2 * other}[kind]
    if name == "probe_table":  # a block for each of two tasks, both in both, neither
        blocks = {"z0": codes[:, :1], "z1": codes[:, 1:2]}
        return ({"z0": codes, "z1": codes[:, ::-1]} if kind == "mixed" else blocks), factors[:, :2]
    labels, nuisances = factors[:, 0], factors[:, 1]  # right at 95 %; at 50 % with one nuisance; guesses
    rate: Any = {"good": 0.95, "mixed": np.where(nuisances == 0, 0.5, 0.95), "noise": 1 / 3}[kind]
    return np.where(rng.random(n) < rate, labels, (labels + rng.integers(1, 3, n)) % 3), labels, nuisances


def _turn(seed: int) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
    return matrix


def one(name: str, kind: str, n: int, seed: int) -> dict[str, float]:
    """The value for one draw, and the chance level where the code is the good one."""
    rng = np.random.default_rng((seed, n))
    options = SLOW.get(name, (0, {}))[1]
    if name in OTHERS:
        found = OTHERS[name](*inputs(name, kind, n, rng), rng, **options)
        chance = {"by chance": found.null} if kind == "good" and found.null is not None else {}
        return {kind: found.value, **chance}
    function = metric_function(name)
    codes, factors = draw(kind, n, rng)
    arrays = (codes, factors) if needs_factors(function) else (codes,)
    found = function(*arrays, rng, **options)
    values = {kind: found.value}
    if kind == "good" and found.null is not None:
        values["by chance"] = found.null
    elif kind == "good":
        mixed = rng.permutation(codes) if needs_factors(function) else rng.permuted(codes, axis=0)
        values["by chance"] = function(mixed, *arrays[1:], rng, **options).value
    return values


def measure(name: str, draws: int) -> dict[str, dict[str, list[float | None]]]:
    """For each code and n the values of some draws; None where the metric is undefined or refuses so few samples."""
    from unbraid.errors import UserError

    found: dict[str, dict[str, list[float | None]]] = {}
    for n in [n for n in SAMPLES if n <= SLOW.get(name, (SAMPLES[-1], {}))[0]]:
        for kind in CODES:
            for seed in range(draws):
                try:
                    values = one(name, kind, n, seed)
                except UserError:
                    values = {kind: float("nan")}
                for line, value in values.items():
                    finite = float(value) if np.isfinite(value) else None
                    found.setdefault(line, {}).setdefault(str(n), []).append(finite)
    return found


def picture(values: dict[str, dict[str, list[float | None]]], path: Path) -> None:
    figure = new_figure(5, 2.7)
    axis = figure.add_subplot()
    for line in (*CODES, "by chance"):
        points = {int(n): [v for v in found if v is not None] for n, found in values.get(line, {}).items()}
        points = {n: found for n, found in points.items() if found}
        style: dict[str, Any] = {"linestyle": "--"} if line == "by chance" else {"marker": "o", "markersize": 3.5}
        axis.plot(
            [*points], [np.mean(v) for v in points.values()], color=COLOURS[line], label=line, linewidth=1.6, **style
        )
        if line != "by chance":
            low, high = [min(v) for v in points.values()], [max(v) for v in points.values()]
            axis.fill_between([*points], low, high, color=COLOURS[line], alpha=0.25, linewidth=0)
    axis.set_xscale("log")
    axis.set_xticks(SAMPLES, [f"{n:,}" for n in SAMPLES])
    axis.minorticks_off()
    axis.set_xlim(SAMPLES[0] * 0.85, SAMPLES[-1] * 1.2)
    axis.set_xlabel("samples", color=INK)
    axis.tick_params(colors=INK, labelsize=9)
    axis.grid(axis="y", color=INK, alpha=0.25, linewidth=0.6)
    for side, spine in axis.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(INK)
    figure.legend(loc="outside upper left", ncols=4, frameon=False, labelcolor=INK, fontsize=9, handlelength=1.6)
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})


def main() -> None:
    import matplotlib as mpl

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "", "font.family": "sans-serif"})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="metrics; all of them unless given")
    parser.add_argument("--draws", type=int, default=4, help="of the samples, for each number of them")
    parser.add_argument("--out", type=Path, default=Path("docs/metrics/pictures"))
    parser.add_argument("--redraw", action="store_true", help="measure nothing, draw values.json")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    kept = given.out / "values.json"
    values = json.loads(kept.read_text()) if kept.exists() else {}
    for name in given.names or [*available(), *OTHERS]:
        start = time.process_time()
        if not given.redraw:
            values[name] = measure(name, given.draws)
            kept.write_text(json.dumps(dict(sorted(values.items())), indent=1) + "\n")
        picture(values[name], given.out / f"{name}.svg")
        print(f"{name}: {time.process_time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
