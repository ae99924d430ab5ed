"""Contrastive losses: codes of one class attract, and codes of different classes repel each other."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def supcon(z: Tensor, y: Tensor, temperature: float) -> Tensor:
    """Supervised contrastive loss, Khosla et al. 2020 (arXiv:2004.11362, eq. 2). [n, d], [n] -> []

    Codes are scaled to length one. The mean is over the anchors that have a positive, that is another sample with the
    same y; 0 if none has. If y is the number of the image, and each image has two views, this is InfoNCE with the
    cosine similarity (NT-Xent).
    """
    return supcon_of_units(F.normalize(z, dim=-1), y, temperature)


def supcon_of_units(z: Tensor, y: Tensor, temperature: float) -> Tensor:
    """The same for codes that already have length one, so that its gradient is that at the unit vectors."""
    own = torch.eye(len(z), dtype=torch.bool, device=z.device)
    logits = (z @ z.T / temperature).masked_fill(own, torch.finfo(z.dtype).min)  # [n, n]
    positive = (y[:, None] == y) & ~own
    count = positive.sum(1)  # [n]
    each = -logits.log_softmax(1).masked_fill(~positive, 0).sum(1) / count.clamp(min=1)
    return each.sum() / (count > 0).sum().clamp(min=1)
