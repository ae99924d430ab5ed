"""The whole path in Python: load data, build a method, fit, represent, score, report; and use a trained model."""

from __future__ import annotations

from unbraid.data.arrays import from_arrays, from_frame, from_pairs
from unbraid.data.torch_sets import from_torch
from unbraid.estimator import Disentangler
from unbraid.evaluate import represent, score, score_file
from unbraid.explorer.page import explore
from unbraid.metrics.suite import score as score_arrays
from unbraid.model import load_run
from unbraid.reports.page import report
from unbraid.train.fit import fit
from unbraid.train.load import build, load_data

__all__ = [
    "Disentangler",
    "build",
    "explore",
    "fit",
    "from_arrays",
    "from_frame",
    "from_pairs",
    "from_torch",
    "load_data",
    "load_run",
    "report",
    "represent",
    "score",
    "score_arrays",
    "score_file",
]
