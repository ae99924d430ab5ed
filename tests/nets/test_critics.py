from __future__ import annotations

import torch
from torch import nn

from unbraid.nets import critics


def test_log_odds_are_those_of_the_softmax_of_two_logits() -> None:
    logits = torch.randn(6, 2)
    d = logits.softmax(1)[:, 0]
    torch.testing.assert_close(critics.log_odds(logits), d.log() - (1 - d).log())


def test_the_critic_has_the_layers_of_the_paper() -> None:
    units = [m.out_features for m in critics.critic(10).modules() if isinstance(m, nn.Linear)]
    assert units == [1000] * 6 + [2]
    assert sum(isinstance(m, nn.LeakyReLU) for m in critics.critic(10).modules()) == 6


def test_a_joint_critic_sees_both_the_image_and_the_code() -> None:
    torch.manual_seed(0)
    net = critics.JointCritic("dense", (1, 8, 8), 3, width=2, hidden=8)
    x, code = torch.rand(4, 1, 8, 8), torch.randn(4, 3)
    found = net(x, code)
    assert found.shape == (4,)
    assert not torch.allclose(found, net(x.flip(0), code))
    assert not torch.allclose(found, net(x, code.flip(0)))
