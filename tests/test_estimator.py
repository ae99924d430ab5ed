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
from unbraid.data.features import Scaling
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


def test_the_codes_are_those_of_the_method_trained_by_hand(tmp_path: Path) -> None:
    table = unbraid.from_arrays(IMAGES)
    method = unbraid.build("beta_vae", table, seed=3, beta=2.0, width=2, latents=2)
    unbraid.fit(method, table, steps=3, batch=8, seed=3, out=str(tmp_path), show=False)
    with torch.no_grad():
        codes = method.encode(torch.from_numpy(IMAGES.transpose(0, 3, 1, 2) / 255).float())["z"].numpy()
    found = Disentangler("beta_vae", beta=2, seed=3, **QUICK).fit(IMAGES).transform(IMAGES)
    np.testing.assert_allclose(found, codes, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "given",
    [
        IMAGES,
        IMAGES.transpose(0, 3, 1, 2),
        IMAGES / 255,
        torch.from_numpy(IMAGES / 255).requires_grad_(),
        [Image.fromarray(image) for image in IMAGES],
    ],
)
def test_every_kind_of_images_gives_the_same_codes_and_its_own_layout_back(given: Any) -> None:
    fitted = Disentangler("beta_vae", **QUICK).fit(given)
    codes = fitted.transform(given)
    np.testing.assert_allclose(
        codes, Disentangler("beta_vae", **QUICK).fit(IMAGES).transform(IMAGES), rtol=1e-3, atol=1e-5
    )
    drawn = fitted.inverse_transform(codes)
    assert drawn.shape == (np.stack(given).shape if isinstance(given, list) else tuple(given.shape))
    assert 0 <= drawn.min() <= drawn.max() <= 1


def test_features_come_back_in_their_own_units() -> None:
    frame = pd.DataFrame(FEATURES, columns=["age", "height", "weight", "dose", "time"])
    fitted = Disentangler("vae", steps=600, batch=60, latents=5, lr=3e-3, width=8, sigma=0.02).fit(frame)
    back = fitted.inverse_transform(fitted.transform(frame))
    relative = ((back - FEATURES) ** 2).sum() / ((FEATURES - FEATURES.mean(0)) ** 2).sum()
    assert relative < 0.5  # of the variance; 1 where only the mean comes back
    assert fitted.model_.arguments["likelihood"] == "gaussian"
    named = fitted.set_output(transform="pandas").transform(frame)
    assert list(named.columns) == list(fitted.get_feature_names_out()) == ["z0", "z1", "z2", "z3", "z4"]
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(frame[list(reversed(frame.columns))])


def test_a_given_likelihood_is_kept_and_images_have_that_of_the_method() -> None:
    assert (
        Disentangler("vae", likelihood="bernoulli", **QUICK).fit(FEATURES).model_.arguments["likelihood"] == "bernoulli"
    )
    assert Disentangler("vae", **QUICK).fit(IMAGES).model_.arguments["likelihood"] == "bernoulli"


def test_parameters_are_those_of_the_method() -> None:
    estimator = Disentangler("beta_vae", beta=7, steps=5)
    assert estimator.get_params()["beta"] == 7
    assert estimator.get_params()["latents"] == 10
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(latents=3, steps=9).get_params()["latents"] == 3
    with pytest.raises(UserError, match="no argument of vae is called 'beta'"):
        estimator.set_params(method="vae").fit(FEATURES)
    with pytest.raises(UserError, match="beta of beta_vae must be 0 or more"):
        Disentangler("beta_vae", beta=-1).fit(FEATURES)
    with pytest.raises(UserError, match=r"there is nothing to learn from: fit\(X\)"):
        Disentangler("beta_vae").fit()
    with pytest.raises(UserError, match="did you mean 'beta_vae'"):
        Disentangler("betavae").fit(FEATURES)


def test_it_stands_in_a_pipeline_and_in_a_grid_search() -> None:
    y = (FEATURES[:, 0] > FEATURES[:, 0].mean()).astype(int)
    pipeline = make_pipeline(Disentangler("beta_vae", **QUICK), LogisticRegression())
    search = GridSearchCV(pipeline, {"disentangler__beta": [1, 4]}, cv=2).fit(FEATURES, y)
    assert search.best_params_["disentangler__beta"] in (1, 4)
    alone = GridSearchCV(Disentangler("beta_vae", **QUICK), {"latents": [1, 3]}, cv=2).fit(FEATURES)
    assert np.isfinite(alone.cv_results_["mean_test_score"]).all()
    assert alone.best_estimator_.transform(FEATURES).shape[1] == alone.best_params_["latents"]
    methods = GridSearchCV(Disentangler(**QUICK), {"method": ["vae", "beta_tcvae", "beta_vae"]}, cv=2).fit(FEATURES)
    assert np.isfinite(methods.cv_results_["mean_test_score"]).all()
    assert not hasattr(clone(Disentangler("beta_vae", **QUICK)).set_params(method="vae"), "beta")
    with pytest.raises(UserError, match="no argument of vae is called 'beta'"):  # it was asked for
        clone(Disentangler("beta_vae", beta=2.0, **QUICK)).set_params(method="vae").fit(FEATURES)


def test_classes_and_nuisances() -> None:
    y = np.array(["cat", "dog", "owl"] * 10)
    fitted = Disentangler("cnn", **QUICK).fit(IMAGES, y)
    accuracy = np.mean(fitted.classes_[fitted.model_.classify(IMAGES)] == y)
    assert fitted.score(IMAGES, y) == accuracy
    both = np.stack([np.arange(30) % 3, np.arange(30) % 2], 1)
    conditional = Disentangler("vfae", **QUICK).fit(IMAGES, both)
    assert conditional.model_.method.spec.nuisances == (2,)
    assert conditional.score(IMAGES) == -conditional.model_.squared_error(IMAGES).mean()  # it has no bound
    with pytest.raises(UserError, match=r"cnn needs classes: fit\(X, y\)"):
        Disentangler("cnn", **QUICK).fit(IMAGES)


def test_cases_against_controls() -> None:
    fitted = Disentangler("salient_vae", steps=3, batch=8, width=2, salient=2, common=3).fit(
        FEATURES[:30], background=FEATURES[30:]
    )
    assert list(fitted.get_feature_names_out()) == ["s0", "s1", "z0", "z1", "z2"]
    assert isinstance(fitted.model_.scaling, Scaling)
    np.testing.assert_allclose(fitted.model_.scaling.mean, FEATURES.mean(0))
    with pytest.raises(UserError, match=r"salient_vae needs .*: fit\(X, background=B\)"):
        Disentangler("salient_vae", steps=3).fit(FEATURES)


def test_successive_samples_that_are_given() -> None:
    fitted = Disentangler("slow_vae", **QUICK).fit(pairs=(IMAGES[:-1], IMAGES[1:]))
    assert fitted.transform(IMAGES).shape == (len(IMAGES), 2)
    with pytest.raises(UserError, match=r"slow_vae needs samples and those of the next moment: fit\(pairs="):
        Disentangler("slow_vae", **QUICK).fit(IMAGES)


def test_pairs_that_are_given() -> None:
    fitted = Disentangler("ada_gvae", **QUICK).fit(pairs=(IMAGES[:15], IMAGES[15:]), changed=2)
    assert fitted.transform(IMAGES).shape == (30, 2)
    with pytest.raises(UserError, match="ada_gvae needs pairs"):
        Disentangler("ada_gvae", **QUICK).fit(IMAGES)
    with pytest.raises(UserError, match="pairs are two sets of samples"):
        Disentangler("ada_gvae", **QUICK).fit(pairs=IMAGES)


def test_the_score_is_the_bound_in_the_units_of_the_features() -> None:
    """Of a model whose code tells nothing (beta is huge) it is the log density of a fixed Gaussian."""
    fitted = Disentangler("beta_vae", beta=1e6, steps=200, batch=60, lr=1e-2, width=2, latents=1).fit(FEATURES)
    mean = fitted.inverse_transform(np.zeros((1, 1), np.float32))[0]
    assert fitted.model_.scaling is not None
    deviation = fitted.model_.scaling.spread  # sigma of 0.1 is one standard deviation
    held, constant = FEATURES[:, deviation > 0], deviation > 0
    z = (held - mean[constant]) / deviation[constant]
    density = -0.5 * (z**2).sum(1) - np.log(deviation[constant]).sum() - 0.5 * held.shape[1] * np.log(2 * np.pi)
    density -= (5 - held.shape[1]) * np.log(0.1 * np.sqrt(2 * np.pi))  # a constant feature is known, in scaled units
    assert abs(fitted.score(FEATURES) - density.mean()) < 0.05


def test_a_fitted_estimator_is_pickled_and_a_run_is_kept_where_asked(tmp_path: Path) -> None:
    fitted = Disentangler("beta_vae", out=str(tmp_path), **QUICK).fit(IMAGES)
    codes = fitted.transform(IMAGES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(IMAGES), codes)
    np.testing.assert_array_equal(unbraid.load_run(fitted.run_.path).transform(IMAGES), codes)


def test_nothing_of_an_earlier_fit_remains(tmp_path: Path) -> None:
    frame = pd.DataFrame(FEATURES, columns=list("abcde"))
    estimator = Disentangler("cnn", out=str(tmp_path), **QUICK).fit(frame, np.arange(60) % 3)
    assert {"classes_", "run_", "feature_names_in_", "n_features_in_"} <= vars(estimator).keys()
    estimator.set_params(method="beta_vae", out=None).fit(IMAGES)
    assert {name for name in vars(estimator) if name.endswith("_")} == {"model_", "layout_"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (IMAGES.astype(np.float32), "has values from 0 to 255"),
        (IMAGES[:, :8], "images of 8x16, and the model was trained on 16x16"),
        (IMAGES[..., 0], "has 1 channels, and the model was trained on 3"),
        (FEATURES, "X has 5 features, and the model was trained on images"),
    ],
)
def test_new_samples_are_checked(given: Any, message: str) -> None:
    fitted = Disentangler("beta_vae", **QUICK).fit(IMAGES)
    with pytest.raises(ValueError, match=message):
        fitted.transform(given)


def test_tensors_become_arrays_whatever_their_device() -> None:
    """Codes of a tensor on a GPU would come back on that GPU, which numpy cannot read."""
    fitted = Disentangler("beta_vae", **QUICK).fit(IMAGES)
    tensor = torch.from_numpy(IMAGES)
    assert isinstance(fitted._checked(tensor, reset=False), np.ndarray)
    codes = fitted.transform(tensor)
    np.testing.assert_array_equal(codes, fitted.transform(IMAGES))
    drawn = fitted.inverse_transform(torch.from_numpy(codes).requires_grad_())
    np.testing.assert_array_equal(drawn, fitted.inverse_transform(codes))
