from __future__ import annotations

import torch

from unbraid.maths.dependence import permute_dims


def test_permuting_keeps_each_marginal_and_breaks_the_dependence() -> None:
    torch.manual_seed(0)
    z = torch.randn(5000, 1).repeat(1, 3) + 0.1 * torch.randn(5000, 3)
    permuted = permute_dims(z)
    assert torch.equal(permuted.sort(0).values, z.sort(0).values)
    off = torch.corrcoef(permuted.T)[~torch.eye(3, dtype=torch.bool)]
    assert off.abs().max() < 0.05
    assert torch.corrcoef(z.T).min() > 0.95
