"""The whole path in Python: load data, build a method, fit, represent, score, report; and load a run again."""

from __future__ import annotations

from unbraid.evaluate import represent, score, score_file
from unbraid.explorer.page import explore
from unbraid.metrics.suite import score as score_arrays
from unbraid.reports.page import report
from unbraid.train.fit import fit
from unbraid.train.load import build, load_data, load_run

__all__ = [
    "build",
    "explore",
    "fit",
    "load_data",
    "load_run",
    "report",
    "represent",
    "score",
    "score_arrays",
    "score_file",
]
