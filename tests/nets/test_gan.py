from __future__ import annotations

import pytest
import torch

from unbraid.errors import UserError
from unbraid.nets import gan

SHAPE = (3, 16, 16)


def test_the_generator_draws_images_and_sets_the_noise_to_zero_when_asked() -> None:
    torch.manual_seed(0)
    generator = gan.Generator(SHAPE, 5, 4).eval()
    c = torch.randn(6, 3)
    images = generator.without_noise(c)
    assert images.shape == (6, *SHAPE)
    assert 0 <= images.min() < images.max() <= 1
    assert torch.equal(images, generator(torch.cat([c, torch.zeros(6, 2)], 1)))
    assert not torch.allclose(images, generator(torch.cat([c, torch.ones(6, 2)], 1)))


def test_comparing_real_and_generated_images_is_looking_at_each_alone() -> None:
    torch.manual_seed(0)
    discriminator = gan.Discriminator(SHAPE, 3, 4)
    x, generated = torch.rand(4, *SHAPE), torch.rand(6, *SHAPE)
    real, fake, mean = discriminator.compare(x, generated)
    torch.testing.assert_close(real, discriminator(x)[0])
    torch.testing.assert_close(fake, discriminator(generated)[0])
    torch.testing.assert_close(mean, discriminator(generated)[1])
    assert mean.shape == (6, 3)


def test_the_shared_code_is_read_from_two_images_at_once() -> None:
    net = gan.shared_code(SHAPE, 5, 4)
    assert net(torch.rand(2, 6, 16, 16)).shape == (2, 5)


def test_batch_normalisation_refuses_a_single_code_while_training() -> None:
    generator = gan.Generator(SHAPE, 2, 4)
    with pytest.raises(UserError, match="a batch of two or more"):
        generator(torch.zeros(1, 2))
    assert generator.eval()(torch.zeros(1, 2)).shape == (1, *SHAPE)
