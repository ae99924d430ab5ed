"""A table of features of your own, a row for each sample: a csv, tsv, parquet, h5ad, npy or npz file.

Every column that is not named otherwise is a feature. An npz file has its features under `features` (or as its only
array) and, if there are classes, whole numbers from 0 under `labels`; an h5ad file has them in X, and columns that are
named as label, factors or id in obs.
"""

from __future__ import annotations

import numpy as np

from unbraid.config import Count, FilePath
from unbraid.data.feature_tables import feature_table
from unbraid.data.io.table_files import Columns, column_names
from unbraid.data.split import Subset, hold_out


class Table(Subset):
    """Features, each brought to mean 0.5 and standard deviation 0.1; the scaling is kept with the run.

    Counts (`counts`) are not brought to anything: a method sees the logarithm of 1 + count.

    Args:
        path: csv, tsv, parquet, h5ad, npy or npz file
        label: column with the class
        factors: columns with what else is known of each sample, separated by commas
        nuisances: columns with known nuisances, separated by commas
        ignore: columns to leave out, separated by commas
        id: column with the name of each sample
        counts: the features are counts, for --likelihood negative_binomial
        test_rows: number of rows to hold out for codes and scores
        draw: seed of the rows that are held out
    """

    name = "table"
    gives = ("Images", "Labelled", "Pairs", "Views")  # at most; an instance knows what its columns give

    def __init__(
        self,
        *,
        path: FilePath,
        label: str | None = None,
        factors: str | None = None,
        nuisances: str | None = None,
        ignore: str | None = None,
        id: str | None = None,
        counts: bool = False,
        test_rows: Count = 0,
        draw: Count = 0,
    ) -> None:
        arguments = self.arguments
        columns = Columns(label, column_names(factors), column_names(nuisances), column_names(ignore), id)
        whole = feature_table(path, columns, counts)
        kept = hold_out(whole, count=test_rows, seed=draw) if test_rows else None
        super().__init__(whole, kept.chosen if isinstance(kept, Subset) else np.arange(len(whole)))
        self.name, self.arguments, self.of_files = Table.name, arguments, True
        self.class_names = whole.class_names
        self.test = kept.test if kept else None
