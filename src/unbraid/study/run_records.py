"""The records of an experiment's runs in one zip file beside its page: what was run and measured, without the models.

From them claims are judged again in seconds, and what was run need not be run again.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from unbraid.data.io.formats import check_packed, reading
from unbraid.study.plan import Job
from unbraid.train.run import write

FILES = ("run.json", "history.csv", "scores.json", "evaluation.json")  # the last says that the others are there
WHAT = "the records of an experiment's runs"


def write_records(path: Path, runs: Iterable[Path], root: Path) -> None:
    """The records of these directories below `root`, the same bytes for the same records."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for run in sorted(runs):
            for name in FILES:
                if (run / name).exists():
                    entry = zipfile.ZipInfo(f"{run.relative_to(root).as_posix()}/{name}")  # of 1980
                    file.writestr(entry, (run / name).read_bytes(), zipfile.ZIP_DEFLATED)
    write(path, packed.getvalue())


def take_records(path: Path, studies: Mapping[str, Sequence[Job]], root: Path) -> int:
    """Puts the records of planned runs that have no directory yet below `root`; gives how many.

    A run whose weights another one begins with is left to be done, unless that one is recorded too.
    """
    taken = 0
    with reading(path, WHAT), zipfile.ZipFile(path) as file:
        check_packed(str(path), path.stat().st_size, sum(entry.file_size for entry in file.infolist()))
        there = set(file.namelist())
        for study, jobs in studies.items():
            places = {job.name: f"{study}/{job.name}".lstrip("/") for job in jobs}
            recorded = {name for name, place in places.items() if f"{place}/{FILES[-1]}" in there}
            started = {job.plan.start_from for job in jobs if job.name not in recorded}
            for name in sorted(recorded - started):
                if (root / places[name]).exists():
                    continue
                (root / places[name]).mkdir(parents=True)
                for each in FILES:
                    if f"{places[name]}/{each}" in there:
                        write(root / places[name] / each, file.read(f"{places[name]}/{each}"))
                taken += 1
    return taken
