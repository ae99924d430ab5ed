"""What a user can put right, said in one sentence."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches

MOST = 100  # names that are listed


class UserError(Exception):
    """Something is wrong with what was asked for; the message says what, and what to do about it.

    A file may have any name: its ends of lines become spaces, and what cannot be printed a mark.
    """

    def __init__(self, message: str) -> None:
        shown = (" " if letter.isspace() else letter if letter.isprintable() else "\ufffd" for letter in message)
        super().__init__("".join(shown))


def of_the_disk(error: BaseException | None) -> bool:
    """Whether a disk or a permission failed: what was asked for may succeed when it is asked for again."""
    while error is not None:
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
            return True
        error = error.__cause__
    return False


def unknown(kind: str, name: object, known: Iterable[str]) -> UserError:
    """A name that does not exist, with the nearest one that does."""
    names = sorted(set(known))
    close = get_close_matches(str(name), names, n=1, cutoff=0.6)
    shown = names if len(names) <= MOST else [*names[:MOST], f"and {len(names) - MOST:,} more"]
    hint = f"did you mean '{close[0]}'?" if close else f"there are: {', '.join(shown) or 'none'}"
    return UserError(f"no {kind} is called '{name}': {hint}")
