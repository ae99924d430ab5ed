"""What is measured of each run besides the engine's scores."""

from __future__ import annotations

from typing import Any

from unbraid.codes import Codes
from unbraid.data.table import Table
from unbraid.methods.contract import Method
from unbraid.train import history
from unbraid.train.run import Run


def weight_variance(run: Run, method: Method[Any], data: Table, codes: Codes) -> float | None:
    """Of the importance weights at the end of training, for a method that has them."""
    return history.read(run.path / "history.csv")[-1].get("weight_variance")
