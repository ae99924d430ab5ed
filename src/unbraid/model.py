"""A trained model that can be used: `load_run(path)` gives one, and so does a fitted `Disentangler`.

    encode(x)        samples -> the blocks of their codes, each [n, d]
    transform(x)     samples -> all blocks side by side, [n, k], with the names `feature_names`
    decode(codes)    the inverse of both: blocks, or [n, k] -> images [n, c, h, w] in [0, 1], or features [n, d];
                     expected counts in a row with the median sum of the training rows
    reconstruct(x)   samples -> samples, in the layout of x; expected counts in rows with the sums that x has
    classify(x)      samples -> the number of their class, [n], where the method has a classifier
    elbo(x)          samples -> the evidence lower bound of each in nats, [n], where the method has one
    squared_error(x) samples -> the mean squared error of each reconstruction, [n]
    effects(x)       features -> a table of what moving each latent does to each of them, in their own units

Samples are anything that data/samples.py reads: they are checked, taken in batches and without gradients. What goes in
as a tensor comes out as a tensor on its device; all else comes out as numpy arrays, reconstructed frames as frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unbraid import machine
from unbraid.data.batch import as_floats
from unbraid.data.counts import Counts, check_counts
from unbraid.data.features import Scaling
from unbraid.data.samples import SampleError, Samples, as_given, expect, read, to_array
from unbraid.effects import effect_table, effects
from unbraid.encode import encoded
from unbraid.errors import UserError, unknown
from unbraid.machine import forked_rng, seed_torch
from unbraid.maths import gaussian
from unbraid.methods.contract import Method
from unbraid.metrics.model.quantities import image_nll, likelihood_of
from unbraid.train.load import load_method, load_scaling
from unbraid.train.run import Run

if TYPE_CHECKING:
    from pandas import DataFrame

BATCH = 128  # larger ones are slower on a processor: the system clears the memory of each layer anew


class Model:
    """A trained method with what it needs to take samples as users have them.

    Args:
        method: the trained method
        scaling: of features; None where it was trained on images
        run: its directory, where it has one

    `batch` is the number of samples that go through the networks at once, and may be set.
    """

    def __init__(self, method: Method[Any], scaling: Scaling | Counts | None = None, run: Run | None = None) -> None:
        self.method, self.scaling, self.run = method.eval(), scaling, run
        self.shape, self.arguments, self.batch = method.spec.shape, method.arguments, BATCH
        machine.prepare_memory()
        with torch.no_grad():
            codes = method.encode(torch.zeros(1, *self.shape, device=self.device))
        self.blocks = {block: int(code.shape[1]) for block, code in codes.items()}

    @property
    def device(self) -> torch.device:
        return next(self.method.parameters()).device

    def to(self, device: torch.device | str) -> Model:
        """Itself, with the method on another device."""
        self.method.to(device)
        return self

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns that `transform` gives: z0, z1, ..."""
        return [f"{block}{i}" for block, width in self.blocks.items() for i in range(width)]

    def read(self, x: Any, what: str = "X") -> Samples:
        """Samples, refused where they do not fit the model.

        Args:
            what: their name in messages
        """
        samples = read(x, what)
        names = self.scaling.names if self.scaling else ()
        expect(samples, self.shape, features=self.scaling is not None, columns=names, what=what)
        if isinstance(self.scaling, Counts):
            check_counts(samples.array, what, samples.columns)
        return samples

    def encode(self, x: Any) -> dict[str, Any]:
        """The blocks of the codes of some samples, each [n, d]."""
        samples = self.read(x)
        given = samples.given if isinstance(samples.given, Tensor) else None
        parts = self._each(samples, self.method.encode)
        return {block: as_given(_joined([part[block] for part in parts]), given, ()) for block in self.blocks}

    def transform(self, x: Any) -> Any:
        """The codes of some samples, all blocks side by side, [n, k]."""
        blocks = list(self.encode(x).values())
        return torch.cat(blocks, 1) if isinstance(blocks[0], Tensor) else np.concatenate(blocks, 1)

    def decode(self, codes: Any) -> Any:
        """Images [n, c, h, w] in [0, 1], or features [n, d] in their own units, from codes [n, k] or their blocks."""
        if not self.method.has_decoder:
            raise UserError(f"{self._name} has no decoder: it cannot draw codes")
        joined = self._codes(codes)
        parts = [self._draw(self._split(joined[i : i + self.batch])) for i in range(0, len(joined), self.batch)]
        found = self._unscaled(_joined(parts))
        first = next(iter(codes.values())) if isinstance(codes, Mapping) else codes
        return as_given(found, first if isinstance(first, Tensor) else None, ())

    def reconstruct(self, x: Any) -> Any:
        """What the decoder draws from the codes of some samples, in the layout of those."""
        if not self.method.has_decoder:
            raise UserError(f"{self._name} has no decoder: it cannot reconstruct samples")
        samples = self.read(x)
        parts = self._each(samples, lambda batch: self._draw(self.method.encode(batch)))
        found = self._unscaled(_joined(parts))
        if isinstance(self.scaling, Counts):
            found *= samples.array.sum(1, keepdims=True) / self.scaling.library
        return samples.like(found)

    def classify(self, x: Any) -> Any:
        """The number of the class of some samples, [n]."""
        samples = self.read(x)
        parts = [part for part in self._each(samples, self.method.classify) if part is not None]
        if not parts:
            raise UserError(f"{self._name} has no classifier")
        given = samples.given if isinstance(samples.given, Tensor) else None
        return as_given(_joined(parts).argmax(-1), given, ())

    def squared_error(self, x: Any) -> NDArray[np.float64]:
        """The mean squared error of each reconstruction, [n]: of pixels or scaled features, or of log(1 + count)."""
        if not self.method.has_decoder:
            raise UserError(f"{self._name} has no decoder: it cannot reconstruct samples")

        def error(batch: Tensor) -> Tensor:
            drawn = self._draw(self.method.encode(batch))
            if isinstance(self.scaling, Counts):
                library = batch.expm1().flatten(1).sum(1)[:, None, None, None]
                drawn = (drawn.expm1() * library / self.scaling.library).log1p()
            return (drawn - batch).square().flatten(1).mean(1)

        return _joined(self._each(self.read(x), error)).astype(np.float64)

    def effects(self, x: Any, *, block: str | None = None) -> DataFrame:
        """Which features each latent moves, by how much, and how sure that is: see effects.py.

        A row for each latent and feature: latent, feature, effect, low, high (in the units of the feature, of counts
        log2 fold changes), standardised (in standard deviations of the feature). The largest of a latent come first.

        Args:
            x: the samples whose codes are moved, and over which the mean is taken
            block: whose latents are moved; all of them unless given
        """
        if self.scaling is None:
            raise UserError("effects are changes of features, and this model was trained on images: draw traversals")
        if not self.method.has_decoder:
            raise UserError(f"{self._name} has no decoder: what a latent moves cannot be drawn")
        if block is not None and block not in self.blocks:
            raise unknown(f"block of {self._name}", block, self.blocks)
        parts = self._each(self.read(x), self.method.encode)
        codes = {name: torch.cat([part[name] for part in parts]) for name in self.blocks}
        found = {name: effects(self.method, codes, name, self.scaling) for name in ([block] if block else self.blocks)}
        return effect_table(found, self.scaling.labels)

    def elbo(self, x: Any, *, seed: int = 0) -> NDArray[np.float64]:
        """The evidence lower bound of each sample in nats, [n]: log p(x|z) - KL(q(z|x) || p(z)), with one z for each.

        That of features under a gaussian likelihood is in their own units, so that models with other scalings compare.

        Args:
            seed: of the draws of z
        """
        samples = self.read(x)
        if not self.has_elbo:
            raise UserError(
                f"{self._name} has no evidence lower bound: that needs a Gaussian code with a standard normal prior, "
                "and a decoder that is given the code alone"
            )
        likelihood, sigma, log_theta = likelihood_of(self.method)

        def bound(batch: Tensor) -> Tensor:
            codes, posterior = encoded(self.method, batch)
            drawn = {block: gaussian.sample(mu, log_var) for block, (mu, log_var) in posterior.items()}
            kl = sum(gaussian.kl_to_standard(mu, log_var).sum(-1) for mu, log_var in posterior.values())
            nll = image_nll(self._draw(codes | drawn), batch, likelihood, sigma, log_theta)
            return -(nll + kl)

        with forked_rng(self.device):
            seed_torch(seed, self.device)
            found = _joined(self._each(samples, bound)).astype(np.float64)
        if isinstance(self.scaling, Scaling) and likelihood == "gaussian":
            return found - self.scaling.log_volume
        return found

    @property
    def has_elbo(self) -> bool:
        """Whether the code is Gaussian, with a standard normal prior, and can be decoded."""
        with torch.no_grad():
            posterior = self.method.posterior(torch.zeros(1, *self.shape, device=self.device))
        return bool(posterior) and self.method.has_decoder and self.method.has_bound

    @torch.no_grad()
    def _each(self, samples: Samples, use: Callable[[Tensor], Any]) -> list[Any]:
        """What a function gives of each batch, as the method sees it: floats in [0, 1] on its device."""
        found = []
        for start in range(0, len(samples), self.batch):
            batch = samples.batch(slice(start, start + self.batch))
            x = torch.from_numpy(self.scaling.apply(batch) if self.scaling else batch).to(self.device)
            found.append(use(as_floats(x)))
        return found

    @torch.no_grad()
    def _draw(self, blocks: dict[str, Tensor]) -> Tensor:
        drawn = self.method.decode(blocks)
        assert drawn is not None
        return drawn

    def _codes(self, codes: Any) -> Tensor:
        """Codes as one tensor [n, k], checked."""
        if isinstance(codes, Mapping):
            if set(codes) != set(self.blocks):
                raise SampleError(f"the blocks of {self._name} are {', '.join(self.blocks)}, not {', '.join(codes)}")
            arrays = [_numbers(codes[block], f"the block '{block}'", width) for block, width in self.blocks.items()]
            if len({len(array) for array in arrays}) > 1:
                lengths = ", ".join(str(len(array)) for array in arrays)
                raise SampleError(f"the blocks have {lengths} rows, and must have the same number")
            array = np.concatenate(arrays, 1)
        else:
            array = _numbers(codes, "the codes", sum(self.blocks.values()))
        return torch.from_numpy(array).to(self.device)

    def _split(self, joined: Tensor) -> dict[str, Tensor]:
        return dict(zip(self.blocks, torch.split(joined, list(self.blocks.values()), 1), strict=True))

    def _unscaled(self, drawn: NDArray[Any]) -> NDArray[Any]:
        return self.scaling.undo(drawn) if self.scaling else drawn

    @property
    def _name(self) -> str:
        return type(self.method).__module__.rpartition(".")[2]


def load_run(
    path: Path | str,
    method: str | type[Method[Any]] | None = None,
    *,
    encoder: Any = None,
    decoder: Any = None,
    trust: bool = False,
) -> Model:
    """The trained model of a run's directory, ready to be used; no pickle, and no code that you did not name.

    Args:
        path: the run's directory
        method: a method of your own, as its class or as 'file.py:Class'
        encoder: the encoder of your own that the run was made with, if it was, as a class or as 'file.py:Net'
        decoder: the decoder
        trust: import whatever code of its own the run names
    """
    loaded = load_method(path, method, encoder=encoder, decoder=decoder, trust=trust)
    return Model(loaded, load_scaling(path), Run(path))


def _joined(parts: list[Tensor]) -> NDArray[Any]:
    array: NDArray[Any] = torch.cat(parts).cpu().numpy()
    return array


def _numbers(codes: Any, what: str, width: int) -> NDArray[np.float32]:
    array = np.asarray(codes) if hasattr(codes, "columns") else to_array(codes, what)
    if array.ndim != 2 or array.shape[1] != width or not len(array):
        raise SampleError(f"{what} must have the shape [n, {width}], not {list(array.shape)}")
    if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        raise SampleError(f"{what} must be finite numbers")
    return np.require(array, np.float32, ["C", "W"])
