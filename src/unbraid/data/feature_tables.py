"""Tables of features from files: one, or cases and controls on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from unbraid.data.arrays import ArrayTable
from unbraid.data.counts import Counts, learn_counts
from unbraid.data.features import Scaling, learn_scaling
from unbraid.data.io.table_files import Columns, StoredTable, read_table
from unbraid.data.known import known_of
from unbraid.data.table import Rows


def feature_table(path: str, columns: Columns, counts: bool) -> ArrayTable:
    """The table of a file, with each feature standardised unless they are counts."""
    stored = read_table(path, columns)
    learn = learn_counts if counts else learn_scaling
    return _table(stored, learn([(path, stored.features)], stored.names), columns.nuisances)


def two_feature_tables(target: str, background: str, columns: Columns, counts: bool) -> tuple[ArrayTable, ArrayTable]:
    """Both sets on one scale, learnt of the two together; the background needs no label and no factors."""
    first = read_table(target, columns)
    second = read_table(background, columns, like=first)
    learn = learn_counts if counts else learn_scaling
    scaling = learn([(target, first.features), (background, second.features)], first.names)
    return _table(first, scaling, columns.nuisances), _table(second, scaling, ())


def _table(stored: StoredTable, scaling: Scaling | Counts, nuisances: Sequence[str]) -> ArrayTable:
    features = stored.features
    known = known_of(len(features), stored.known, None, stored.label, tuple(nuisances), stored.ids or None)

    def rows(chosen: Rows) -> NDArray[Any]:
        return scaling.apply(features[chosen])

    return ArrayTable(rows, (1, 1, features.shape[1]), "", known, scaling)
