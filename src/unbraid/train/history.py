"""Loss terms over time."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from unbraid.errors import UserError


class History:
    """Loss terms by step: kept on the device until a window closes, then one row of means."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.open: list[tuple[int, dict[str, Tensor]]] = []

    def add(self, step: int, terms: dict[str, Tensor]) -> None:
        self.open.append((step, terms))

    def close_window(self, kept: str) -> dict[str, float]:
        """Adds the row of means, or raises where a term is not finite, naming the first such term and its step."""
        flat = iter(torch.stack([value.float() for _, terms in self.open for value in terms.values()]).tolist())
        values: dict[str, list[float]] = {}
        for step, terms in self.open:
            for name, value in zip(terms, flat, strict=False):
                if not math.isfinite(value):
                    raise UserError(
                        f"the loss term '{name}' became {value} at step {step}; {kept}; a lower learning rate may help"
                    )
                values.setdefault(name, []).append(value)
        row = {"step": float(self.open[-1][0] + 1)} | {name: float(np.mean(v)) for name, v in values.items()}
        self.rows.append(row)
        self.open = []
        return row

    def csv(self) -> bytes:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        text = io.StringIO()
        writer = csv.DictWriter(text, names or ["step"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "step": int(row["step"])} for row in self.rows)
        return text.getvalue().encode()


def read(path: Path) -> list[dict[str, float]]:
    """The rows of a history.csv; a term that a window did not have is left out of its row."""
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
    except (ValueError, TypeError, csv.Error) as error:
        raise UserError(f"{path} is damaged ({' '.join(str(error).split())}): remove it") from error
    if any("step" not in row or not all(map(math.isfinite, row.values())) for row in rows):
        raise UserError(f"{path} is damaged (a row has no step, or a value that is not finite): remove it")
    return rows
