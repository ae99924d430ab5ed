"""Interventions on features: setting them, weighting what comes of it, and how hard it is to learn.

The paper, "Unsupervised disentanglement learning by intervention" (equations 1 and 2, proposition 2, algorithm 1).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call


def intervene(z: Tensor, value: Tensor, chosen: Tensor) -> Tensor:
    """do(Z_k = z_k'): the features of z [b, k, d] that are `chosen` [b, k] take those of `value` [b, k, d]."""
    return torch.where(chosen.unsqueeze(-1), value, z)


def intervened(p: Tensor) -> Tensor:
    """Eq. 1: the distribution of factors, one axis each, after one of them, drawn at random, is drawn anew."""
    total = torch.zeros_like(p)
    for k in range(p.ndim):
        others = [i for i in range(p.ndim) if i != k]
        total += p.sum(k, keepdim=True) * (p.sum(others, keepdim=True) if others else p)
    return total / p.ndim


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
    """The parameters of a translator after some steps of gradient descent on Eq. 2; the net itself stays as it is.

    The loss that is descended is the mean over pixels, so that one rate fits images of all sizes. With `second_order`
    the result is a differentiable function of u and v, otherwise a constant.
    """
    parameters = {name: value.detach() for name, value in net.named_parameters()}
    pixels = math.prod(v.shape[1:])
    if not second_order:
        u, v = u.detach(), v.detach()
    with torch.enable_grad():
        for _ in range(steps):
            parameters = {name: value.requires_grad_() for name, value in parameters.items()}
            loss = cross_entropy(functional_call(net, parameters, (u,)), v) / pixels
            gradients = torch.autograd.grad(loss, list(parameters.values()), create_graph=second_order)
            parameters = {
                name: value - rate * gradient
                for (name, value), gradient in zip(parameters.items(), gradients, strict=True)
            }
            if not second_order:
                parameters = {name: value.detach() for name, value in parameters.items()}
    return parameters
