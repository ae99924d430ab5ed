"""The kinds of problem, each in one file. Nothing else branches on the name of a block."""

from __future__ import annotations

from unbraid.codes import Codes
from unbraid.problems.classes import Classes
from unbraid.problems.contract import Problem
from unbraid.problems.features import Features
from unbraid.problems.plain import Plain
from unbraid.problems.slices import Slices
from unbraid.problems.two_sets import TwoSets

# in the order of their sections in a report
PROBLEMS: tuple[Problem, ...] = (Features(), TwoSets(), Slices(), Classes(), Plain())


def problems_of(codes: Codes) -> list[Problem]:
    """Those that these codes are about."""
    return [problem for problem in PROBLEMS if problem.applies(codes)]
