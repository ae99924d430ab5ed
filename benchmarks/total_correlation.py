"""The bias of the estimates of the total correlation and of the mutual information from a batch.

python benchmarks/total_correlation.py          writes the table into docs/methods/beta_tcvae.md

Data sets of N codes with independent means, mu ~ N(0, I), and posteriors of one width sigma. The truth sums over all N
posteriors; what it has of total correlation is due to N points being few in so many dimensions.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import torch
from torch import Tensor

from unbraid.maths import gaussian
from unbraid.maths.aggregate import ESTIMATORS, log_aggregate, log_mixture, log_weights, total_correlation

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "beta_tcvae.md"
LATENTS = 10
BATCHES = 40
POINTS = 400  # at which the truth is taken
HEAD = "| N | M | sigma | TC exact | stratified | weighted | paper's weighted | MI exact | stratified | weighted |"


def row(n: int, m: int, sigma: float) -> list[float]:
    """TC, then MI: exact, stratified, weighted (for TC also with the paper's constant)."""
    generator = torch.Generator().manual_seed(0)
    mu = torch.randn(n, LATENTS, generator=generator)
    log_var = torch.full_like(mu, 2 * math.log(sigma))

    def draw(size: int) -> tuple[Tensor, Tensor]:
        rows = torch.randint(n, (size,), generator=generator)
        return rows, mu[rows] + sigma * torch.randn(size, LATENTS, generator=generator)

    def measured(rows: Tensor, z: Tensor, joint: Tensor, each: Tensor) -> Tensor:
        own = gaussian.log_density(z, mu[rows], log_var[rows]).sum(-1)
        return torch.stack([total_correlation(joint, each), (own - joint).mean()])

    def estimated(estimator: str, rows: Tensor, z: Tensor) -> Tensor:
        weights = log_weights(estimator, rows, n)
        return measured(rows, z, *log_mixture(z, mu[rows], log_var[rows], weights))

    rows, z = draw(POINTS)
    found = {"exact": measured(rows, z, *log_aggregate(z, mu, log_var))}
    for estimator in ESTIMATORS:
        found[estimator] = torch.stack([estimated(estimator, *draw(m)) for _ in range(BATCHES)]).mean(0)
    tc, mi = ([found[name][i].item() for name in ("exact", "stratified", "weighted")] for i in range(2))
    return [*tc, tc[-1] + (LATENTS - 1) * math.log(n), *mi]


def table() -> str:
    lines = [HEAD, "|" + "---:|" * HEAD.count(" |")]
    for n in (5000, 100_000):
        for m in (64, 512):
            for sigma in (0.1, 0.2, 0.5):
                values = " | ".join(f"{value:.2f}" for value in row(n, m, sigma))
                lines.append(f"| {n} | {m} | {sigma} | {values} |")
                print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(re.sub(r"(?s)\| N \|.*?\n\n", lambda _: table() + "\n\n", text, count=1))
