"""Disentangled representation learning: train the methods, measure the representations, see the results.

    data = unbraid.load_data("dsprites", size=32)
    method = unbraid.build("ada_gvae", data, seed=0, width=16, lr=1e-3)
    run = unbraid.fit(method, data, steps=2000, seed=0)
    unbraid.represent(run, method, data)
    unbraid.score(run)
    unbraid.report(run)
    unbraid.explore(run)

Nothing heavy is imported before the first of these is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unbraid.api import build, explore, fit, load_data, load_run, report, represent, score, score_arrays, score_file

    __version__: str

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


def __getattr__(name: str) -> Any:
    if name in __all__:
        from unbraid import api

        return getattr(api, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("unbraid")
    raise AttributeError(f"module 'unbraid' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
