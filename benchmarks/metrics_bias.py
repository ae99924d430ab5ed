"""Bias of the metrics against the number of samples, on a noisy code of known construction.

    python benchmarks/metrics_bias.py [--draws 20] [--most 20000] [--out docs/pictures/metrics_bias.png]

Five independent factors of 3 to 32 values; five latents, two of which mix two factors, and one latent of noise. For
each metric of the default suite: the mean over draws at each n, less the mean at the largest n, with two standard
errors. The BetaVAE and FactorVAE scores take fewer points and votes than by default (LIGHT).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.pictures import new_figure
from unbraid.metrics.suite import DEFAULT, metric_function, needs_factors

SIZES = np.array([3, 6, 12, 32, 32])
MIXED = 0.4  # share of its neighbour in each of the last two latents
NOISE = 0.2
SAMPLES = (300, 1000, 3000, 10_000, 20_000)
LIGHT: dict[str, dict[str, Any]] = {
    "beta_vae_score": {"points": 2000, "test_points": 2000},
    "factor_vae_score": {"votes": 2000, "test_votes": 2000},
}


def draw(n: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    factors = rng.integers(0, SIZES, (n, len(SIZES)))
    codes = (factors - (SIZES - 1) / 2) / np.sqrt((SIZES**2 - 1) / 12)
    codes[:, 3:] = codes[:, 3:] @ np.array([[1, MIXED], [MIXED, 1]]) / (1 + MIXED**2) ** 0.5
    codes = np.concatenate([codes, np.zeros((n, 1))], 1) + NOISE * rng.standard_normal((n, len(SIZES) + 1))
    return codes, factors


def measure(name: str, n: int, draws: int) -> tuple[float, float]:
    """Mean and standard error of a metric over draws of n samples."""
    function, values = metric_function(name), []
    for seed in range(draws):
        rng = np.random.default_rng((seed, n))
        codes, factors = draw(n, rng)
        arrays = (codes, factors) if needs_factors(function) else (codes,)
        values.append(function(*arrays, rng, **LIGHT.get(name, {})).value)
    return float(np.mean(values)), float(np.std(values, ddof=1) / draws**0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="of the samples, for each number of them")
    parser.add_argument("--most", type=int, default=20_000, help="largest number of samples")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures/metrics_bias.png"))
    given = parser.parse_args()
    sizes = [n for n in SAMPLES if n <= given.most]
    figure = new_figure(10, 7.5)
    for place, name in enumerate(DEFAULT, 1):
        means, errors = np.array([measure(name, n, given.draws) for n in sizes]).T
        print(name, *(f"{n}: {mean:.4f} ± {error:.4f}" for n, mean, error in zip(sizes, means, errors, strict=True)))
        axis = figure.add_subplot(3, 4, place)
        axis.errorbar(sizes, means - means[-1], 2 * errors, marker="o", markersize=3, linewidth=1)
        axis.axhline(0, color="grey", linewidth=0.5)
        axis.set_xscale("log")
        axis.set_title(f"{name} ({means[-1]:.2f})", fontsize=8, loc="left")
        axis.tick_params(labelsize=7)
    figure.supxlabel("samples", fontsize=9)
    figure.supylabel(f"score less its value at {sizes[-1]} samples (in brackets)", fontsize=9)
    figure.savefig(given.out, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
