from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from unbraid.maths import infogan


def test_the_bound_on_the_information_in_closed_form() -> None:
    """With unit variance: log 2 - log(2 pi) / 2 for each code that Q knows, 1/6 less for each that it does not."""
    torch.manual_seed(0)
    n, codes = 50_000, 3
    c, odds = infogan.uniform(n, codes, torch.zeros(1)), torch.zeros(n)
    knows, guesses = (infogan.terms(odds, odds, mean, c) for mean in (c, 0 * c))
    most = codes * (math.log(2) - 0.5 * math.log(2 * math.pi))
    assert knows.information.item() == pytest.approx(most, abs=1e-5)
    assert knows.error.item() == 0
    assert guesses.information.item() == pytest.approx(most - codes / 6, abs=0.01)
    assert guesses.error.item() == pytest.approx(1 / 3, abs=0.005)


def test_a_discriminator_that_knows_nothing_loses_two_bits() -> None:
    game = infogan.terms(torch.zeros(4), torch.zeros(4), torch.zeros(4, 2), torch.zeros(4, 2))
    assert game.judged.item() == pytest.approx(2 * math.log(2))
    assert game.fooled.item() == pytest.approx(math.log(2))


def test_pairs_share_the_code_that_they_say_and_no_other() -> None:
    torch.manual_seed(0)
    first, second, which = infogan.draw_pairs(5000, 4, 0.0, torch.zeros(1))
    for a, b, k in zip(first, second, which, strict=True):
        assert (a == b).nonzero().flatten().tolist() == [k]
    assert np.bincount(which, minlength=4) == pytest.approx([1250] * 4, abs=150)
    for codes in (first, second):  # each alone is uniform
        assert codes.abs().max() <= 1
        assert codes.mean(0).tolist() == pytest.approx([0] * 4, abs=0.04)
        assert codes.var(0).tolist() == pytest.approx([1 / 3] * 4, abs=0.02)
    others = ~F.one_hot(which, 4).bool()
    assert abs(np.corrcoef(first[others], second[others])[0, 1]) < 0.03


def test_the_gap_is_that_of_draws_which_are_rejected_when_too_near() -> None:
    torch.manual_seed(0)
    gap = 0.7
    first, second, which = infogan.draw_pairs(20_000, 2, gap, torch.zeros(1))
    other = 1 - which[:, None]
    a, b = first.gather(1, other).flatten().numpy(), second.gather(1, other).flatten().numpy()
    assert np.abs(a - b).min() >= gap - 1e-6
    free = np.random.default_rng(0).uniform(-1, 1, (100_000, 2))
    kept = free[np.abs(free[:, 0] - free[:, 1]) >= gap]
    quantiles = np.linspace(0.05, 0.95, 10)
    for ours, theirs in ((a - b, kept[:, 0] - kept[:, 1]), (a, kept[:, 0]), (b, kept[:, 1]), (a + b, kept.sum(1))):
        assert np.quantile(ours, quantiles) == pytest.approx(np.quantile(theirs, quantiles), abs=0.03)
