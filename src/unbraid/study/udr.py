"""UDR of the runs of a study: each among the seeds of its setting, from their codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.codes import read_codes
from unbraid.metrics.udr import udr
from unbraid.train.run import Run


def with_udr(table: pd.DataFrame, runs: Path) -> pd.DataFrame:
    """The table of a row for each run, with the column `udr`.

    NaN where a setting has one seed only, or where a run's codes are missing or of other rows than those of the
    setting's first run.
    """
    found: dict[str, float] = {}
    setting = next(column for column in ("choice", "setting", "strength") if column in table)
    for _, part in table.groupby(["data", "objective", setting], dropna=False):
        names = [name for name in part["run"] if (runs / name / "codes.npz").exists()]
        found_codes = {name: read_codes(Run(runs / name)) for name in names}
        alike = [name for name in names if np.array_equal(found_codes[name].rows, found_codes[names[0]].rows)]
        if len(alike) < 2:
            continue
        blocks = [found_codes[name].blocks[found_codes[alike[0]].first] for name in alike]
        codes = [block.codes for block in blocks]
        kl = None if blocks[0].kl is None else [block.kl.tolist() for block in blocks if block.kl is not None]
        score = udr(codes, np.random.default_rng(0), kl=kl, method="spearman", resamplings=0)
        found |= dict(zip(alike, score.parts["per_run"], strict=True))
    return table.assign(udr=table["run"].map(found).astype(float))
