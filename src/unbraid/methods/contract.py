"""What a method is.

A method is one file in this folder and one class in it, named like the file. Its type parameter is the kind of batch
that it is trained on: `class VAE(Method[Images])`. It has `groups()` of parameters, the `losses()` that they minimise,
and a way to `encode()` images. It never steps, zeroes, logs or moves anything: train/fit.py does that for all methods
alike. A method whose loss has a minimum in closed form says `solved = True` and finds it in `solve()`.

Most methods have an `encoder`, a `decoder`, perhaps a `classifier`, and a Gaussian code: the bodies below are theirs. A
code that is not Gaussian is given by an `encode()` of the method's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Generic, TypeVar, get_args, get_origin

import torch
from torch import Tensor, nn

from unbraid.config import Configured
from unbraid.data.batch import Batch
from unbraid.data.table import Spec, Table
from unbraid.nets.autoencoders import Decoder

B = TypeVar("B", bound=Batch)


@dataclass(frozen=True)
class Group:
    """Parameters with an optimiser of their own: Adam, unless the method makes another."""

    parameters: list[nn.Parameter]
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    optimiser: Callable[[list[nn.Parameter]], torch.optim.Optimizer] | None = None
    schedule: Callable[[int], float] | None = None  # from the step to the share of the learning rate


@dataclass(frozen=True)
class Loss:
    """The scalar that a group minimises, and its named, unweighted terms for the log."""

    value: Tensor
    terms: dict[str, Tensor]


def minimise(value: Tensor, **terms: Tensor) -> Loss:
    """The loss of a group, with its terms detached for the log."""
    return Loss(value, {name: term.detach() for name, term in terms.items()})


def numbered(features: int, dims: int) -> list[int]:
    """The number of the feature of each dimension: 0, 0, 1, 1, ... for two dimensions each; for `units`."""
    return [feature for feature in range(features) for _ in range(dims)]


class Method(Configured, nn.Module, ABC, Generic[B]):
    """The constructor takes the data's `Spec` and keyword arguments: they are the method's whole configuration."""

    batch_kind: ClassVar[type[Batch]]  # its kind, from the type parameter
    solved: ClassVar[bool] = False  # by solve(), once, in place of the loop
    game: ClassVar[bool] = False  # groups play against each other: no loss needs to fall
    has_bound: ClassVar[bool] = True  # whether reconstruction and KL to a standard normal are its bound
    class_block: ClassVar[str] = "z"  # the block from which the classifier predicts the class
    blocks: Mapping[str, int] = MappingProxyType({})  # dimensions of each block, in the order of encoder and decoder
    encoder: nn.Module
    decoder: Decoder
    spec: Spec
    lr: float
    seed: int | None = None  # from which `build` has drawn the initial weights
    trained: str = ""  # the run that has changed the weights since

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for base in cls.__dict__.get("__orig_bases__", ()):
            kind = get_args(base)[0] if get_origin(base) is Method else None
            if isinstance(kind, type) and issubclass(kind, Batch):
                cls.batch_kind = kind

    def __init__(self, spec: Spec, *, lr: float) -> None:
        super().__init__()
        self.spec, self.lr = spec, lr

    def groups(self) -> dict[str, Group]:
        """Optimiser groups by name; by default one group, `model`, of all parameters."""
        return {"model": Group(list(self.parameters()), self.lr)}

    @abstractmethod
    def losses(self, batch: B, step: int) -> dict[str, Loss]:
        """The loss of each group that is updated at this step.

        A group's gradient is taken with respect to its own parameters only. Random numbers come from torch's global
        generator, which is seeded by (seed, step) before the call.
        """

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        """Mean and log variance of each block, [b, d] each; empty where the code is not Gaussian."""
        if type(self).encode is not Method.encode:
            return {}
        mu, log_var = (self.split(part) for part in self.encoder(x).chunk(2, -1))
        return {block: (mu[block], log_var[block]) for block in mu}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        """Each block of the code, [b, d]; deterministic, in the order of x."""
        return {block: mu for block, (mu, _) in self.posterior(x).items()}

    @property
    def has_decoder(self) -> bool:
        """Whether `decode` gives images."""
        return type(self).decode is not Method.decode or hasattr(self, "decoder")

    def decode(self, blocks: dict[str, Tensor]) -> Tensor | None:
        """Images in [0, 1] from the blocks of codes, or log(1 + count) in typical rows; None without a decoder."""
        return self.decoder.mean(self.join(blocks), self.spec.library) if hasattr(self, "decoder") else None

    def classify(self, x: Tensor) -> Tensor | None:
        """Logits of the classes, [b, classes]; deterministic, in the order of x; None without a classifier."""
        classifier = getattr(self, "classifier", None)
        return classifier(self.encode(x)[self.class_block]) if classifier is not None else None

    def split(self, code: Tensor) -> dict[str, Tensor]:
        """The blocks of a code, sorted by name; the whole code is the block `z` where `blocks` is empty. [b, k]"""
        if not self.blocks:
            return {"z": code}
        parts = torch.split(code, list(self.blocks.values()), -1)
        return dict(sorted(zip(self.blocks, parts, strict=True)))

    def join(self, blocks: dict[str, Tensor]) -> Tensor:
        """The code that has these blocks: the inverse of `split`. -> [b, k]"""
        return torch.cat([blocks[block] for block in self.blocks or ("z",)], -1)

    @property
    def units(self) -> dict[str, list[int]]:
        """For each block with features of several dimensions, the number of the feature of each dimension."""
        return {}

    def solve(self, data: Table) -> None:
        """Sets the weights to the minimum of the loss over a whole data set, where `solved` is true."""

    def after_step(self, step: int) -> None:
        """Called when the updates of the step are done (moving averages, queues)."""
