"""Former names, for modules that have not moved yet; to be deleted with them."""

from __future__ import annotations

from unbraid.metrics.arrays import Floats, as_column
from unbraid.metrics.fitting import no_convergence_warnings as quiet
from unbraid.metrics.fitting import split_rows as split

__all__ = ["Floats", "as_column", "quiet", "split"]
