"""The tables of runs that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.errors import UserError
from unbraid.study.collect import collect, wide

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent / "tables"


def load_study(name: str | Path) -> pd.DataFrame:
    """The runs of a study: a row for each, with its arguments, its scores and what it cost.

    Args:
        name: of a study that comes with the package, such as 'unsupervised'; or the folder of one of your own
    """
    import pandas as pd

    kept = FOLDER / f"{name}.parquet"
    if isinstance(name, str) and kept.is_file():
        return pd.read_parquet(kept)
    if not Path(name).is_dir():
        names = ", ".join(sorted(path.stem for path in FOLDER.glob("*.parquet")))
        along = f", or one of those that come along: {names}" if names else ""
        raise UserError(f"there is no study '{name}': name a folder of runs{along}")
    return wide(collect(name))
