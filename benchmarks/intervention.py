"""A step of intervention_ae against one with a backward pass for each side: `python benchmarks/intervention.py`.

Both variants take the same steps in turns on coloured images of 28x28 (two features of 16 dimensions, batch 64), on one
thread, in processor time. The weights after `--steps` steps are compared in double precision, where only a real
difference shows.

    plain   a backward pass each for encoder with decoder, critic and weights; pictures for the translator drawn at
            once; torch's own convolutions from and to images
    ours    unbraid's method under unbraid's trainer
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from unbraid import machine
from unbraid.data.batch import Images
from unbraid.data.table import Spec
from unbraid.maths import intervention
from unbraid.methods.contract import Loss
from unbraid.methods.intervention_ae import InterventionAE
from unbraid.nets.image_layers import DoublingConv, HalvingConv
from unbraid.train.trainer import Trainer

BATCH, SHAPE = 64, (3, 28, 28)


def build(width: int, lambda_3: float) -> InterventionAE:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"features": 2, "dims": 16, "width": width, "critic_width": width}
    return InterventionAE(Spec(SHAPE, 1000), lambda_1=1.0, lambda_3=lambda_3, **sizes)


def plain_losses(m: InterventionAE, x: Tensor) -> dict[str, Loss]:
    z = m.code(x)
    reconstruction = m.draw(z)
    k = F.one_hot(torch.randint(m.features, (len(x),)), m.features).bool()
    other = z.roll(int(torch.randint(1, len(x), ())), 0)
    changed = torch.sigmoid(m.draw(intervention.intervene(z, other, k)))
    returned = m.draw(intervention.intervene(m.code(changed), z, k))
    l_rec, l_in = (intervention.cross_entropy(logits, x) for logits in (reconstruction, returned))
    w = intervention.mean_one(m.weigh(changed)[:, 0])
    judged_real = m.critic(torch.sigmoid(reconstruction).detach())[:, 0]
    l_adv = intervention.adversarial(judged_real, m.critic(changed)[:, 0], w)
    l_diff = plain_difficulty(m, z) if m.lambda_3 else l_rec.new_zeros(())
    total = l_rec + m.lambda_1 * l_in + m.lambda_2 * l_adv + m.lambda_3 * l_diff
    parameters = [*m.encoder.parameters(), *m.decoder.parameters()]
    gradients = torch.autograd.grad(total, parameters, retain_graph=True)
    linear = [(p * g).sum() for p, g in zip(parameters, gradients, strict=True)]
    count = len(list(m.encoder.parameters()))
    sides = {"model": sum(linear[:count]), "decoder": sum(linear[count:]), "critic": -l_adv, "weights": l_adv}
    return {name: Loss(torch.as_tensor(value), {}) for name, value in sides.items()}


def plain_difficulty(m: InterventionAE, z: Tensor) -> Tensor:
    k = F.one_hot(torch.randint(m.features, ()), m.features).bool()
    two, half = z[torch.randperm(len(z))[:2]], len(z) // 2
    u, v = (torch.sigmoid(m.draw(intervention.intervene(z, value, k))) for value in two)
    names = [name for name, _ in m.translator.named_parameters()]
    values = [value.detach().clone().requires_grad_() for value in m.translator.parameters()]
    adam = torch.optim.Adam(values, m.inner_rate, eps=1e-10)
    for _ in range(m.inner_steps):
        logits = functional_call(m.translator, dict(zip(names, values, strict=True)), (u[:half].detach(),))
        gradients = torch.autograd.grad(F.binary_cross_entropy_with_logits(logits, v[:half].detach()), values)
        for value, gradient in zip(values, gradients, strict=True):
            value.grad = gradient
        adam.step()
    translated = functional_call(m.translator, dict(zip(names, values, strict=True)), (u[half:],))
    return intervention.cross_entropy(translated, v[half:])


def compare(width: int, lambda_3: float, steps: int, dtype: torch.dtype) -> tuple[float, float, float]:
    """Seconds of a step of either variant, and the largest difference of their weights in the end."""
    plain, ours = build(width, lambda_3).to(dtype), build(width, lambda_3).to(dtype)
    for layer in plain.modules():
        if isinstance(layer, HalvingConv | DoublingConv):
            layer.__class__ = type(layer).__base__  # type: ignore[assignment]
    plain.translator.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    plain.losses = lambda batch, step: plain_losses(plain, batch.x)  # type: ignore[method-assign]
    trainers, seconds = [Trainer(plain), Trainer(ours)], list[list[float]]([[], []])
    for step in range(steps):
        x = torch.rand(BATCH, *SHAPE, generator=torch.Generator().manual_seed(step)).to(dtype)
        for trainer, taken in zip(trainers, seconds, strict=True):
            torch.manual_seed(step)
            start = time.process_time()
            trainer.step(Images(torch.arange(BATCH), x), step)
            taken.append(time.process_time() - start)
    before, after = (statistics.median(taken[2:]) for taken in seconds)
    pairs = zip(plain.parameters(), ours.parameters(), strict=True)
    return before, after, max((a - b).abs().max().item() for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 64])
    given = parser.parse_args()
    torch.set_num_threads(1)
    machine.prepare_memory()
    for width in given.widths:
        for lambda_3 in (0.0, 1.0):
            before, after, _ = compare(width, lambda_3, given.steps, torch.float32)
            what = f"width {width}, {'with' if lambda_3 else 'without'} L_diff"
            times = f"{1000 * before:.0f} ms -> {1000 * after:.0f} ms, {before / after:.2f} times as fast"
            print(f"{what}: {times}", flush=True)
    for lambda_3 in (0.0, 1.0):
        apart = compare(4, lambda_3, given.steps, torch.float64)[2]
        print(f"width 4, lambda_3 {lambda_3:g}: weights after {given.steps} steps differ by {apart:.1e}", flush=True)


if __name__ == "__main__":
    main()
