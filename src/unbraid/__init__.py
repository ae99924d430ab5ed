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
    from unbraid.data.torch_sets import from_torch
    from unbraid.estimator import Disentangler
    from unbraid.evaluate import represent, score, score_file
    from unbraid.explorer.page import explore
    from unbraid.metrics.suite import score as score_arrays
    from unbraid.model import load_run
    from unbraid.reports.page import report
    from unbraid.study.power import seeds_needed
    from unbraid.study.records import load_study
    from unbraid.train.fit import fit
    from unbraid.train.load import build, load_data

    __version__: str

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
    "load_study",
    "report",
    "represent",
    "score",
    "score_arrays",
    "score_file",
    "seeds_needed",
]
MODULES = {
    "data.arrays": ("from_arrays", "from_frame", "from_pairs"),
    "data.torch_sets": ("from_torch",),
    "estimator": ("Disentangler",),
    "evaluate": ("represent", "score", "score_file"),
    "explorer.page": ("explore",),
    "model": ("load_run",),
    "reports.page": ("report",),
    "study.power": ("seeds_needed",),
    "study.records": ("load_study",),
    "train.fit": ("fit",),
    "train.load": ("build", "load_data"),
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
