"""How fast and how small the data sets are: `python benchmarks/data.py [--rounds 3]`.

Each set runs in a process of its own on one core: batches of 64 at random rows, CPU time, the median over the rounds.
`gather` copies such batches out of an array that is in memory already: the limit of a set that is not rendered. The
rendered sets have bars; the composed ones are measured where the data root has their files.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BATCH, SECONDS = 64, 1.0
SETS: dict[str, dict[str, object]] = {
    "dsprites": {},
    "shapes3d": {},
    "color_dsprites": {},
    "noisy_dsprites": {},
    "scream_dsprites": {},
    "colored_mnist": {},
    "rotation_colored_mnist": {},
    "cmnist": {},
    "grassy_mnist": {},
    "mnist_stl10": {"backgrounds": "cifar10", "size": 32, "train_rows": 2000},
}
RATE = {"dsprites": 15_000, "shapes3d": 8_000}  # images a second, at least
MEMORY = 400  # MB, at most, for these
ORIGINAL = {"dsprites": 3020, "shapes3d": 5898}  # MB of the published arrays


def measure(name: str) -> dict[str, float]:
    """Images a second, the same for copying from memory, and the peak of memory in MB."""
    import resource

    import numpy as np

    from unbraid.catalogue import find

    table = find("data", name).load()(**SETS[name])
    rng = np.random.default_rng(0)

    def rate(batches: object) -> float:
        assert callable(batches)
        start, count = time.process_time(), 0
        while time.process_time() - start < SECONDS:
            batches(rng.integers(0, len(table), BATCH))
            count += BATCH
        return count / (time.process_time() - start)

    for start in range(0, min(len(table), 2048), BATCH):
        table.images(np.arange(start, min(start + BATCH, len(table))))  # files are decoded, geometries are traced
    rendered = rate(table.images)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))
    stored = rng.integers(0, 256, (4096, *table.shape), np.uint8)
    return {"rate": rendered, "gather": rate(lambda rows: stored[rows % 4096]), "memory": peak}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return 0
    failed = False
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    print(f"{'set':24}{'images/s':>10}{'of gather':>11}{'MB':>7}")
    for name in SETS:
        found = []
        for _ in range(arguments.rounds):
            command = [sys.executable, str(Path(__file__)), "--one", name]
            run = subprocess.run(command, env={**os.environ, **single}, capture_output=True, text=True, check=False)
            if run.returncode:
                break
            found.append(json.loads(run.stdout))
        if not found:
            print(f"{name:24} not measured: {run.stderr.strip().splitlines()[-1]}")
            continue
        rate, gather, memory = (statistics.median(one[key] for one in found) for key in ("rate", "gather", "memory"))
        missed = name in RATE and (rate < RATE[name] or memory > MEMORY)
        failed |= missed
        size = f"  {ORIGINAL[name] / memory:.0f} times less than the published array" if name in ORIGINAL else ""
        print(f"{name:24}{rate:10,.0f}{rate / gather:11.2f}{memory:7.0f}{size}{'  MISSED' if missed else ''}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
