"""Two data sets of your own as target and background: images in folders, zip files or arrays, or tables of features."""

from __future__ import annotations

from typing import Literal

from unbraid.config import Count, FilePath, Size
from unbraid.data.feature_tables import two_feature_tables
from unbraid.data.io.table_files import Columns, column_names, is_table
from unbraid.data.sets.images import Images
from unbraid.data.split import hold_out
from unbraid.data.table import Bytes, Rows, Table, Values
from unbraid.errors import UserError


class TwoFolders(Table):
    """Class folders of the target, where there are any, are its classes; so are `labels` in an npz file.

    Tables are csv, tsv, parquet, h5ad, npy or npz files; columns that are not named here are features, which both sets
    must have. Scores are computed on the training rows, unless `test_rows` holds out others.

    Args:
        target: folder, zip or array with the images in which something is added; or a table of features
        background: folder, zip or array with the images without it; or a table of features
        size: height and width of the images in pixels
        color: as_is, grey or rgb; the last two convert all images
        label: column of the target's table with the class
        factors: columns of the target's table with what else is known of each sample, separated by commas
        ignore: columns of tables to leave out, separated by commas
        id: column of both tables with the name of each sample
        counts: the features of the tables are counts, for --likelihood negative_binomial
        test_rows: number of rows of each set to hold out for codes, scores and images
        draw: seed of the rows that are held out
    """

    name = "two_folders"
    of_files = True
    gives = ("Images", "Labelled", "TargetBackground")  # without classes no Labelled

    def __init__(
        self,
        *,
        target: FilePath,
        background: FilePath,
        size: Size = 64,
        color: Literal["as_is", "grey", "rgb"] = "as_is",
        label: str | None = None,
        factors: str | None = None,
        ignore: str | None = None,
        id: str | None = None,
        counts: bool = False,
        test_rows: Count = 0,
        draw: Count = 0,
    ) -> None:
        self.target: Table
        features = [is_table(path) for path in (target, background)]
        columns = Columns(label, column_names(factors), (), column_names(ignore), id)
        if features[0] != features[1]:
            first, second = ("features" if found else "images" for found in features)
            raise UserError(f"{target} holds {first} and {background} holds {second}: both must be of one kind")
        if all(features):
            self.target, self.background = two_feature_tables(target, background, columns, counts)
        elif counts:
            raise UserError(f"counts are features of tables, and {target} holds images")
        elif columns.named:
            raise UserError(f"'{columns.named[0]}' is to be a column, and {target} holds images: they have no columns")
        else:
            self.target, self.background = (Images(path=path, size=size, color=color) for path in (target, background))
        if self.target.shape != self.background.shape:
            kinds = {1: "grey", 3: "in colour"}
            raise UserError(
                f"{target} is {kinds[self.target.shape[0]]} and {background} is {kinds[self.background.shape[0]]}: "
                "set color to rgb or grey"
            )
        self.shape, self.factors, self.label = self.target.shape, self.target.factors, self.target.label
        self.files, self.scaling = self.target.files, self.target.scaling
        self.class_names = self.target.class_names
        if not self.label:
            self.gives = ("Images", "TargetBackground")  # type: ignore[assignment]
        if test_rows:
            if self.target.test or self.background.test:
                raise UserError(f"{target} or {background} has a folder 'test' already: leave test_rows out")
            self.target, self.background = (
                hold_out(table, count=test_rows, seed=draw) for table in (self.target, self.background)
            )
            self.files = self.target.files
        target_test, background_test = self.target.test, self.background.test
        if target_test and background_test:
            self.test = self.copy()
            self.test.target, self.test.background, self.test.files = target_test, background_test, target_test.files
        elif target_test or background_test:
            raise UserError(f"of {target} and {background} one has a folder 'test' and the other has none")

    def __len__(self) -> int:
        return len(self.target)

    def images(self, rows: Rows) -> Bytes:
        return self.target.images(rows)

    def values(self, rows: Rows) -> Values:
        return self.target.values(rows)
