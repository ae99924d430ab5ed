"""Contrastive losses: codes of one class are drawn together, and away from the others."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def supcon(z: Tensor, y: Tensor, temperature: float) -> Tensor:
    """Supervised contrastive loss, Khosla et al. 2020 (arXiv:2004.11362, eq. 2). [n, d], [n] -> []

    Codes are brought to length one here; that of a code of length one already changes nothing. The mean is over the
    anchors that have a positive, another sample with the same y; 0 where none has. With y that names the instance, of
    which there are two views, it is InfoNCE with the cosine (NT-Xent).
    """
    return supcon_of_units(F.normalize(z, dim=-1), y, temperature)


def supcon_of_units(z: Tensor, y: Tensor, temperature: float) -> Tensor:
    """The same of codes that have length one: its gradient is that at the vector which enters the dot products."""
    own = torch.eye(len(z), dtype=torch.bool, device=z.device)
    logits = (z @ z.T / temperature).masked_fill(own, torch.finfo(z.dtype).min)  # [n, n]
    positive = (y[:, None] == y) & ~own
    count = positive.sum(1)  # [n]
    each = -logits.log_softmax(1).masked_fill(~positive, 0).sum(1) / count.clamp(min=1)
    return each.sum() / (count > 0).sum().clamp(min=1)
