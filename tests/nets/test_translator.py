from __future__ import annotations

import pytest
import torch

from unbraid.errors import UserError
from unbraid.nets.translator import Translator


def test_it_starts_as_the_identity_with_the_same_weights_and_draws_nothing() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    net = Translator((1, 12, 12), width=4)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    assert all(
        torch.equal(a, b) for a, b in zip(net.parameters(), Translator((1, 12, 12), width=4).parameters(), strict=True)
    )
    u = torch.rand(3, 1, 12, 12).clamp(0.01, 0.99)
    torch.testing.assert_close(torch.sigmoid(net(u)), u)


def test_black_and_white_pixels_have_finite_logits() -> None:
    u = torch.tensor([0.0, 1.0]).repeat(8).view(1, 1, 4, 4)
    assert Translator((1, 4, 4), width=2)(u).isfinite().all()


def test_sides_that_cannot_be_halved_twice_are_refused() -> None:
    with pytest.raises(UserError, match="sides divisible by 4, not 10x12"):
        Translator((1, 10, 12), width=4)
