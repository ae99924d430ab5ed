"""Ten thousand damaged copies of a file of each format that is read, and bombs of 10 GB.

Each copy is read as users have it read. It gives what the whole file gives or another whole value, or a UserError;
never another exception, a crash, more than 10 s, or more than 200 MB of memory. What is cut off is never read as if it
were whole.

    python -m torture.bad_files [--count N] [--only NAME,NAME]
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torture import formats
from torture.formats import Format
from torture.mutations import mutated
from torture.table import Row, keep, timed

from unbraid.data.io import h5ad_files
from unbraid.errors import UserError

COUNT = 10_000
SLOWER = 4  # times fewer copies of a format that takes long, unless it is asked for
SECONDS = 10.0  # for one file
MEMORY = 200 << 20  # bytes more than the process has


def check(format: Format, folder: Path, number: int) -> str:
    """What went wrong with the damaged copy of this number, or an empty string."""
    rng = np.random.default_rng((7, number))
    how, content = mutated(format.seed, rng, format.kind)
    path = folder / format.file
    path.write_bytes(content)
    try:
        found = format.read(path)
    except UserError as error:
        return "" if "\n" not in str(error) and str(error) else f"{how}: a message of several lines: {error}"
    except MemoryError:
        return f"{how}: more than {MEMORY >> 20} MB"
    except Exception:
        return f"{how}: {traceback.format_exc()}"
    if how == "cut" and not format.open_ended and content != format.seed and not formats.same(found, format.whole):
        return "cut: read as if it were whole"
    return ""


def limited(work: Callable[[], None]) -> None:
    """In a child: no more memory than is allowed, and no output of libraries."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    warnings.simplefilter("ignore")
    work()


def attack(format: Format, count: int, folder: Path, first: int = 0) -> list[str]:
    """What was not survived, of so many damaged copies."""
    wrong: list[str] = []
    format.whole  # noqa: B018  # the whole file is read without complaint
    while first < count:
        first = _some(format, first, count, folder, wrong)
    (folder / format.file).write_bytes(format.seed)
    return wrong


def _some(format: Format, first: int, count: int, folder: Path, wrong: list[str]) -> int:
    """Checks copies in a child until it is done, dies or hangs; gives the number of the next copy."""
    inbox, outbox = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inbox)

        def work() -> None:
            for number in range(first, count):
                said = check(format, folder, number).replace("\n", "\\n")[-600:]
                os.write(outbox, f"{number} {said}\n".encode())

        try:
            limited(work)
        finally:
            os._exit(0)
    os.close(outbox)
    at, rest, reason = first, b"", ""
    while True:
        if not select.select([inbox], [], [], SECONDS)[0]:
            os.kill(pid, signal.SIGKILL)
            reason = f"took more than {SECONDS:.0f} s"
        part = b"" if reason else os.read(inbox, 1 << 16)
        if not part:
            break
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            number, _, said = line.decode().partition(" ")
            at = int(number) + 1
            if said:
                wrong.append(f"{format.name} {number}: {said}")
    os.close(inbox)
    status = os.waitpid(pid, 0)[1]
    if at < count:
        wrong.append(f"{format.name} {at}: {reason or f'the process died ({os.waitstatus_to_exitcode(status)})'}")
    return at + 1 if at < count else count


def bombs(folder: Path) -> tuple[int, list[str]]:
    """Files of a few kilobytes that say that they hold 10 GB, or do."""
    wrong = []
    found = formats.bombs(folder)
    for name, read in found.items():
        inbox, outbox = os.pipe()
        pid = os.fork()
        if pid == 0:

            def work(read: Callable[[], Any] = read, outbox: int = outbox) -> None:
                signal.alarm(60)
                try:
                    read()
                    said = "was read"
                except UserError:
                    said = ""
                except BaseException as error:
                    said = f"{type(error).__name__}: {error}"
                os.write(outbox, (said or "refused").encode())

            try:
                limited(work)
            finally:
                os._exit(0)
        os.close(outbox)
        said = os.read(inbox, 1000).decode() or "the process died"
        os.waitpid(pid, 0)
        os.close(inbox)
        if said != "refused":
            wrong.append(f"bomb {name}: {said}")
    return len(found), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="copies of each format")
    parser.add_argument("--only", default="", help="names of formats, separated by commas")
    given = parser.parse_args()
    rows, good = [], True
    place = Path(tempfile.mkdtemp())
    os.environ["UNBRAID_CACHE"] = str(place / "cache")
    h5ad_files.SECONDS = 4.0  # one in a hundred damaged copies takes all of it
    for format in formats.all_formats(place):
        if given.only and format.name not in given.only.split(","):
            continue
        count = given.count // SLOWER if format.slow and not given.only else given.count
        with timed() as watch:
            wrong = attack(format, count, format.folder)
        print(f"{format.name}: {len(wrong)} of {count} in {watch.seconds:.0f} s", *wrong[:5], sep="\n", flush=True)
        good = good and not wrong
        said = "each refused in a sentence, or read whole"
        rows.append(Row("bad_files", f"damaged copy of {format.name}", count, count - len(wrong), said, watch.seconds))
    if not given.only:
        with timed() as watch:
            count, wrong = bombs(place)
        print(*wrong, sep="\n", flush=True)
        said = "each refused within 200 MB"
        good = good and not wrong
        rows.append(
            Row("bad_files", "file that claims or unpacks to 10 GB", count, count - len(wrong), said, watch.seconds)
        )
    keep(rows)
    shutil.rmtree(place)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
