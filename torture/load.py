"""Much of everything: a study of 2,000 tiny runs, 100,000 collected rows, 5,000 thumbnails, a folder of 200,000 images.

    python -m torture.load [--share 0.1] [--only study|rows|thumbnails|images]

Each part runs in a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import resource
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from torture.table import Row, keep, timed

STUDY = """
from unbraid.study import Study, product
runs = product(method="vae", data="dsprites", size=8, net="dense", width=2, latents=2, batch=2, steps=1, seed=range({}))
study = Study(runs=runs, metrics=["mig"], points=50)
"""


def study(folder: Path, count: int) -> int:
    """A study of so many runs with 8 workers; gives how many have finished."""
    from unbraid.cli import main

    (folder / "tiny.py").write_text(STUDY.format(count))
    with redirect_stdout(io.StringIO()):
        main(["study", str(folder / "tiny.py"), "--out", str(folder / "out"), "--workers", "8", "--quiet"])
    return len(list((folder / "out").glob("*/evaluation.json")))


def rows(folder: Path, count: int) -> int:
    """Collects runs with ten values each into a table of so many rows; gives their number."""
    from unbraid.study.collect import collect, write_table

    config = {
        "method": "vae",
        "data": "dsprites",
        "data_arguments": {"size": 64},
        "sampling": {},
        "steps": 1,
        "batch": 1,
    }
    part = dict.fromkeys(("low", "high", "null")) | {"parts": {}, "params": {}, "warnings": []}
    scores = {f"metric{i}": part | {"value": i / 10} for i in range(10)}
    for seed in range(count // 10):
        place = folder / "out" / f"run{seed:06d}"
        place.mkdir(parents=True)
        arguments = {"beta": float(seed % 6), "lr": 1e-4}
        (place / "run.json").write_text(json.dumps(config | {"arguments": arguments, "seed": seed}))
        (place / "scores.json").write_text(json.dumps(scores))
    with timed() as watch:
        table = collect(folder / "out")
        write_table(table, folder / "table")
    print(f"collected and written in {watch.seconds:.1f} s, beside making the files", file=sys.stderr)
    return len(table)


def thumbnails(folder: Path, count: int) -> int:
    """An explorer with so many thumbnails; gives how many the page has."""
    from unbraid import build, explore, fit, load_data, represent

    data = load_data("dsprites")
    method = build("beta_vae", data)
    run = fit(method, data, steps=1, batch=2, out=str(folder), show=False)
    represent(run, method, data, points=count)
    run.write_json("scores.json", {})
    page = explore(run, images=count)
    print(f"a page of {page.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
    return int(re.findall(r'"count":(\d+)', page.read_text())[0])


def images(folder: Path, count: int) -> int:
    """A folder of so many image files, trained on for a few steps; gives how many were found."""
    from PIL import Image

    from unbraid import build, fit
    from unbraid.data.sets.images import Images

    rng = np.random.default_rng(0)
    made = []
    for _ in range(50):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)).save(buffer, "png")
        made.append(buffer.getvalue())
    for i in range(count):
        place = folder / "pictures" / f"{i // 1000:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.png").write_bytes(made[i % 50])
    with timed() as watch:
        table = Images(path=str(folder / "pictures"), size=16)
        fit(build("vae", table, width=4), table, steps=50, batch=64, out=str(folder), show=False)
    print(f"opened and trained for 50 steps in {watch.seconds:.1f} s, beside making the files", file=sys.stderr)
    return len(table) + (len(table.test) if table.test is not None else 0)


PARTS: dict[str, tuple[str, int, Callable[[Path, int], int]]] = {
    "study": ("tiny run of a study with 8 workers", 2000, study),
    "rows": ("collected row", 100_000, rows),
    "thumbnails": ("thumbnail of an explorer", 5000, thumbnails),
    "images": ("image of a folder", 200_000, images),
}


def measured(name: str, share: float) -> Row:
    """One part in a child: time, most memory, and what it says."""
    what, whole, work = PARTS[name]
    count = max(10, int(whole * share))
    inbox, outbox = os.pipe()
    with tempfile.TemporaryDirectory() as place, timed() as watch:
        pid = os.fork()
        if pid == 0:
            sys.stderr = told = io.StringIO()
            found = 0
            try:
                found = work(Path(place), count)
            except BaseException as error:
                told.write(f"{type(error).__name__}: {error}")
            own, others = (resource.getrusage(of).ru_maxrss for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            notes = [line for line in told.getvalue().splitlines() if line.strip()]
            report = {"found": found, "memory": max(own, others) / 1024, "said": notes[-1:]}
            os.write(outbox, json.dumps(report).encode())
            os._exit(0)
        os.close(outbox)
        report = json.loads(os.read(inbox, 1 << 16) or b'{"found": 0, "memory": 0, "said": ["the process died"]}')
        os.waitpid(pid, 0)
        os.close(inbox)
    said = "; ".join([*report["said"], f"at most {report['memory']:.0f} MB in a process"])
    return Row("load", what, count, report["found"], said, watch.seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the numbers")
    parser.add_argument("--only", choices=tuple(PARTS))
    given = parser.parse_args()
    rows = [measured(name, given.share) for name in PARTS if given.only in (None, name)]
    keep(rows)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
