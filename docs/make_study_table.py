"""Writes the table of runs that comes with the package.

python -m docs.make_study_table RUNS [NAME]        (the folder of a study's runs; NAME is 'unsupervised' unless given)

Seeds of which a run is missing are left out, and columns that are empty or the same path for all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from unbraid.study.analyse import with_efficiency
from unbraid.study.collect import collect, wide
from unbraid.study.records import FOLDER
from unbraid.study.udr import with_udr
from unbraid.train.run import write

SETTING = ["data", "condition", "objective", "setting"]


def complete_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Without the seeds that have fewer runs than others."""
    runs = table.groupby("seed").size()
    return table[table["seed"].isin(runs.index[runs == runs.max()])]


def table_of(runs: Path) -> pd.DataFrame:
    table = with_udr(complete_seeds(wide(collect(runs))), runs)
    table, _ = with_efficiency(table, ["downstream"])
    return table.dropna(axis="columns", how="all").sort_values([*SETTING, "seed"]).reset_index(drop=True)


def main() -> None:
    runs, name = Path(sys.argv[1]), (sys.argv[2:] or ["unsupervised"])[0]
    table, path = table_of(runs), FOLDER / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, table.to_parquet(index=False))
    print(f"{len(table)} runs of {table['seed'].nunique()} seeds, {path.stat().st_size / 1e6:.1f} MB: {path}")


if __name__ == "__main__":
    main()
