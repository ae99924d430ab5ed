"""The time of a training step of each method, as a ratio to `vae`: `python benchmarks/step_time.py [--rounds 7]`.

Images of 32x32 in colour, batches of 64 (a pair, two views or two sets have 64 of each), width 16, one thread, all
other arguments as they are. Processor time is taken, methods take turns with the baseline in small groups of steps, and
the median of the ratios counts, so that other work on the machine matters little. Where a method updates its players in
turn, a group has whole turns. docs/methods/README.md has the table.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch

from unbraid import catalogue
from unbraid.data import batch as kinds
from unbraid.data.table import Spec
from unbraid.train.fit import Trainer
from unbraid.train.load import built

BATCH, SIDE, CLASSES = 64, 32, 4
BASELINE = "vae"
OTHERWISE = {"infogan_cr": {"contrast_from": 0}}  # arguments without which a step is not what most steps are
STEPS = 11  # in a group: a whole turn of uai
SPEC = Spec(
    (3, SIDE, SIDE), n_train=10_000, classes=CLASSES, nuisances=(3, 3), shared=(CLASSES, CLASSES), n_background=10_000
)


def batch_of(kind: str) -> kinds.Batch:
    """A batch of random images, with classes and nuisances where the kind has them."""
    known: dict[str, Any] = {
        "index": torch.arange(BATCH),
        "y": torch.arange(BATCH) % CLASSES,
        "s": torch.randint(3, (BATCH, 2)),
        "k": torch.ones(BATCH, dtype=torch.long),
    }
    record = getattr(kinds, kind)
    return record(**{name: known.get(name, torch.rand(BATCH, 3, SIDE, SIDE)) for name in record.__dataclass_fields__})  # type: ignore[no-any-return]


class Timed:
    """A method that is trained on one batch, and how long a group of steps takes."""

    def __init__(self, name: str) -> None:
        entry = catalogue.find("methods", name)
        arguments = OTHERWISE.get(name, {}) | {a.name: 16 for a in entry.arguments if a.name == "width"}
        method = built(entry, SPEC, arguments, seed=0)
        self.trainer, self.batch, self.step = Trainer(method), batch_of(entry.traits["batch_kind"]), 0
        self.group()  # what is allocated or compiled once

    def group(self) -> float:
        start = time.process_time()
        for _ in range(STEPS):
            self.trainer.step(self.batch, self.step)
            self.step += 1
        return (time.process_time() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    torch.set_num_threads(1)
    methods = catalogue.entries("methods")
    names = given.names or [name for name, entry in methods.items() if not entry.traits.get("solved")]
    baseline = Timed(BASELINE)
    for name in names:
        other, ratios, times = Timed(name), [], []
        for _ in range(given.rounds):
            times.append(baseline.group())
            ratios.append(other.group() / times[-1])
        print(f"{name:22}{statistics.median(ratios):5.1f}   ({BASELINE}: {1000 * min(times):.0f} ms)", flush=True)


if __name__ == "__main__":
    main()
