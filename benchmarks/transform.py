"""What a trained model's checks and batches cost: `transform` of 10,000 images of 64x64 against bare forward passes.

    python benchmarks/transform.py [images]

Both in turns, five times, in one process; ends with an error where the ratio of their fastest times is above 1.1.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

import unbraid
from unbraid.model import BATCH, Model

LIMIT, ROUNDS = 1.1, 5
count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000

images = np.random.default_rng(0).integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)
model = Model(unbraid.build("beta_vae", unbraid.from_arrays(images[:10])))
ready = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float() / 255


@torch.no_grad()
def bare() -> None:
    for start in range(0, count, BATCH):
        model.method.encode(ready[start : start + BATCH])


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


bare()  # warm up
pairs = [(seconds(bare), seconds(lambda: model.transform(images))) for _ in range(ROUNDS)]
forward, whole = (min(times) for times in zip(*pairs, strict=True))
print(f"bare forward passes {forward:.2f} s, transform {whole:.2f} s: ratio {whole / forward:.3f} (at most {LIMIT})")
sys.exit(whole / forward > LIMIT)
