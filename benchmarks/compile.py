"""What torch.compile gains: training steps of plain and compiled networks in turns, in one process.

    python benchmarks/compile.py [method] [--size 64] [--batch 64] [--steps 100]

Ends with the median time of a step of each, their ratio with the quartiles of the ratios of neighbours, and what
compiling cost. Stop everything else on the machine first.
"""

import argparse
import time
from typing import Any

import numpy as np
import torch

import unbraid
from unbraid import machine
from unbraid.data.samplers import sampler
from unbraid.train.compiled import compiled
from unbraid.train.trainer import Trainer

WARM = 10

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("method", nargs="?", default="beta_vae")
parser.add_argument("--size", type=int, default=64)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--threads", type=int, default=machine.cores())
given = parser.parse_args()

machine.prepare_memory()
torch.set_num_threads(given.threads)
data = unbraid.load_data("dsprites", size=given.size)
plain, fast = (Trainer(unbraid.build(given.method, data).train()) for _ in range(2))
draw = sampler(data, plain.method.batch_kind, batch=given.batch, seed=0)


def seconds(trainer: Trainer, batch: Any, step: int) -> float:
    begin = time.perf_counter()
    trainer.step(batch, step)
    return time.perf_counter() - begin


times: list[tuple[float, float]] = []
with compiled(fast.method):
    for step in range(given.steps + WARM):
        batch = draw(step).on("cpu")
        turns = (plain, fast) if step % 2 else (fast, plain)
        took = {trainer: seconds(trainer, batch, step) for trainer in turns}
        times.append((took[plain], took[fast]))
cost = sum(b - a for a, b in times[:WARM])
ours, theirs = np.array(times[WARM:]).T
low, middle, high = np.quantile(ours / theirs, [0.25, 0.5, 0.75])
print(
    f"{given.method}, {given.size}x{given.size}, batch {given.batch}, {given.threads} threads: a step takes "
    f"{1e3 * np.median(ours):.1f} ms, compiled {1e3 * np.median(theirs):.1f} ms: "
    f"{middle:.2f} times as fast ({low:.2f} to {high:.2f}); compiling took {cost:.0f} s"
)
