"""What the large study's record needs beside its table of runs: the theorem, and the order of what is learned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from scipy.stats import kstest

from unbraid.maths.entangle import entangle
from unbraid.metrics.mig import mig
from unbraid.study.claims import Claim

POSITION, OTHERS = ("posX", "posY"), ("shape", "scale", "orientation")


def impossibility_claim() -> Claim:
    """001-8: f keeps the distribution of independent normal latents and entangles them."""
    torch.manual_seed(0)
    z = torch.randn(100_000, 5, dtype=torch.float64)
    mixed = entangle(z)
    p = min(float(kstest(mixed[:, i].numpy(), "norm").pvalue) for i in range(5))
    jacobian = torch.func.jacrev(lambda v: entangle(v[None])[0])(z[0])
    factors = torch.floor(torch.special.ndtr(z[:10_000]) * 10).long().numpy()
    scores = [mig(codes[:10_000].numpy(), factors, np.random.default_rng(0)).value for codes in (z, mixed)]
    good = p > 0.01 and bool((jacobian.abs() > 1e-6).all()) and scores[1] < 0.2 * scores[0]
    return Claim(
        id="001-8",
        paper="there is an f that keeps the distribution of independent latents and entangles every coordinate",
        ours=f"five normal latents: smallest p of five Kolmogorov-Smirnov tests on 100,000 samples {p:.2f}, smallest "
        f"entry of the Jacobian {jacobian.abs().min():.2f}, MIG of z {scores[0]:.2f} and of f(z) {scores[1]:.2f}",
        low=None,
        high=None,
        seeds=1,
        verdict="shown" if good else "not shown",
    )


def capacity_claim(table: pd.DataFrame) -> Claim:
    """001-9: while the capacity grows, the position is encoded before the other factors."""
    lead: dict[int, list[float]] = {}
    for _, run in table.sort_values("steps").iterrows():
        nats = {name: float(run[f"nats.{name}"]) for name in (*POSITION, *OTHERS)}
        lead.setdefault(int(run["steps"]), []).append(
            float(np.mean([nats[n] for n in POSITION]) - max(nats[n] for n in OTHERS))
        )
    means = {steps: float(np.mean(values)) for steps, values in lead.items()}
    first = [steps for steps, value in means.items() if abs(value) > 0.2]
    early = np.array(lead[first[0]]) if first else np.zeros(1)
    text = ", ".join(f"{value:+.2f} at step {steps:,}" for steps, value in means.items())
    return Claim(
        id="001-9",
        paper="growing capacity uncovers factors in order: position, then scale, then shape and rotation",
        ours=f"nats known of the position beyond those known of any other factor: {text} (that the position is first "
        "is what is judged)",
        low=float(early.min()),
        high=float(early.max()),
        seeds=table["seed"].nunique(),
        verdict="shown" if early.min() > 0 else "not shown" if early.max() < 0 else "unclear",
        note="The interval is the range over seeds at the first step at which the mean is more than 0.2 nats from 0.",
    )
