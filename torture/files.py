"""A fault at every open, read, write, fsync, rename and removal of whole commands, and a disk that is really full.

After each fault the command has ended with one sentence (or went on without what failed), no file that was there before
is lost or torn, and the same command again ends with the files of an undisturbed one, bit for bit.

    python -m torture.files [--every N] [--only images|later|tables|study|disk]
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torture.child import Outcome, commands, fork, warm
from torture.faults import KINDS, Faults, faulty
from torture.table import Row, keep, timed

RUN = "run vae --size 16 --width 4 --batch 8 --steps 55 --save-every 0 --points 60 --metrics mig --threads 1 --quiet"
TABLES = "run salient_vae --width 4 --batch 8 --steps 5 --points 40 --threads 1 --quiet"
NAMELESS = ("lock",)
State = dict[str, str]  # digest of each file


@lru_cache(maxsize=100)  # most files are as they were at the operation before
def digest(name: str, content: bytes) -> str:
    """Of a file's bytes; of a checkpoint its values, which may be one object or two; of an evaluation not the times."""
    if name == "evaluation.json":
        kept = {name: value for name, value in json.loads(content).items() if name not in ("seconds", "rate")}
        return json.dumps(kept)
    if name != "state.pt":
        return hashlib.sha256(content).hexdigest()
    found = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.update(value.numpy().tobytes())
        elif isinstance(value, dict | list | tuple):
            for part in value.items() if isinstance(value, dict) else value:
                add(part)
        else:
            found.update(repr(value).encode())

    add(torch.load(io.BytesIO(content), weights_only=True))
    return found.hexdigest()


@dataclass(frozen=True)
class World:
    """Something to do in a folder, again and again."""

    name: str
    folder: Path
    work: Callable[[], int]
    base: Path | None = None  # what is there at the beginning

    def state(self) -> State:
        """The files that are there, without locks and files that are being written."""
        out = self.folder / "out"
        files = [path for path in out.rglob("[!.]*") if path.is_file() and path.name not in NAMELESS]
        return {str(path.relative_to(out)): digest(path.name, path.read_bytes()) for path in files}

    def leftovers(self) -> list[str]:
        return [path.name for path in self.folder.rglob(".*") if path.is_file()]

    def clear(self) -> None:
        for name in ("out", "cache"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        if self.base:
            shutil.copytree(self.base, self.folder / "out")


def images(folder: Path) -> World:
    """A run with two checkpoints, scores and a report."""
    return World("run on images", folder, commands([[*RUN.split(), "--out", str(folder / "out")]]))


def later(folder: Path) -> World:
    """What is done with a run when it is there."""
    base = folder / "base"
    if commands([[*RUN.split(), "--out", str(base)]])():
        raise RuntimeError("a plain run failed")
    (name,) = [path.parent.name for path in base.glob("*/run.json")]
    np.save(folder / "samples.npy", np.random.default_rng(0).integers(0, 255, (9, 16, 16, 1), dtype=np.uint8))
    run = str(folder / "out" / name)
    codes = ["encode", run, str(folder / "samples.npy"), "--out", str(folder / "out" / "codes.csv"), "--overwrite"]
    lines = [["score", run, "--metrics", "mcc"], ["explore", run, "--no-open"], codes, ["report", run]]
    return World("score, exploration, encoding and report of a run", folder, commands(lines), base)


def tables(folder: Path) -> World:
    """Two tables as target and background."""
    rng = np.random.default_rng(0)
    for name in ("cases", "controls"):
        lines = [",".join(map(str, row)) for row in rng.normal(size=(60, 3)).round(3)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    files = ["--target", str(folder / "cases.csv"), "--background", str(folder / "controls.csv")]
    return World("run of two tables", folder, commands([[*TABLES.split(), *files, "--out", str(folder / "out")]]))


def study(folder: Path) -> World:
    """A run of a study, as a worker does it."""

    def work() -> int:
        from unbraid.study import Study, product
        from unbraid.study.execute import task
        from unbraid.study.execute import work as perform

        sizes = {"size": 16, "width": 4, "batch": 8, "steps": 5}
        (job,) = Study(runs=product(method="vae", data="dsprites", **sizes), metrics=["mig"], points=60).jobs()
        outcome = perform(task(job, str(folder / "out")), lambda step, loss: None)
        if outcome["status"] != "finished":
            print(f"unbraid: {outcome['reason']}", file=sys.stderr)
        return int(outcome["status"] != "finished")

    return World("run of a study", folder, work)


def undisturbed(world: World) -> tuple[list[tuple[str, str]], list[State], State]:
    """The operations, the files before each of them, and those at the end; done in this process."""
    world.clear()
    before: list[State] = []
    faults = Faults([world.folder])

    def note() -> None:
        faults.folders = ()  # looking at the files is no operation of the world
        before.append(world.state())
        faults.folders = [world.folder]

    faults.watch = note
    with redirect_stdout(io.StringIO()), faulty(faults):
        if world.work():
            raise RuntimeError(f"{world.name} failed without any fault")
    return faults.seen, before, world.state()


def survives(world: World, at: int, error: int, before: State, versions: dict[str, set[str]], end: State) -> str:
    """What went wrong after a fault, or an empty string."""
    world.clear()

    def work() -> int:
        with faulty(Faults([world.folder], at, error)):
            return world.work()

    outcome = fork(work)
    if outcome.code == 1 and not outcome.is_sentence:
        return f"not one sentence: {outcome.errors}"
    if outcome.code not in (0, 1):
        return f"ended with {outcome.code}: {outcome.errors}"
    left = world.state()
    for name in before:
        if name not in left:
            return f"{name} is lost"
    for name, digest in left.items():
        if digest not in versions.get(name, set()):
            return f"{name} is torn"
    return continues(fork(world.work), world, end)


def continues(again: Outcome, world: World, end: State) -> str:
    """What went wrong when the same was done once more, or an empty string."""
    if again.code:
        return f"does not continue: {again.code} {again.errors}"
    now = world.state()
    if now != end:
        differ = sorted(name for name in now.keys() | end.keys() if now.get(name) != end.get(name))
        return f"ends with other files: {', '.join(differ)}"
    left = world.leftovers()
    return f"leaves {', '.join(left)}" if left else ""


def every_fault(world: World, every: int = 1, first: int = 0) -> tuple[int, list[str]]:
    """All faults of all operations, or every n-th of them: their number, and what was not survived."""
    operations, before, end = undisturbed(world)
    versions: dict[str, set[str]] = {}
    for state in [*before, end]:
        for name, digest in state.items():
            versions.setdefault(name, set()).add(digest)
    cases = [(at, error) for at, (kind, _) in enumerate(operations) for error in KINDS[kind]][first::every]
    wrong = []
    for at, error in cases:
        if said := survives(world, at, error, before[at], versions, end):
            kind, path = operations[at]
            wrong.append(f"{kind} of {Path(path).name} (operation {at}), error {error}: {said}")
            print(wrong[-1], flush=True)
    return len(cases), wrong


def full_disk(folder: Path) -> str:
    """A run on a disk of 700 kB, which is full before the end; then on the same disk with room. What went wrong."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        return "skipped: no disk can be mounted here"
    try:
        words = commands([[*RUN.split(), "--out", str(disk)]])
        full = fork(words)
        if full.code != 1 or not full.is_sentence or "No space left" not in full.errors:
            return f"ended with {full.code}: {full.errors}"
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        again = fork(words)
        if again.code or list(disk.rglob(".*")):
            return f"does not continue: {again.errors}"
        plain = fork(commands([[*RUN.split(), "--out", str(folder / "plain")]]))
        weights = [next(place.glob("*/weights.safetensors")).read_bytes() for place in (disk, folder / "plain")]
        return "" if plain.code == 0 and weights[0] == weights[1] else "ends with other weights"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every n-th fault")
    parser.add_argument("--only", choices=("images", "later", "tables", "study", "disk"))
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        warm(Path(place) / "warm")
        for make in (images, later, tables, study):
            if given.only not in (None, make.__name__):
                continue
            folder = Path(place) / make.__name__
            folder.mkdir()
            world = make(folder)
            with timed() as watch:
                count, wrong = every_fault(world, given.every)
            which = "all of them" if given.every == 1 else f"one in {given.every} of them"
            said = f"no space, no permission, input/output error or a short write at each operation; {which}"
            rows.append(Row("files", f"fault in the {world.name}", count, count - len(wrong), said, watch.seconds))
        if given.only in (None, "disk"):
            with timed() as watch:
                said = full_disk(Path(place))
            good = int(not said)
            rows.append(Row("files", "run on a full disk", 1, good, said or "then with room", watch.seconds))
    keep(rows)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
