"""What do treated cells do that untreated ones do not? Tables of counts, without labels.

    python examples/count_table.py [steps] [seeds]

Made up here: 1,200 cells with 200 genes. Two programmes move genes of both sets; each treated cell has one of three
responses, which nothing tells the method, and treated cells were counted two and a half times as deep.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score

import unbraid

CELLS, GENES, RESPONSES = 600, 200, 3
THETA = 5.0  # of the negative binomial distribution: the variance of a count is mean + mean^2 / theta


@dataclass(frozen=True)
class Experiment:
    """Counts of both sets, and what is known of the treated cells."""

    treated: NDArray[np.int64]  # [cells, genes]
    untreated: NDArray[np.int64]
    response: NDArray[np.int64]  # [cells]
    programmes: NDArray[np.float64]  # [cells, 2] how far each shared programme is on


def make_cells(seed: int = 0) -> Experiment:
    """Genes 0 to 79 belong to the shared programmes, genes 100 to 159 to the responses, 20 to each."""
    rng = np.random.default_rng(seed)
    usual = rng.normal(size=GENES)
    shared, own = np.zeros((2, GENES)), np.zeros((RESPONSES, GENES))
    shared[0, :40], shared[1, 40:80] = rng.normal(0, 0.8, (2, 40))
    for kind in range(RESPONSES):
        own[kind, 100 + 20 * kind : 120 + 20 * kind] = 1.5  # 4.5 times as many, 2.2 in log2
    response, programmes = rng.integers(0, RESPONSES, CELLS), rng.normal(size=(2 * CELLS, 2))
    rates = usual + programmes @ shared
    rates[:CELLS] += own[response]
    share = np.exp(rates) / np.exp(rates).sum(1, keepdims=True)
    library = rng.lognormal(np.log(np.repeat([2500, 1000], CELLS)), 0.5)
    counts = rng.poisson(rng.gamma(THETA, library[:, None] * share / THETA))
    return Experiment(counts[:CELLS], counts[CELLS:], response, programmes[:CELLS])


def report(codes: dict[str, NDArray[np.float32]], cells: Experiment) -> dict[str, float]:
    """What each block knows of the response, of the shared programmes and of the library size, on held-out folds."""
    depth, found = np.log(cells.treated.sum(1)), {}
    for block, code in codes.items():
        x = (code - code.mean(0)) / np.maximum(code.std(0), 1e-6)
        classifier, line = LogisticRegression(max_iter=2000), LinearRegression()
        found[f"response from {block}"] = cross_val_score(classifier, x, cells.response, cv=5).mean()
        found[f"programmes from {block} (R2)"] = cross_val_score(line, x, cells.programmes, cv=5, scoring="r2").mean()
        found[f"library size from {block} (R2)"] = cross_val_score(line, x, depth, cv=5, scoring="r2").mean()
    clusters = KMeans(RESPONSES, n_init=10, random_state=0).fit_predict(codes["s"])
    return found | {"adjusted Rand index of k-means on s": adjusted_rand_score(cells.response, clusters)}


def main(steps: int, seeds: int) -> None:
    cells = make_cells()
    for likelihood in ("negative_binomial", "gaussian"):
        counts = likelihood == "negative_binomial"
        data = unbraid.from_arrays(cells.treated, background=cells.untreated, counts=counts)
        scores = []
        for seed in range(seeds):
            method = unbraid.build(
                "salient_vae", data, seed=seed, likelihood=likelihood, salient=4, common=4, beta=1.0, width=8
            )
            run = unbraid.fit(method, data, steps=steps, batch=64, seed=seed, show=False)
            model = unbraid.load_run(run.path)
            scores.append(report(model.encode(cells.treated), cells))
            if counts and seed == 0:
                print(model.effects(cells.treated, block="s").groupby("latent").head(4).to_string(index=False))
        print(f"\n{likelihood}, mean and range of {seeds} seeds")
        for name in scores[0]:
            values = [score[name] for score in scores]
            print(f"  {name}: {np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    unbraid.represent(run, method, data)
    print(unbraid.report(run))


if __name__ == "__main__":
    main(
        steps=int(sys.argv[1]) if len(sys.argv) > 1 else 2000,
        seeds=int(sys.argv[2]) if len(sys.argv) > 2 else 3,
    )
