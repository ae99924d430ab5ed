"""Memory of training on a large table of features: 200,000 x 2,000 float32 (1.6 GB) on disk, within 4 GB.

    python benchmarks/feature_memory.py [rows] [features]

The table is memory-mapped: its pages count as memory of the process for as long as the system leaves them there.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import unbraid

LIMIT = 4.0  # GB
rows, features = (int(word) for word in (sys.argv[1:3] if len(sys.argv) > 2 else (200_000, 2_000)))

with tempfile.TemporaryDirectory() as folder:
    path, rng = Path(folder) / "x.npy", np.random.default_rng(0)
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (rows, features))
    for start in range(0, rows, 10_000):
        stored[start : start + 10_000] = rng.standard_normal(stored[start : start + 10_000].shape, np.float32)
    stored.flush()
    del stored
    begin = time.perf_counter()
    data = unbraid.from_arrays(np.load(path, mmap_mode="r"))
    method = unbraid.build("vae", data, likelihood="gaussian", latents=10)
    run = unbraid.fit(method, data, steps=200, batch=128, out=folder, show=False)
    codes = unbraid.load_run(run.path).transform(np.load(path, mmap_mode="r"))
    seconds = time.perf_counter() - begin

peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # in KB on Linux
print(f"{rows:,} x {features:,} -> {codes.shape}, trained and encoded: {seconds:.0f} s, {peak:.2f} GB (limit {LIMIT})")
sys.exit(peak > LIMIT)
