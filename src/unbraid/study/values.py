"""Values as a signature declares them, so that beta=4 and beta=4.0 are the same run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from unbraid.catalogue import Argument
from unbraid.errors import UserError, unknown


def coerced(argument: Argument, value: Any, owner: str) -> Any:
    """The value in the argument's declared type; raises where it does not fit."""
    kind = argument.type.removesuffix(" | None").strip()
    value = value.item() if isinstance(value, np.generic) else str(value) if isinstance(value, Path) else value
    if type(value) in (int, float) and type(argument.default) in (int, float) and value == argument.default:
        return argument.default
    if value is None and (kind != argument.type or argument.default is None):
        return None
    if kind == "float" and type(value) in (int, float):
        return float(value)
    if kind.startswith("Literal["):
        choices = re.findall(r"'([^']*)'", kind.replace('"', "'"))
        if value not in choices:
            raise unknown(f"{argument.name} of {owner}", str(value), choices)
        return value
    plain: dict[str, type] = {"int": int, "str": str, "bool": bool, "float": float}
    if kind in plain and type(value) is not plain[kind]:
        raise UserError(f"{argument.name} of {owner} must be {'an' if kind == 'int' else 'a'} {kind}, not {value!r}")
    return value
