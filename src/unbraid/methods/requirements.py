"""What a method needs of a data set beyond its batch kind; a set that lacks it is refused in one sentence."""

from __future__ import annotations

from typing import Any

from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.nets.autoencoders import Decoder


def require_classes(spec: Spec, method: str) -> None:
    if not spec.classes:
        raise UserError(f"{method} predicts a class, and this data set has none: choose one whose rows have a label")


def require_nuisances(spec: Spec, method: str) -> None:
    if not spec.nuisances:
        raise UserError(f"{method} needs nuisances whose values are known, and this data set names none")


def require_likelihood(method: Method[Any], spec: Spec) -> None:
    """Counts need the likelihood of counts, and it needs counts; a method without a decoder takes both."""
    decoder = getattr(method, "decoder", None)
    if not isinstance(decoder, Decoder):
        return
    if decoder.likelihood == "negative_binomial" and not spec.library:
        raise UserError(
            "the likelihood negative_binomial is for features that are counts, and these data are not said to be: "
            "add --counts (in Python counts=True)"
        )
    if decoder.likelihood != "negative_binomial" and spec.library:
        raise UserError(
            f"the features are counts, and the likelihood {decoder.likelihood} is for values from 0 to 1: choose "
            "negative_binomial, or leave --counts out, so that features are standardised"
        )
