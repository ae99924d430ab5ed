"""Settings of the machine that make training faster; a user's own settings always win."""

from __future__ import annotations

import ctypes
import os
import sys

SPIN_WHEN_QUIET = "1000000"  # how long an idle thread waits busily: much where the cores are ours,
SPIN_WHEN_BUSY = "1000"  # little where other work wants them (busy waiting then slows training up to ten times)


def prepare_threads(threads: int | None) -> None:
    """Chooses how OpenMP's threads wait. Takes effect only before torch is imported."""
    if "torch" in sys.modules or {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quiet = os.getloadavg()[0] + (threads or cores) <= cores + 0.5
    os.environ["GOMP_SPINCOUNT"] = SPIN_WHEN_QUIET if quiet else SPIN_WHEN_BUSY


def prepare_memory() -> None:
    """Lets glibc keep freed memory instead of returning it after every step and faulting it in again."""
    if any(name.startswith("MALLOC_") for name in os.environ) or not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    m_trim_threshold, m_mmap_threshold = -1, -3
    mallopt(m_mmap_threshold, 32 * 2**20)
    mallopt(m_trim_threshold, 2**30)
