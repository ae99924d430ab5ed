"""What a method is.

A method is one file in this folder and one class in it, named like the file. Its type parameter is the kind of batch
that it is trained on: `class VAE(Method[Images])`. It has `groups()`, the `losses()` that each group minimises,
and a way to `encode()` images. It never steps, zeroes, logs or moves anything: train/fit.py does that for all methods
alike. A method whose loss has a minimum in closed form says `solved = True` and finds it in `solve()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, get_args, get_origin

from torch import Tensor, nn

from unbraid.config import Configured
from unbraid.data.batch import Batch
from unbraid.data.table import Spec, Table

B = TypeVar("B", bound=Batch)


@dataclass(frozen=True)
class Group:
    """Parameters with an Adam of their own."""

    parameters: list[nn.Parameter]
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)


@dataclass(frozen=True)
class Loss:
    """The scalar that a group minimises, and its named, unweighted terms for the log."""

    value: Tensor
    terms: dict[str, Tensor]


def minimise(value: Tensor, **terms: Tensor) -> Loss:
    return Loss(value, {name: term.detach() for name, term in terms.items()})


class Method(Configured, nn.Module, ABC, Generic[B]):
    """The constructor takes the data's `Spec` and keyword arguments: they are the method's whole configuration."""

    batch_kind: ClassVar[type[Batch]]  # its kind, from the type parameter
    solved: ClassVar[bool] = False  # by solve(), once, in place of the loop
    game: ClassVar[bool] = False  # groups play against each other: none of their losses need fall
    spec: Spec
    lr: float

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
        """Optimiser groups by name; one group of all parameters unless a method says otherwise."""
        return {"model": Group(list(self.parameters()), self.lr)}

    @abstractmethod
    def losses(self, batch: B, step: int) -> dict[str, Loss]:
        """The loss of each group that is to be updated at this step.

        A group's gradient is taken with respect to its own parameters only. Random numbers come from torch's global
        generator, which is seeded by (seed, step) before the call.
        """

    def posterior(self, x: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        """Mean and log variance of each block, [b, d] each, where the code is Gaussian."""
        return {}

    def encode(self, x: Tensor) -> dict[str, Tensor]:
        """Each block of the code, [b, d]; deterministic, in the order of x."""
        return {block: mu for block, (mu, _) in self.posterior(x).items()}

    def decode(self, blocks: dict[str, Tensor]) -> Tensor | None:
        """Images in [0, 1] from blocks of codes, where there is a decoder."""
        return None

    def classify(self, x: Tensor) -> Tensor | None:
        """Logits of the classes, [b, classes], where there is a classifier; deterministic, in the order of x."""
        return None

    @property
    def units(self) -> dict[str, list[int]]:
        """Of each block whose features have several dimensions, the feature that each latent belongs to."""
        return {}

    def solve(self, data: Table) -> None:
        """Sets the weights to the minimum of the loss over a whole data set, where `solved` is true."""

    def after_step(self, step: int) -> None:
        """Called when the step's updates are done (moving averages, queues)."""
