from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.toys import Squares
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.data.table import Bytes, Factor, Grid, Values
from unbraid.errors import UserError
from unbraid.maths import infogan
from unbraid.maths.infogan import draw_pairs
from unbraid.methods.infogan import InfoGAN
from unbraid.methods.infogan_cr import InfoGANCR
from unbraid.nets.normalisation import BatchNorm
from unbraid.train.trainer import Trainer

TABLE = Squares()


def batch(table: Grid = TABLE, n: int = 16, step: int = 0) -> Images:
    drawn = sampler(table, Images, batch=n, seed=0)(step).on("cpu")
    assert isinstance(drawn, Images)
    return drawn


def build(contrast: float = 2.0, gap: float = 0.0) -> InfoGANCR:
    torch.manual_seed(0)
    return InfoGANCR(TABLE.spec, contrast=contrast, contrast_from=0, gap=gap, gap_steps=10, width=8)


def test_the_gap_falls_from_the_step_at_which_the_contrast_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    method = build(gap=1.5)
    method.contrast_from = 100
    gaps = []

    def watched(n: int, codes: int, gap: float, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gaps.append(gap)
        return draw_pairs(n, codes, gap, like)

    monkeypatch.setattr(infogan, "draw_pairs", watched)
    for step in (99, 100, 105, 110, 500):
        method.losses(batch(), step)
    assert gaps == pytest.approx([1.5, 0.75, 0.0, 0.0])  # none at step 99


def test_the_contrast_is_log_of_the_number_of_codes_at_chance() -> None:
    method = build()
    last = method.sharing[1]
    assert isinstance(last, torch.nn.Linear)
    last.bias.data.zero_()
    with torch.no_grad():
        for parameter in method.generator.parameters():
            parameter.zero_()  # all images are grey: every pair looks alike
        method.sharing[0] = torch.nn.Sequential(method.sharing[0], Scaled(0.0))
        assert method._contrast(batch().x, 0).item() == pytest.approx(math.log(5), abs=1e-6)


class Scaled(torch.nn.Module):
    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by


def naive(method: InfoGANCR, x: Tensor) -> dict[str, Tensor]:
    """Both losses from passes of their own, in the paper's letters."""
    n, alpha = len(x), method.contrast
    c, z = 2 * torch.rand(n, 5) - 1, 2 * torch.rand(n, 5) - 1
    c1, c2, which = draw_pairs(n, 5, 0.0, x)
    shared = 2 * torch.rand(n, 5) - 1
    drawn = method.generator(torch.cat([c, z], 1))
    pair = method.generator(torch.cat([torch.cat([c1, c2]), torch.cat([shared, shared])], 1))

    def against(images: Tensor, pair: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        odds, mean = method.discriminator(images)
        density = torch.exp(-((c - mean) ** 2) / 2) / math.sqrt(2 * math.pi)  # [b, codes]
        log_q = -density.prod(1).log().mean()
        scores = method.sharing(torch.cat([pair[:n], pair[n:]], 1)).log_softmax(1)
        return odds.sigmoid(), log_q, -torch.stack([scores[i, k] for i, k in enumerate(which)]).mean()

    d_real = method.discriminator(x)[0].sigmoid()
    d_fake, log_q, told = against(drawn.detach(), pair.detach())
    model = -(d_real.log().mean() + (1 - d_fake).log().mean()) + 0.05 * log_q + alpha * told
    d_fake, log_q, told = against(drawn, pair)
    return {"model": model, "generator": -d_fake.log().mean() + 0.05 * log_q + alpha * told}


def test_losses_and_gradients_are_those_of_each_player_alone() -> None:
    """The judges' gradient stops at the images, and the generator's update leaves the judges as they are."""
    method, x = build(), batch().x
    torch.manual_seed(1)
    expected = naive(method, x)
    torch.manual_seed(1)
    found = method.losses(batch(), 0)
    groups = method.groups()
    for name, value in expected.items():
        torch.testing.assert_close(found[name].value, value, rtol=1e-5, atol=1e-6)
    gradients = {name: torch.autograd.grad(value, groups[name].parameters) for name, value in expected.items()}
    torch.manual_seed(1)
    Trainer(method).step(batch(), 0)
    for name, expectations in gradients.items():
        for parameter, gradient in zip(groups[name].parameters, expectations, strict=True):
            assert parameter.grad is not None
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


def test_the_update_of_one_player_never_moves_the_other() -> None:
    for name, other in (("model", "generator"), ("generator", "model")):
        method = build()
        trainer, returned = Trainer(method), {name: method.losses(batch(), 0)[name]}
        method.losses = lambda *_, only=returned: only  # type: ignore[method-assign]
        before = [p.detach().clone() for p in trainer.groups[other].parameters]
        mine = [p.detach().clone() for p in trainer.groups[name].parameters]
        trainer.step(batch(), 0)
        assert all(torch.equal(p, old) for p, old in zip(trainer.groups[other].parameters, before, strict=True))
        assert not all(torch.equal(p, old) for p, old in zip(trainer.groups[name].parameters, mine, strict=True))


def test_without_contrast_it_is_infogan() -> None:
    late = InfoGANCR(TABLE.spec, contrast=2.0, contrast_from=3, width=8)
    for method in (build(contrast=0.0), late):
        torch.manual_seed(0)
        plain = InfoGAN(TABLE.spec, width=8)
        method.load_state_dict(plain.state_dict(), strict=False)
        trainers = Trainer(method), Trainer(plain)
        for step in range(3):
            for trainer in trainers:
                torch.manual_seed(step)
                trainer.step(batch(step=step), step)
        state = method.state_dict()
        assert all(torch.equal(value, state[name]) for name, value in plain.state_dict().items())


def test_every_layer_of_the_critics_keeps_the_spectral_norm_one_while_it_learns() -> None:
    method = build()
    trainer = Trainer(method)
    for step in range(60):
        torch.manual_seed(step)
        trainer.step(batch(step=step), step)
    layers = [
        m
        for m in method.modules()
        if isinstance(m, torch.nn.Conv2d | torch.nn.Linear) and hasattr(m, "parametrizations")
    ]
    assert len(layers) == 2 * (2 + 1 + 1)
    for layer in layers:
        assert torch.linalg.matrix_norm(layer.weight.detach().flatten(1), 2).item() == pytest.approx(1, abs=0.1)
    for module in method.modules():  # and the generator has taken over the statistics of its images
        if isinstance(module, BatchNorm):
            assert module.mean.abs().max() > 0


def test_decoding_holds_the_noise_at_zero() -> None:
    method = build().eval()
    c = torch.rand(4, 5)
    with torch.no_grad():
        assert torch.equal(method.decode({"z": c}), method.generator(torch.cat([c, torch.zeros(4, 5)], 1)))


class Bars(Grid):
    """Two factors: where a vertical bar stands, and how bright the picture is."""

    name = "bars"
    factors = (Factor("x", 8), Factor("light", 8))
    shape = (1, 8, 8)

    def render(self, values: Values) -> Bytes:
        x, light = (column[:, None, None] for column in values.T)
        columns = np.arange(8)[None, None].repeat(8, 1)
        pictures: Bytes = (np.abs(columns - x) <= 1) * (40 + 30 * light)
        return pictures.astype(np.uint8)[:, None]


@pytest.mark.slow
def test_codes_are_read_back_after_a_short_training() -> None:
    """Q knows nothing of a code when its squared error is the variance of U[-1, 1], which is 1/3."""
    table = Bars()
    torch.manual_seed(0)
    method = InfoGANCR(table.spec, contrast_from=300, codes=2, noise=2, width=8)
    trainer = Trainer(method)
    records = []
    for step in range(600):
        torch.manual_seed(step)
        records.append(trainer.step(batch(table, 64, step), step))
    assert np.mean([r["error"].item() for r in records[:10]]) == pytest.approx(1 / 3, abs=0.1)
    assert np.mean([r["error"].item() for r in records[-50:]]) < 0.1
    assert np.mean([r["contrast"].item() for r in records[-50:]]) < 0.8 * math.log(2)


def test_what_cannot_be_trained_is_refused() -> None:
    with pytest.raises(UserError, match="gap of infogan_cr must be less than 2"):
        build(gap=3.0)
    with pytest.raises(UserError, match="a batch of two or more"):
        build().losses(batch(n=1), 0)
