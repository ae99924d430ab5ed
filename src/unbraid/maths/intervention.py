"""Interventions on features: how to set them, how to weight the results, and how hard they are to learn.

From "Unsupervised disentanglement learning by intervention" (equation 2, proposition 2, algorithm 1).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

B1, B2, TINY = 0.9, 0.999, 1e-20  # of Adam; TINY is added inside the root, which has no derivative at 0


def intervene(z: Tensor, value: Tensor, chosen: Tensor) -> Tensor:
    """do(Z_k = z_k'): the features of z [b, k, d] that are `chosen` [b, k] take those of `value` [b, k, d]."""
    return torch.where(chosen.unsqueeze(-1), value, z)


def mean_one(log_weight: Tensor) -> Tensor:
    """w / N with w = exp(log_weight) and N the mean of w over the batch. [b] -> [b]"""
    return len(log_weight) * torch.softmax(log_weight, 0)


def adversarial(real: Tensor, drawn: Tensor, weight: Tensor) -> Tensor:
    """E log D(x) + E w log(1 - D(x')), from the logits of D and weights of mean one. [b], [b], [b] -> []"""
    return F.logsigmoid(real).mean() + (weight * F.logsigmoid(-drawn)).mean()


def cross_entropy(logits: Tensor, image: Tensor) -> Tensor:
    """Eq. 2's crossentropy(image, sigmoid(logits)) in nats, summed over the image, mean over the batch."""
    return F.binary_cross_entropy_with_logits(logits, image, reduction="sum") / len(image)


def adapted(
    net: nn.Module, u: Tensor, v: Tensor, *, steps: int, rate: float, second_order: bool = False
) -> dict[str, Tensor]:
    """The parameters of a translator after some steps of Adam on Eq. 2; the net itself stays as it is.

    With `second_order` the result is a differentiable function of u and v, otherwise a constant.
    """
    names = [name for name, _ in net.named_parameters()]
    values = [value.detach().requires_grad_() for value in net.parameters()]
    first = [torch.zeros_like(value) for value in values]
    second = [torch.zeros_like(value) for value in values]
    if not second_order:
        u, v = u.detach(), v.detach()
    with torch.enable_grad():
        for step in range(1, steps + 1):
            logits = functional_call(net, dict(zip(names, values, strict=True)), (u,))
            slope = (torch.sigmoid(logits) - v) / v.numel()  # of Eq. 2 in the logits: its value is not needed
            gradients = torch.autograd.grad(logits, values, slope, create_graph=second_order)
            first = [B1 * m + (1 - B1) * g for m, g in zip(first, gradients, strict=True)]
            second = [B2 * s + (1 - B2) * g**2 for s, g in zip(second, gradients, strict=True)]
            size = rate * (1 - B2**step) ** 0.5 / (1 - B1**step)
            values = [p - size * m / (s + TINY).sqrt() for p, m, s in zip(values, first, second, strict=True)]
            if not second_order:
                values = [value.detach().requires_grad_() for value in values]
    return dict(zip(names, values, strict=True))
