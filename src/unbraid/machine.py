"""The machine: how many cores and how much memory it has, and settings that make training faster.

What exists on one platform only is guarded; a user's own settings always win.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UserError

if TYPE_CHECKING:
    import torch

SPIN_WHEN_QUIET = "1000000"  # how long an idle thread spins: long where the cores are ours,
SPIN_WHEN_BUSY = "1000"  # briefly where other work needs them (spinning then slows training up to ten times)
CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def cores() -> int:
    """The number of cores that this process may use; not every system can restrict a process to some."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def memory() -> int:
    """Bytes of memory that this machine or container has; 0 where that cannot be found out."""
    found = []
    with suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):  # not in a container, or 'max'
            found.append(int(Path(path).read_text(encoding="utf-8")))
    return min((size for size in found if size > 0), default=0)


def require_memory(size: int, what: str, advice: str) -> None:
    """Refuses what needs more bytes than the machine has, before they are allocated."""
    if memory() and size > memory():
        raise UserError(
            f"{what} would need {size / 1e9:,.1f} GB of memory, and this machine has {memory() / 1e9:,.1f} GB: {advice}"
        )


def forked_rng(device: torch.device | str) -> AbstractContextManager[None]:
    """What is drawn within changes no later draw on the CPU or on this device; no other device is initialised."""
    import torch

    kind = torch.device(device).type
    if kind == "cpu":
        return torch.random.fork_rng(devices=[])
    return torch.random.fork_rng(devices=[device], device_type=kind)


def seed_torch(seed: int, device: torch.device | str | None = None) -> None:
    """As torch.manual_seed, which keeps the stack for each kind of device that is not here, half a millisecond.

    Args:
        device: on which numbers will be drawn; the generators of accelerators stay as they are where it is the CPU
    """
    import torch

    if _has_accelerator() and (device is None or torch.device(device).type != "cpu"):
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(int(seed))


@cache
def _has_accelerator() -> bool:
    import torch

    return torch.accelerator.is_available()


def prepare_threads(threads: int | None) -> None:
    """Chooses how OpenMP's threads wait. Takes effect only before torch is imported."""
    if "torch" in sys.modules or {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    quiet = load + (threads or cores()) <= cores() + 0.5
    os.environ["GOMP_SPINCOUNT"] = SPIN_WHEN_QUIET if quiet else SPIN_WHEN_BUSY


@contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Lets torch use this many threads, and afterwards as many as before; changes nothing unless a number is given."""
    if threads is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def prepare_memory() -> None:
    """Lets glibc keep freed memory instead of returning it to the system after every step and faulting it in again."""
    if any(name.startswith("MALLOC_") for name in os.environ) or not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library, such as musl
        return
    m_trim_threshold, m_mmap_threshold = -1, -3
    mallopt(m_mmap_threshold, 32 * 2**20)
    mallopt(m_trim_threshold, 2**30)
