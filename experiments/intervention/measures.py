"""What is measured of each run besides the engine's scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.codes import Codes
from unbraid.data.table import Table
from unbraid.methods.contract import Method
from unbraid.train import history
from unbraid.train.run import Run

POINTS = 10


def weight_variance(run: Run, method: Method[Any], data: Table, codes: Codes) -> float | None:
    """Of the importance weights at the end of training, for a method that has them."""
    return history.read(run.path / "history.csv")[-1].get("weight_variance")


def game(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, list[float]]:
    """The weights' variance and L_adv at evenly spaced steps, the last with them; empty for methods without them."""
    rows = [row for row in history.read(run.path / "history.csv") if {"weight_variance", "adv"} <= row.keys()]
    places = np.unique(np.linspace(len(rows) / POINTS, len(rows), POINTS).round().astype(int).clip(1)) - 1
    some = [rows[place] for place in places] if rows else []
    names = {"steps": "step", "weight_variance": "weight_variance", "adversarial": "adv"}
    return {name: [row[column] for row in some] for name, column in names.items()}
