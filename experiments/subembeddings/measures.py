"""What is measured of each run besides the engine's scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.codes import Codes
from unbraid.data.table import Table
from unbraid.encode import encode_rows
from unbraid.methods.contract import Method
from unbraid.problems.slices import compare_slices, slices_of
from unbraid.train import history
from unbraid.train.run import Run

PROBE_ROWS = 2  # rows that probes learn from, for each that they are tested on
LATE = 200  # steps at the end over which logged terms are averaged


def probes(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, Any]:
    """The scores of all slices: probes learn from rows that were trained on and are tested on held-out ones."""
    assert data.test is not None
    rng, count = np.random.default_rng(0), len(codes)
    learned, held_out = (
        encode_rows(method, table, rng.choice(len(table), min(n, len(table)), replace=False))
        for table, n in ((data, PROBE_ROWS * count), (data.test, count))
    )
    blocks = {name: np.concatenate([code, held_out.means()[name]]) for name, code in learned.means().items()}
    tasks = np.stack([np.concatenate([part.factor(name) for part in (learned, held_out)]) for name in data.shared], 1)
    scores: dict[str, Any] = {}
    for whole in slices_of(blocks):
        both = compare_slices(blocks, whole, tasks, data.shared, train=len(learned), jobs=1)
        scores |= {f"{kind}_{whole}": score.as_dict() for kind, score in zip(("probes", "copies"), both, strict=True)}
    return scores


def late(run: Run, method: Method[Any], data: Table, codes: Codes) -> dict[str, float]:
    """The loss and its terms, averaged over the last steps."""
    rows = [row for row in history.read(run.path / "history.csv") if row["step"] > run.plan.steps - LATE]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name != "step"}
