"""The whole path in Python: load data, build a method, fit, represent, score, report; and load a run again."""

from __future__ import annotations

from unbraid.loading import build, load_data, load_run
from unbraid.metrics.suite import score as score_arrays
from unbraid.reports.page import report
from unbraid.representation import represent
from unbraid.scores import score, score_file
from unbraid.train import fit

__all__ = ["build", "fit", "load_data", "load_run", "report", "represent", "score", "score_arrays", "score_file"]
