"""What is called while a run is trained: `fit(..., hooks=[TensorBoard("logs"), print])`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.train.load import load_method
from unbraid.train.run import Run

Watch = Callable[[int, dict[str, float]], None]
REACH = 2.0  # of a traversal, in standard deviations of the prior
STOPS = 9


class Hook:
    """Derive from it and override what you need."""

    def on_begin(self, run: Run) -> None:
        """Called before the first step, also where a run is continued."""

    def on_window(self, step: int, terms: dict[str, float]) -> None:
        """Called every 50 steps and after the last one.

        Args:
            step: number of steps done
            terms: the loss and its terms, means over those steps
        """

    def on_end(self, run: Run) -> None:
        """Called when the trained weights are on disk."""

    def on_close(self) -> None:
        """Called last, also where training was stopped or has failed."""


class Watcher(Hook):
    """A plain function of step and terms as a hook."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def on_window(self, step: int, terms: dict[str, float]) -> None:
        self.watch(step, terms)


def as_hook(given: Hook | Watch) -> Hook:
    """A hook, which may be given as a plain function."""
    return given if isinstance(given, Hook) else Watcher(given)


class TensorBoard(Hook):
    """Loss terms over time, and at the end traversals from the middle of the prior: `tensorboard --logdir FOLDER`.

    A run whose networks were given as modules, which it does not keep, has no traversals.

    Args:
        folder: each run has a folder of its own name in it
    """

    writer: Any = None

    def __init__(self, folder: Path | str) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise UserError("TensorBoard is not installed: pip install 'unbraid[tensorboard]'") from error
        self.folder, self._open = Path(folder), SummaryWriter

    def on_begin(self, run: Run) -> None:
        self.writer = self._open(str(self.folder / run.path.name))

    def on_window(self, step: int, terms: dict[str, float]) -> None:
        for name, value in terms.items():
            if name != "step":
                self.writer.add_scalar(name, value, step)

    def on_end(self, run: Run) -> None:
        try:
            method = load_method(run.path, trust=run.trusted) if run.plan.keeps_networks else None
        except UserError as error:  # a class that no file has by name
            warnings.warn(f"TensorBoard gets no traversals: {error}", stacklevel=2)
            method = None
        for block, drawn in (traversals(method) if method else {}).items():
            rows, stops, channels, height, width = drawn.shape
            sheet = drawn.permute(2, 0, 3, 1, 4).reshape(channels, rows * height, stops * width)
            self.writer.add_image(f"traversals of {block}", sheet, run.plan.steps)

    def on_close(self) -> None:
        if self.writer is not None:
            self.writer.close()


@torch.no_grad()
def traversals(method: Method[Any]) -> dict[str, Tensor]:
    """What each latent of each block draws as it moves and the others are 0, [latents, stops, c, h, w]."""
    blocks = {block: code[0] for block, code in method.encode(torch.zeros(1, *method.spec.shape)).items()}
    if not method.has_decoder:
        return {}
    found = {}
    for block, code in blocks.items():
        moved = torch.eye(len(code))[:, None] * torch.linspace(-REACH, REACH, STOPS)[None, :, None]
        rest = {name: torch.zeros(len(code) * STOPS, len(other)) for name, other in blocks.items()}
        drawn = method.decode(rest | {block: moved.flatten(0, 1)})
        assert drawn is not None
        found[block] = drawn.reshape(len(code), STOPS, *drawn.shape[1:])
    return found
