"""Coverage-guided fuzzing of what we parse ourselves, ten minutes each, with atheris (`pip install atheris`).

    python -m torture.fuzz [--seconds N] [--only NAME,NAME]

An input becomes a file, or words of a command, and is read as users have it read. It gives a value or a UserError;
anything else is a find, is kept in build/fuzz/NAME, and becomes a test in tests/test_torture.py. What was tried comes
into the table of docs/reliability.md with the next `make torture`, which does not fuzz itself.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torture import formats
from torture.table import ROOT, Row, keep, timed

from unbraid.errors import UserError

SECONDS = 600
LONGEST = 4096  # bytes of an input
FOUND = ROOT / "build" / "fuzz"
Target = tuple[bytes, Callable[[bytes], Any]]  # a whole input, and what reads one


def of_a_file(make: Callable[[Path], formats.Format], unpacked: bytes | None = None) -> Callable[[Path], Target]:
    """The target of a format; its file may also be given without its compression."""

    def target(place: Path) -> Target:
        format = make(place)
        path = place / format.file

        def read(content: bytes) -> None:
            path.write_bytes(content)
            format.read(path)

        return unpacked or format.seed, read

    return target


def of_a_run(name: str) -> Callable[[Path], Target]:
    """The target of a file in a run's directory; each is read without a page being made of it."""

    def target(place: Path) -> Target:
        from unbraid.study.collect import collect
        from unbraid.train import history
        from unbraid.train.run import Run

        found = {format.name: format for format in formats._of_a_run(place)}[name]
        path = found.folder / found.file

        def read(content: bytes) -> None:
            path.write_bytes(content)
            run = Run(found.folder)
            if name == "run.json":
                str((run.plan.name, run.plan.command, run.plan.places, run.plan.repeated))
            if name == "scores.json":
                run.scores()
            if name == "history.csv":
                history.read(path)
            if name == "evaluation.json":
                found.read(path)
            collect(found.folder.parent)

        return found.seed, read

    return target


def words(example: str, read: Callable[[str], Any]) -> Callable[[Path], Target]:
    """The target of words of a command, which are one line."""
    return lambda place: (example.encode(), lambda content: read(" ".join(content.decode(errors="replace").split())))


def _only(text: str) -> None:
    from unbraid.study import Study, product
    from unbraid.study.plan import select

    select(Study(runs=product(method="vae", data="dsprites", steps=[2, 3]), metrics=["mig"]).jobs(), [text])


def _place(text: str) -> None:
    from unbraid.methods.networks import _arguments

    _arguments(text)


TARGETS: dict[str, Callable[[Path], Target]] = {
    "idx": of_a_file(formats.idx, b"\0\0\x08\x03\0\0\0\x06\0\0\0\x08\0\0\0\x08" + formats.PIXELS[..., 0].tobytes()),
    "norb": of_a_file(formats.norb),
    "npy": of_a_file(formats.npy),
    "npz": of_a_file(formats.npz),
    "zip": of_a_file(formats.zip),
    "tar": of_a_file(formats.tar),
    "csv": of_a_file(formats.csv),
    **{name: of_a_run(name) for name in ("run.json", "scores.json", "history.csv", "evaluation.json")},
    "network": words("file.py:Net(hidden=32, names=['a', 1.5])", _place),
    "only": words("steps=2,3,method=vae", _only),
}


def fuzz(name: str, options: list[str]) -> None:
    """In a child: libFuzzer never returns."""
    import atheris

    place = Path(tempfile.mkdtemp())
    os.environ["UNBRAID_CACHE"] = str(place / "cache")
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=["unbraid"]):
        seed, read = TARGETS[name](place)
        read(seed)
    corpus = place / "corpus"
    corpus.mkdir()
    (corpus / "whole").write_bytes(seed)

    def once(content: bytes) -> None:
        try:
            read(content)
        except UserError as error:
            if "\n" in str(error) or not str(error):
                raise AssertionError(f"not a sentence: {error}") from error

    atheris.Setup([sys.argv[0], *options, str(corpus)], once)
    atheris.Fuzz()


def found_in(name: str, seconds: int) -> tuple[int, str]:
    """How many inputs were tried, and the end of what was said if one was not survived."""
    kept = FOUND / name
    kept.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=10", "-rss_limit_mb=4096"]
    words = [sys.executable, "-m", "torture.fuzz", "--child", name, *limits]
    done = subprocess.run([*words, "-print_final_stats=1", f"-artifact_prefix={kept}/"], capture_output=True, text=True)
    count = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    return int(count[1]) if count else 0, "" if done.returncode == 0 else done.stderr[-3000:]


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        fuzz(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for each parser")
    parser.add_argument("--only", default="", help=f"some of {', '.join(TARGETS)}")
    given = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("fuzzing needs atheris: pip install atheris", file=sys.stderr)
        return 1
    rows = []
    for name in given.only.split(",") if given.only else TARGETS:
        with timed() as watch:
            count, wrong = found_in(name, given.seconds)
        print(wrong, end="", flush=True)
        said = "inputs, chosen by the lines of code that they reach" + (
            f"; the first find is in build/fuzz/{name}" if wrong else ""
        )
        rows.append(Row("fuzz", f"fuzzed {name}", count, count - bool(wrong), said, watch.seconds))
        keep(rows[-1:])
    return 0 if all(row.good and row.count for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
