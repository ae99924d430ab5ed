"""A method in the manner of scikit-learn: fit, transform, inverse_transform, in pipelines and grid searches."""

from __future__ import annotations

import tempfile
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unbraid import catalogue
from unbraid.data.arrays import ArrayTable, from_arrays, from_pairs
from unbraid.data.samples import laid_out, read, to_array
from unbraid.errors import UserError
from unbraid.model import Model
from unbraid.train.fit import fit as train
from unbraid.train.load import build

NEEDS = {  # what a method of a batch kind needs beyond samples
    "Labelled": "classes: fit(X, y)",
    "Views": "classes: fit(X, y)",
    "Pairs": "pairs: fit(pairs=(X1, X2), changed=1)",
    "Transitions": "samples and those of the next moment: fit(pairs=(X1, X2))",
    "TargetBackground": "samples without what is salient in X: fit(X, background=B)",
}


class Disentangler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Any method as an estimator.

    X may be an array of images or features, a tensor, a DataFrame or a list of PIL images (data/samples.py). Features
    are scaled as they were in `fit`, and `inverse_transform` gives them in their own units. `transform` gives the
    codes: all blocks side by side, with the names z0, z1, ...

    After `fit`, `model_` is the trained `Model`, and `run_` its directory where `out` names a folder.

    Args:
        method: its name ('unbraid list methods' shows them all), 'file.py:Class', or a class
        steps: number of batches drawn
        batch: samples in a batch
        seed: of initial weights, batches and noise
        decay: share of the steps, at the end, over which every learning rate falls
        device: cpu, cuda, or any other that torch knows
        out: folder for the run's directory; None keeps nothing on disk
        verbose: show a progress bar
        arguments: those of the method and of the drawing of its batches. `likelihood`, unless given, is gaussian for
            features and the method's own default for images; with negative_binomial, features are counts
    """

    def __init__(
        self,
        method: Any = "beta_vae",
        *,
        steps: int = 2000,
        batch: int = 64,
        seed: int = 0,
        decay: float = 0.0,
        device: str = "cpu",
        out: str | None = None,
        verbose: bool = False,
        **arguments: Any,
    ) -> None:
        self.method, self.steps, self.batch, self.seed, self.decay = method, steps, batch, seed, decay
        self.device, self.out, self.verbose = device, out, verbose
        for name, value in arguments.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its own arguments and all of the method's, so that a grid search can set any of them."""
        own: dict[str, Any] = super().get_params(deep)
        given = {name: value for name, value in vars(self).items() if name[0] != "_" and name[-1] != "_"}
        return own | self._defaults() | given

    def set_params(self, **params: Any) -> Self:
        """Sets arguments; with another method, those that it has not and that were left at their defaults are gone."""
        if "method" in params:
            before = self._defaults()
            self.method = params["method"]
            now = self._defaults() or before  # where there is no such method `fit` says so
            for name in before.keys() - now.keys():
                if name in vars(self) and getattr(self, name) == before[name]:
                    delattr(self, name)
        return super().set_params(**params)  # type: ignore[no-any-return]

    def _defaults(self) -> dict[str, Any]:
        """The method's arguments, those of its sampler, and its networks; nothing where there is no such method."""
        try:
            entry = catalogue.entry_of("methods", self.method)
        except UserError:  # `fit` says so
            return {}
        known = (*entry.arguments, *catalogue.sampling(entry.traits["batch_kind"]), *catalogue.NETWORKS)
        return {a.name: None if a.name == "likelihood" else a.default for a in known}

    def fit(self, X: Any = None, y: Any = None, *, background: Any = None, pairs: Any = None, changed: int = 1) -> Self:
        """Trains the method.

        Args:
            X: the samples
            y: their classes [n]; or [n, 1 + m], the class and then known nuisances; unused by methods without classes
            background: samples without what is salient in X
            pairs: (X1, X2) in place of X: samples that differ in `changed` factors from each other, row by row, or
                samples and those of the next moment
            changed: number of factors in which the samples of a pair differ
        """
        for name in [name for name in vars(self) if name[0] != "_" and name[-1] == "_"]:  # what was learnt before
            delattr(self, name)
        entry = catalogue.entry_of("methods", self.method)
        kind = entry.traits["batch_kind"]
        known = y if kind in ("Labelled", "Views", "Pairs") else None
        given = {n: value for n, value in self.get_params(deep=False).items() if n not in self._get_param_names()}
        sampling = {a.name: given.pop(a.name) for a in catalogue.sampling(kind)}
        counts = given.get("likelihood") == "negative_binomial"
        if pairs is not None:
            table = self._pairs(pairs, changed, known, counts)
            if kind == "Pairs":
                sampling["changed"] = changed
        elif X is None:
            raise UserError("there is nothing to learn from: fit(X), or fit(pairs=(X1, X2))")
        else:
            table = self._table(X, known, background, counts)
        if kind not in table.gives and sampling.get("views_of") != "instance":
            raise UserError(f"{entry.name} needs {NEEDS[kind]}")
        if "likelihood" in given and given["likelihood"] is None:
            default = next(argument.default for argument in entry.arguments if argument.name == "likelihood")
            given["likelihood"] = "gaussian" if table.scaling is not None else default
        self._train(table, given, sampling)
        return self

    def _train(self, table: ArrayTable, arguments: dict[str, Any], sampling: dict[str, Any]) -> None:
        method = build(self.method, table, seed=self.seed, **arguments)
        with tempfile.TemporaryDirectory() as folder:
            run = train(
                method,
                table,
                steps=self.steps,
                batch=self.batch,
                seed=self.seed,
                decay=self.decay,
                sampling=sampling,
                out=self.out or folder,
                device=self.device,
                show=self.verbose,
            )
        self.model_ = Model(method, table.scaling, run if self.out else None)
        if self.out:
            self.run_ = run

    def transform(self, X: Any) -> NDArray[np.float32]:
        """The codes of some samples, [n, k]."""
        check_is_fitted(self, "model_")
        codes: NDArray[np.float32] = self.model_.transform(self._checked(X, reset=False))
        return codes

    def inverse_transform(self, Z: Any) -> NDArray[Any]:
        """What the decoder draws from codes: images in [0, 1] in the layout of those in `fit`, or features."""
        check_is_fitted(self, "model_")
        return laid_out(self.model_.decode(to_array(Z, "Z")), self.layout_)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean evidence lower bound in nats per sample, where the method has one; higher is better.

        It is that of the model, log p(x|z) - KL, whatever the weights of the method's terms: a search over `beta` by it
        prefers values near 1. Methods without one are scored by minus the mean squared error of reconstructions, and
        without a decoder by the accuracy of their classes.
        """
        check_is_fitted(self, "model_")
        model, samples = self.model_, self._checked(X, reset=False)
        if model.has_elbo:
            return float(model.elbo(samples).mean())
        if model.method.has_decoder:
            return -float(model.squared_error(samples).mean())
        if y is None or not hasattr(self, "classes_"):
            raise UserError(f"{self.method} has neither a decoder nor classes to be scored by")
        return float((self.classes_[model.classify(samples)] == _first_column(y)).mean())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the codes: z0, z1, ..."""
        check_is_fitted(self, "model_")
        return np.array(self.model_.feature_names, dtype=object)

    def _table(self, X: Any, y: Any, background: Any, counts: bool) -> ArrayTable:
        """A table of the samples and of what is known of them."""
        samples = self._checked(X, reset=True)
        self.layout_ = read(samples).layout
        names = getattr(self, "feature_names_in_", None)
        if names is not None and self.layout_ == "features":
            import pandas as pd

            samples = pd.DataFrame(samples, columns=names)
        others = None if background is None else self._checked(background, reset=False)
        if y is None:
            return from_arrays(samples, background=others, counts=counts)
        columns = _columns(y)
        self.classes_ = np.unique(columns[0])
        nuisances = {f"nuisance{i}": column for i, column in enumerate(columns[1:])}
        factors = np.stack(list(nuisances.values()), 1) if nuisances else None
        return from_arrays(
            samples,
            factors=factors,
            factor_names=list(nuisances) or None,
            label=columns[0],
            nuisances=list(nuisances),
            background=others,
            counts=counts,
        )

    def _pairs(self, pairs: Any, changed: int, y: Any, counts: bool) -> ArrayTable:
        if not isinstance(pairs, tuple | list) or len(pairs) != 2:
            raise UserError("pairs are two sets of samples of the same length: fit(pairs=(X1, X2), changed=1)")
        first, second = (self._checked(part, reset=i == 0) for i, part in enumerate(pairs))
        self.layout_ = read(first).layout
        if y is not None:
            self.classes_ = np.unique(_first_column(y))
        return from_pairs(first, second, changed=changed, label=None if y is None else _first_column(y), counts=counts)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Features as an array that scikit-learn has checked; images unchecked: the model does that."""
        array = to_array(X, "X") if hasattr(X, "detach") else X
        if _is_images(array):
            return array
        least = 2 if reset else 1
        return validate_data(self, array, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are float32 whatever goes in
        return tags


def _is_images(x: Any) -> bool:
    if isinstance(x, list | tuple) and len(x):
        return type(x[0]).__module__.startswith("PIL") or getattr(x[0], "ndim", 1) > 1
    return getattr(x, "ndim", 2) > 2


def _columns(y: Any) -> list[NDArray[Any]]:
    """The columns of y: the class, and known nuisances."""
    array = to_array(y, "y") if hasattr(y, "detach") else np.asarray(y)
    return [array] if array.ndim == 1 else list(array.T)


def _first_column(y: Any) -> NDArray[Any]:
    return _columns(y)[0]
