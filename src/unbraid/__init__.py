"""Disentangled representation learning: train the methods, measure the representations, see the results.

    data = unbraid.load_data("dsprites", size=32)
    method = unbraid.build("ada_gvae", data, seed=0, width=16, lr=1e-3)
    run = unbraid.fit(method, data, steps=2000, seed=0)
    unbraid.represent(run, method, data)
    unbraid.score(run)
    unbraid.report(run)
    unbraid.explore(run)

Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid.data.arrays import from_arrays, from_frame, from_pairs
    from unbraid.data.split import correlate, hold_out
    from unbraid.data.torch_sets import from_torch
    from unbraid.errors import UserError
    from unbraid.estimator import Disentangler
    from unbraid.evaluate import represent, score, score_file
    from unbraid.explorer.page import explore
    from unbraid.metrics.contract import Score
    from unbraid.metrics.suite import score as score_arrays
    from unbraid.model import Model, load_run
    from unbraid.reports.page import report
    from unbraid.study.power import seeds_for, seeds_needed, seeds_to_rank
    from unbraid.study.records import load_study
    from unbraid.train.fit import fit
    from unbraid.train.load import build, load_data
    from unbraid.train.run import Run

    __version__: str

__all__ = [
    "Disentangler",
    "Model",
    "Run",
    "Score",
    "UserError",
    "build",
    "correlate",
    "explore",
    "fit",
    "from_arrays",
    "from_frame",
    "from_pairs",
    "from_torch",
    "hold_out",
    "load_data",
    "load_run",
    "load_study",
    "report",
    "represent",
    "score",
    "score_arrays",
    "score_file",
    "seeds_for",
    "seeds_needed",
    "seeds_to_rank",
]
MODULES = {
    "data.arrays": ("from_arrays", "from_frame", "from_pairs"),
    "data.split": ("correlate", "hold_out"),
    "data.torch_sets": ("from_torch",),
    "errors": ("UserError",),
    "estimator": ("Disentangler",),
    "evaluate": ("represent", "score", "score_file"),
    "explorer.page": ("explore",),
    "metrics.contract": ("Score",),
    "model": ("Model", "load_run"),
    "reports.page": ("report",),
    "study.power": ("seeds_for", "seeds_needed", "seeds_to_rank"),
    "study.records": ("load_study",),
    "train.fit": ("fit",),
    "train.load": ("build", "load_data"),
    "train.run": ("Run",),
}


def __getattr__(name: str) -> Any:
    for module, names in MODULES.items():
        if name in names:
            return getattr(import_module(f"unbraid.{module}"), name)
    if name == "score_arrays":
        return import_module("unbraid.metrics.suite").score
    if name == "__version__":
        from importlib.metadata import version

        return version("unbraid")
    raise AttributeError(f"module 'unbraid' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
