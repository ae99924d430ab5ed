"""Memory of training on a large table of features: 200,000 x 2,000 float32 (1.6 GB) on disk, within 4 GB.

    python benchmarks/feature_memory.py [npy|parquet|arrays] [rows] [features]

`npy` and `parquet` are the data set `table`, `arrays` is `from_arrays` of a mapped array. The table is mapped: its
pages count as memory of the process for as long as the system leaves them there. A parquet file is copied into the
cache folder first. TMPDIR needs room for 1.6 GB, 4.8 GB for parquet.
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import unbraid
from unbraid.data.table import Table

LIMIT = 4.0  # GB
STEP = 10_000
kind = sys.argv[1] if len(sys.argv) > 1 else "npy"
rows, features = (int(word) for word in (sys.argv[2:4] if len(sys.argv) > 3 else (200_000, 2_000)))


def pieces() -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    for start in range(0, rows, STEP):
        yield rng.standard_normal((min(STEP, rows - start), features), np.float32)


def write_npy(path: Path) -> None:
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (rows, features))
    for i, piece in enumerate(pieces()):
        stored[i * STEP : i * STEP + len(piece)] = piece
    stored.flush()


def write_parquet(path: Path) -> None:
    names = [f"gene{i}" for i in range(features)]
    with parquet.ParquetWriter(path, pa.schema([(name, pa.float32()) for name in names])) as out:
        for piece in pieces():
            out.write_table(pa.Table.from_arrays([pa.array(column) for column in piece.T], names))


with tempfile.TemporaryDirectory() as folder:
    os.environ["UNBRAID_CACHE"] = folder
    path = Path(folder) / ("x.parquet" if kind == "parquet" else "x.npy")
    if not os.fork():  # written by another process, whose memory does not count
        (write_parquet if kind == "parquet" else write_npy)(path)
        os._exit(0)
    os.wait()
    begin = time.perf_counter()
    if kind == "arrays":
        data: Table = unbraid.from_arrays(np.load(path, mmap_mode="r"))
    else:
        data = unbraid.load_data("table", path=str(path))
    read = time.perf_counter() - begin
    method = unbraid.build("vae", data, likelihood="gaussian", latents=10)
    run = unbraid.fit(method, data, steps=200, batch=128, out=folder, show=False)
    unbraid.represent(run, method, data)
    seconds = time.perf_counter() - begin

peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # in KB on Linux
print(
    f"{kind}: {rows:,} x {features:,} read and checked in {read:.0f} s, trained and encoded after {seconds:.0f} s, "
    f"{peak:.2f} GB (limit {LIMIT})"
)
sys.exit(peak > LIMIT)
