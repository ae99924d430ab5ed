"""What a kind of problem is: when it applies, and what it adds to the arrays, pictures, scores and report of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Arrays, Codes, Rows
from unbraid.errors import UserError
from unbraid.figures.parts import Section
from unbraid.metrics.contract import Aim, Score

if TYPE_CHECKING:  # scores of codes need no torch
    from torch import Tensor

    from unbraid.data.table import Table
    from unbraid.methods.contract import Method

Pictures = dict[str, NDArray[Any]]
Scores = dict[str, dict[str, Any]]  # as they stand in scores.json
EXAMPLES = 10  # images in a row of pictures


@dataclass(frozen=True)
class Trained:
    """A trained method and the tables that it is shown."""

    method: Method[Any]
    table: Table
    background: Table | None
    examples: Rows  # rows whose pictures are drawn; the first is traversed
    seed: int

    def look(self, rows: Rows) -> Tensor:
        """Rows of the table as the method sees them."""
        from unbraid.encode import images

        return images(self.method, self.table, rows)


@dataclass(frozen=True)
class Task:
    """One score that can be taken of a run's codes."""

    metric: str  # the listed metric that it is made with
    take: Callable[..., Score]  # keyword arguments are those of the metric


@dataclass(frozen=True)
class Page:
    """All that a section of a report may show."""

    codes: Codes
    pictures: Pictures
    scores: Scores
    history: Sequence[dict[str, float]]


class Problem(ABC):
    name: ClassVar[str]
    # its scores by name, and the listed metric whose options each takes, or ''; a name that ends with '_' goes on with
    # a block's name
    scores: ClassVar[Mapping[str, str]] = MappingProxyType({})
    metrics: ClassVar[tuple[str, ...]] = ()  # listed metrics that only this kind of problem can take
    roles: ClassVar[Mapping[str, str]] = MappingProxyType({})  # what its blocks are there for, in a word
    aims: ClassVar[Mapping[str, Aim]] = MappingProxyType({})  # of its scores, by name, where low or chance is best
    headlines: ClassVar[tuple[str, ...]] = ()  # the scores that say most, in order
    needs: ClassVar[str] = ""  # what a run must have for them, to complete 'METRIC needs ...'

    @abstractmethod
    def applies(self, codes: Codes) -> bool: ...

    def knows(self, name: str) -> bool:
        """Whether some run may have a score of this name by this kind of problem; its own name stands for all."""
        return bool(self.options_of(name))

    def options_of(self, name: str) -> set[str]:
        """The metrics whose options a score of this name takes, '' where it takes none."""
        return {
            metric
            for score, metric in self.scores.items()
            if name in (self.name, score) or (score[-1] == "_" and name.startswith(score))
        }

    def arrays(self, trained: Trained, codes: Codes) -> Arrays:
        """What is kept beside the codes, by name; called without gradients, like `pictures`."""
        return {}

    def pictures(self, trained: Trained, codes: Codes) -> Pictures:
        """What the decoder draws, as bytes, by name."""
        return {}

    def files(self, trained: Trained, codes: Codes) -> dict[str, bytes]:
        """Files for other programs, by name."""
        return {}

    def tasks(self, codes: Codes, *, seed: int, jobs: int = 0) -> dict[str, Task]:
        """The scores that can be taken, by name."""
        return {}

    @abstractmethod
    def sections(self, page: Page) -> list[Section]:
        """Its part of the report."""


def attempt(name: str, meaning: str, take: Callable[[], Score]) -> Score:
    """The score with its meaning; undefined, with the reason, where the rows do not allow it."""
    try:
        found = take()
    except (UserError, ValueError) as error:  # too few rows, or a single class among them
        found = Score(float("nan"), warnings=(f"{name}: {error}",))
    return replace(found, params={**found.params, "meaning": meaning})


def rng_of(seed: int, name: str) -> np.random.Generator:
    """A generator for each score, so that one does not depend on which others are taken."""
    return np.random.default_rng((seed, *name.encode()))
