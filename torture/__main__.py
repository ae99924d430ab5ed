"""All of it, an hour at most on two quiet cores; writes the table into docs/reliability.md: `python -m torture`."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from torture.table import KEPT, keep, kept, timed, write_page

CHAINS = (("files", "odd_numbers", "studies"), ("bad_files", "kills", "load"))  # side by side


def chain(names: tuple[str, ...]) -> int:
    """Runs scripts one after the other; gives how many have failed."""
    failed = 0
    for name in names:
        with timed() as watch:
            failed += bool(subprocess.run([sys.executable, "-m", f"torture.{name}"]).returncode)
        print(f"{name}: {watch.seconds / 60:.1f} minutes", flush=True)
    return failed


def main() -> int:
    fuzzed = [row for row in kept() if row.script == "fuzz"]  # for two hours, and not by this
    KEPT.unlink(missing_ok=True)
    keep(fuzzed)
    with ThreadPoolExecutor(len(CHAINS)) as pool:
        failed = sum(pool.map(chain, CHAINS))
    write_page(kept())
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
