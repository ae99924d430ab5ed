"""Writes the tables of runs that come with the package.

python -m docs.make_study_table [RUNS]        (the folder that `unbraid reproduce experiments/unsupervised` fills)

Of the plan's runs those are taken whose seed has all of them; columns that are empty are left out. UDR, which needs the
codes of the runs of a setting, is what the page's command found and kept with the page's pictures. Two tutorials need
the table and wait for it in experiments/unsupervised/pages: move them to docs/tutorials, name them in mkdocs.yml and in
the README there, and run `make tutorials`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from experiments.unsupervised.study import studies

from unbraid.study.analyse import with_efficiency
from unbraid.study.collect import collect, wide
from unbraid.study.plan import Job
from unbraid.study.records import FOLDER
from unbraid.train.run import write

NAMES = {"study": "unsupervised", "newer": "unsupervised_newer"}
UDR = Path(__file__).parent / "results" / "unsupervised" / "udr.csv"
SETTING = ["data", "condition", "objective", "strength", "setting"]


def complete(jobs: Sequence[Job], folder: Path) -> list[str]:
    """The names of the runs of those seeds of which all runs are done."""
    lacking = {job.plan.seed for job in jobs if not (folder / job.name / "evaluation.json").exists()}
    return [job.name for job in jobs if job.plan.seed not in lacking]


def table_of(runs: Path, names: Sequence[str]) -> pd.DataFrame:
    table, _ = with_efficiency(wide(collect(runs, names)), ["downstream"])
    table = table.assign(udr=table["run"].map(pd.read_csv(UDR, index_col="run")["udr"]))
    return table.dropna(axis="columns", how="all").sort_values([*SETTING, "seed"]).reset_index(drop=True)


def main() -> None:
    root = Path((sys.argv[1:] or ["runs/unsupervised"])[0])
    for study, name in NAMES.items():
        names = complete(studies[study].jobs(), root / study)
        if not names:
            print(f"no seed of {study} is complete in {root}")
            continue
        table, path = table_of(root / study, names), FOLDER / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, table.to_parquet(index=False))
        print(f"{len(table)} runs of {table['seed'].nunique()} seeds, {path.stat().st_size / 1e6:.1f} MB: {path}")


if __name__ == "__main__":
    main()
