"""A data set that lacks what a method needs is refused in one sentence."""

from __future__ import annotations

import pytest

from unbraid.data.table import Spec
from unbraid.errors import UserError
from unbraid.methods.cnn import CNN
from unbraid.methods.requirements import require_classes, require_likelihood, require_nuisances
from unbraid.methods.vae import VAE

PLAIN, COUNTS = Spec((1, 1, 4), 10), Spec((1, 1, 4), 10, library=50.0)


def test_classes_and_nuisances() -> None:
    with pytest.raises(UserError, match="cnn predicts a class, and this data set has none"):
        require_classes(PLAIN, "cnn")
    with pytest.raises(UserError, match="cai needs nuisances whose values are known"):
        require_nuisances(PLAIN, "cai")
    rich = Spec((1, 1, 4), 10, classes=2, nuisances=(3,))
    require_classes(rich, "cnn")
    require_nuisances(rich, "cai")


def test_counts_and_their_likelihood_need_each_other() -> None:
    of_counts, of_numbers = (VAE(COUNTS, net="dense", likelihood=name) for name in ("negative_binomial", "gaussian"))
    require_likelihood(of_counts, COUNTS)
    require_likelihood(of_numbers, PLAIN)
    with pytest.raises(UserError, match=r"negative_binomial is for features that are counts.*add --counts"):
        require_likelihood(of_counts, PLAIN)
    with pytest.raises(UserError, match="the likelihood gaussian is for values from 0 to 1: choose negative_binomial"):
        require_likelihood(of_numbers, COUNTS)
    require_likelihood(CNN(Spec((1, 8, 8), 10, classes=2)), COUNTS)  # it has no decoder
