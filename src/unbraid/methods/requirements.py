"""What a method needs of a data set beyond its batch kind; a set that lacks it is refused in one sentence."""

from __future__ import annotations

from unbraid.data.table import Spec
from unbraid.errors import UserError


def require_classes(spec: Spec, method: str) -> None:
    if not spec.classes:
        raise UserError(f"{method} predicts a class, and this data set has none: choose one whose rows have a label")


def require_nuisances(spec: Spec, method: str) -> None:
    if not spec.nuisances:
        raise UserError(f"{method} needs nuisances whose values are known, and this data set names none")
