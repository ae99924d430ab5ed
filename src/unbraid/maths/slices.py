"""Dependence between the slices of a code, such as its halves, as penalised by regularisers of sub-embeddings.

The equations are those of Burns et al. 2021, "Unsupervised disentanglement without autoencoding". Slices are given as
[k, n, d], k slices of n samples; sums are over ordered pairs of slices and means over samples.
"""

from __future__ import annotations

from itertools import permutations, product

import torch
import torch.nn.functional as F
from torch import Tensor


def infomin(slices: Tensor, temperature: float, *, literal: bool = False) -> Tensor:
    """Minus the InfoNCE loss that finds a sample's other slice among those of all samples (eq. 4). [k, n, d] -> []

    Slices have length one; the samples are those of one view. It is at most 0, where each slice finds the other surely,
    and at least -(2 / temperature + log n) for each pair. `literal` takes the denominator as printed, over the other
    samples of the same slice: this is not the negative of an InfoNCE loss, and may exceed 0.
    """
    total = slices.new_zeros(())
    own = torch.eye(slices.shape[1], dtype=torch.bool, device=slices.device)
    for here, there in permutations(slices, 2):
        logits = here @ (here if literal else there).T / temperature  # [n, n]
        if literal:
            logits = logits.masked_fill(own, torch.finfo(logits.dtype).min)
        total = total + ((here * there).sum(-1) / temperature - logits.logsumexp(1)).mean()
    return total


def orthogonality(slices: Tensor, positives: Tensor, permutation: Tensor | None = None) -> Tensor:
    """|cosine| of a slice with another of the sample, plus with that of its positive (eq. 5). [k, n, d] twice -> []

    Samples and positives are the two views; both are anchors. A `permutation` [d] of the coordinates is applied to the
    first slice of each pair (eq. 6). From 0 to 2 for each ordered pair of slices; lengths do not matter.
    """
    total = slices.new_zeros(())
    order = torch.arange(slices.shape[2], device=slices.device) if permutation is None else permutation
    for k, other in permutations(range(len(slices)), 2):
        for here, there in product((slices, positives), repeat=2):
            total = total + F.cosine_similarity(here[k][:, order], there[other], dim=-1).abs().mean() / 2
    return total


def hessian(gradients: Tensor, *, per_sample: bool = False) -> Tensor:
    """Frobenius norm of the Gauss-Newton Hessian between slices (eq. 8), from each sample's gradient. [n, k, d] -> []

    H = E[g g^T], of which the blocks of two different slices are taken, each pair once. `per_sample` takes the norm of
    each sample's g g^T instead, which is the product of the lengths of its slices' gradients, and averages those.
    """
    first, second = torch.triu_indices(gradients.shape[1], gradients.shape[1], 1)
    if per_sample:
        lengths = torch.linalg.vector_norm(gradients, dim=-1)  # [n, k]
        norm: Tensor = torch.linalg.vector_norm(lengths[:, first] * lengths[:, second], dim=-1).mean()
    else:
        blocks = torch.einsum("npd,npe->pde", gradients[:, first], gradients[:, second]) / len(gradients)
        norm = torch.linalg.vector_norm(blocks)
    return norm


def named(name: str, code: Tensor, slices: int) -> dict[str, Tensor]:
    """A code and its slices by number: z, z0, z1, ... [n, k d] -> [n, k d] and k times [n, d]"""
    return {name: code, **{f"{name}{k}": part for k, part in enumerate(code.chunk(slices, 1))}}
