"""All of it, an hour at most on two quiet cores; writes the table into docs/reliability.md: `python -m torture`."""

from __future__ import annotations

import importlib
import sys
import time

from torture.table import kept, write_page

SCRIPTS = ("files", "bad_files", "odd_numbers", "kills", "studies", "load")


def main() -> int:
    codes = {}
    for name in SCRIPTS:
        begin = time.monotonic()
        sys.argv = [name]
        codes[name] = importlib.import_module(f"torture.{name}").main()
        print(f"{name}: {(time.monotonic() - begin) / 60:.1f} minutes", flush=True)
        write_page(kept())
    return max(codes.values())


if __name__ == "__main__":
    raise SystemExit(main())
