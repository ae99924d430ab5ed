"""Methods in the manner of scikit-learn."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import unbraid
from unbraid import Disentangler
from unbraid.errors import UserError

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(50, 10, (60, 5)) @ np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0] * 5, [1] * 5])
IMAGES = RNG.integers(0, 256, (30, 16, 16, 3), dtype=np.uint8)
QUICK: dict[str, Any] = {"steps": 3, "batch": 8, "width": 2, "latents": 2}
CANNOT = {
    "check_no_attributes_set_in_init": "the arguments of a method are arguments of the estimator, and differ by method",
}


def expected(estimator: Any) -> dict[str, str]:
    return CANNOT


@parametrize_with_checks([Disentangler("beta_vae", **QUICK)], expected_failed_checks=expected)  # type: ignore[untyped-decorator]
def test_scikit_learn_takes_it_for_one_of_its_own(estimator: Any, check: Any) -> None:
    check(estimator)
