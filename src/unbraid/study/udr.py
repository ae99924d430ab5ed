"""UDR of the runs of a study: each among the seeds of its setting, from their codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from unbraid.metrics.udr import udr
from unbraid.train.run import Run


def with_udr(table: pd.DataFrame, runs: Path) -> pd.DataFrame:
    """The table of a row for each run, with the column `udr`.

    NaN where a setting has one seed only, or where a run's codes are missing or of other rows than those of the
    setting's first run.
    """
    found: dict[str, float] = {}
    setting = "setting" if "setting" in table else "strength"
    for _, part in table.groupby(["data", "objective", setting], dropna=False):
        names = [name for name in part["run"] if (runs / name / "codes.npz").exists()]
        arrays = {name: Run(runs / name).arrays("codes.npz") for name in names}
        alike = [name for name in names if np.array_equal(arrays[name]["rows"], arrays[names[0]]["rows"])]
        if len(alike) < 2:
            continue
        block = next(key for key in arrays[alike[0]] if key.startswith("codes_")).removeprefix("codes_")
        codes = [arrays[name][f"codes_{block}"] for name in alike]
        gaussian = f"kl_{block}" in arrays[alike[0]]
        kl = [arrays[name][f"kl_{block}"].tolist() for name in alike] if gaussian else None
        score = udr(codes, np.random.default_rng(0), kl=kl, method="spearman", resamplings=0)
        found |= dict(zip(alike, score.parts["per_run"], strict=True))
    return table.assign(udr=table["run"].map(found).astype(float))
