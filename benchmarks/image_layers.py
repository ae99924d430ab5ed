"""A training step with our convolutions from and to images against torch's own: `python benchmarks/image_layers.py`.

Steps of a beta-VAE in turns, in one process, on one thread, in processor time.
"""

from __future__ import annotations

import statistics
import time

import torch

from unbraid import machine
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.methods.beta_vae import BetaVAE
from unbraid.nets.image_layers import DoublingConv, HalvingConv
from unbraid.train.trainer import Trainer

BATCH = 64


def ratio(channels: int, side: int, width: int, steps: int) -> float:
    """How many times as fast ours is."""
    trainers, seconds = [], list[list[float]]([[], []])
    for plain in (False, True):
        torch.manual_seed(0)
        method = BetaVAE(Spec((channels, side, side), 1000), width=width)
        for layer in method.modules():
            if plain and isinstance(layer, HalvingConv | DoublingConv):
                layer.__class__ = type(layer).__base__  # type: ignore[assignment]
        trainers.append(Trainer(method))
    batch = Images(torch.arange(BATCH), torch.rand(BATCH, channels, side, side))
    for step in range(steps):
        for trainer, taken in zip(trainers, seconds, strict=True):
            start = time.process_time()
            trainer.step(batch, step)
            taken.append(time.process_time() - start)
    ours, torchs = (statistics.median(taken[3:]) for taken in seconds)
    return torchs / ours


if __name__ == "__main__":
    torch.set_num_threads(1)
    machine.prepare_memory()
    for channels, side, width, steps in ((1, 32, 16, 60), (3, 32, 16, 60), (1, 64, 32, 20), (3, 64, 32, 20)):
        found = ratio(channels, side, width, steps)
        print(f"{channels}x{side}x{side}, width {width}: {found:.2f} times as fast as with torch's", flush=True)
