"""What a trained model's checks and batches cost: `transform` of 10,000 images of 64x64 against bare forward passes.

    python benchmarks/transform.py [images]

Both in turns of 1,000 images, in one process, each first in every other turn; three times over all images, as bytes, as
floats, and as floats with the channels last. Ends with an error where the median ratio of any of them is above 1.1.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import unbraid
from unbraid.model import Model

LIMIT, ROUNDS, TURN = 1.1, 3, 1000
count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000

pixels = np.random.default_rng(0).integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)
model = Model(unbraid.build("beta_vae", unbraid.from_arrays(pixels[:10])))
ready = torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))).float() / 255
kinds: dict[str, Any] = {"bytes": pixels, "floats": ready.numpy(), "floats, channels last": pixels / np.float32(255)}


@torch.no_grad()
def bare(rows: slice) -> None:
    for start in range(rows.start, rows.stop, model.batch):
        model.method.encode(ready[start : min(start + model.batch, rows.stop)])


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def ratios(x: Any) -> list[float]:
    found = list[float]()
    for start in [*range(0, count, TURN)] * ROUNDS:
        rows = slice(start, min(start + TURN, count))
        works: list[Callable[[], object]] = [partial(bare, rows), partial(model.transform, x[rows])]
        first = len(found) % 2
        took = {i: seconds(works[i]) for i in (first, 1 - first)}
        found.append(took[1] / took[0])
    return found


bare(slice(0, min(TURN, count)))  # warm up
medians = {}
for kind, x in kinds.items():
    low, medians[kind], high = np.quantile(ratios(x), [0.25, 0.5, 0.75])
    print(f"{kind}: transform / bare forward passes {medians[kind]:.3f} ({low:.3f} to {high:.3f}), at most {LIMIT}")
sys.exit(bool(max(medians.values()) > LIMIT))
