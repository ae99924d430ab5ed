"""The time of a training step of each method, as a ratio to `vae`: `python benchmarks/step_time.py [NAME ...]`.

Images of 32x32 in colour and width 16 (--side, --channels, --width), batches of 64 (a pair, two views or two sets have
64 of each), one thread, all other arguments as they are. Processor time is taken, methods take turns with the baseline
in small groups of steps, and the median of the ratios counts, so that other work on the machine matters little. Where
a method updates its players in turn, a group has whole turns. docs/methods/README.md has the table.
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
from unbraid.train.load import built
from unbraid.train.trainer import Trainer

BATCH, CLASSES = 64, 4
BASELINE = "vae"
OTHERWISE = {"infogan_cr": {"contrast_from": 0}}  # arguments without which a step is not what most steps are
STEPS = 11  # in a group: a whole turn of uai


def spec_of(shape: tuple[int, int, int]) -> Spec:
    shared = (CLASSES, CLASSES)
    return Spec(shape, n_train=10_000, classes=CLASSES, nuisances=(3, 3), shared=shared, n_background=10_000)


def batch_of(kind: str, shape: tuple[int, int, int]) -> kinds.Batch:
    """A batch of random images, with classes and nuisances where the kind has them."""
    known: dict[str, Any] = {
        "index": torch.arange(BATCH),
        "y": torch.arange(BATCH) % CLASSES,
        "s": torch.randint(3, (BATCH, 2)),
        "k": torch.ones(BATCH, dtype=torch.long),
    }
    record = getattr(kinds, kind)
    return record(**{name: known.get(name, torch.rand(BATCH, *shape)) for name in record.__dataclass_fields__})  # type: ignore[no-any-return]


class Timed:
    """A method that is trained on one batch, and how long a group of steps takes."""

    def __init__(self, name: str, shape: tuple[int, int, int], width: int) -> None:
        entry = catalogue.find("methods", name)
        arguments = OTHERWISE.get(name, {}) | {a.name: width for a in entry.arguments if a.name == "width"}
        method = built(entry, spec_of(shape), arguments, seed=0)
        self.trainer, self.batch, self.step = Trainer(method), batch_of(entry.traits["batch_kind"], shape), 0
        self.group()  # what is allocated or compiled once

    def group(self) -> float:
        start = time.process_time()
        for _ in range(STEPS):
            self.trainer.step(self.batch, self.step)
            self.step += 1
        return (time.process_time() - start) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in {"rounds": 7, "side": 32, "channels": 3, "width": 16}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    torch.set_num_threads(1)
    methods = catalogue.entries("methods")
    names = given.names or [name for name, entry in methods.items() if not entry.traits.get("solved")]
    shape = (given.channels, given.side, given.side)
    baseline = Timed(BASELINE, shape, given.width)
    for name in names:
        other, ratios, times = Timed(name, shape, given.width), [], []
        for _ in range(given.rounds):
            times.append(baseline.group())
            ratios.append(other.group() / times[-1])
        ratio, least = statistics.median(ratios), 1000 * min(times)
        print(f"{name:22}{ratio:5.2f} x {BASELINE}: {ratio * least:4.0f} ms of {least:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
