from __future__ import annotations

import colorsys

import numpy as np
import pytest
import torch
from torch import Tensor

from unbraid.errors import UserError
from unbraid.maths.augment import Augment, rotate_hue

NOTHING = Augment(1.0, False, 0.0)
CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


def pictures(n: int = 64, channels: int = 3, side: int = 16, seed: int = 0) -> Tensor:
    return torch.rand(n, channels, side, side, generator=torch.Generator().manual_seed(seed))


def ramp(n: int, side: int = 32) -> Tensor:
    """Red grows from left to right and green from top to bottom: a pixel tells where it was."""
    line = (torch.arange(side) + 0.5) / side
    return torch.stack([line.expand(side, side), line[:, None].expand(side, side), torch.zeros(side, side)]).repeat(
        n, 1, 1, 1
    )


def test_without_any_change_the_images_are_the_same() -> None:
    x = pictures()
    assert torch.equal(NOTHING(x), x)


def test_a_flip_mirrors_about_half_of_the_images_and_touches_no_other() -> None:
    torch.manual_seed(0)
    x = pictures(400)
    y = Augment(1.0, True, 0.0)(x)
    kept = (y - x).flatten(1).abs().amax(1) < 1e-5
    mirrored = (y - x.flip(-1)).flatten(1).abs().amax(1) < 1e-5
    assert bool((kept ^ mirrored).all())
    assert 150 < int(mirrored.sum()) < 250


def test_a_crop_is_a_window_inside_the_picture_of_the_share_that_was_asked_for() -> None:
    torch.manual_seed(0)
    n, side = 500, 32
    y = Augment(0.2, False, 0.0)(ramp(n, side))
    inner = side - 4  # the border is blurred by the interpolation
    across = (y[:, 0, 16, -3] - y[:, 0, 16, 2]) * side / (inner - 1)
    down = (y[:, 1, -3, 16] - y[:, 1, 2, 16]) * side / (inner - 1)
    area, ratio = across * down, across / down
    assert 0.17 < area.min() < 0.25
    assert 0.9 < area.max() < 1.1
    assert area.mean() == pytest.approx(0.6, abs=0.05)
    assert 0.7 < ratio.min() < 0.8
    assert 1.25 < ratio.max() < 1.4
    middle = y[:, 0].mean((1, 2))
    assert bool((middle - across / 2 > -0.05).all())
    assert bool((middle + across / 2 < 1.05).all())
    assert middle.std() > 0.05


def test_a_crop_keeps_the_least_share_where_it_is_almost_all() -> None:
    torch.manual_seed(0)
    side = 32
    y = Augment(0.9, False, 0.0)(ramp(500, side))
    across, down = (y[:, 0, 16, -3] - y[:, 0, 16, 2]) * side / 27, (y[:, 1, -3, 16] - y[:, 1, 2, 16]) * side / 27
    assert (across * down).min() > 0.89
    assert (across / down).std() > 0.01


def test_colour_is_changed_image_by_image_and_stays_a_colour() -> None:
    torch.manual_seed(0)
    x = pictures(600)
    y = Augment(1.0, False, 0.5)(x)
    assert y.shape == x.shape
    assert 0 <= y.min() <= y.max() <= 1
    grey = (y - y.mean(1, keepdim=True)).flatten(1).abs().amax(1) < 1e-5
    same = (y - x).flatten(1).abs().amax(1) < 1e-6
    assert int(grey.sum()) / 600 == pytest.approx(0.2, abs=0.05)
    assert int(same.sum()) / 600 == pytest.approx(0.8 * 0.2, abs=0.05)


@pytest.mark.parametrize("strength", [0.5, 2.0])
@pytest.mark.parametrize("channels", [3, 1])
def test_colour_is_distorted_as_in_a_loop_over_images_with_the_same_draws(strength: float, channels: int) -> None:
    """SimCLR's distortion: factors within 0.8 of the strength, a turn within 0.2 of it; 80 % changed, 20 % grey."""
    n, weights = 60, np.array([0.299, 0.587, 0.114]) if channels == 3 else np.ones(1)
    x = pictures(n, channels, 5).double()
    torch.manual_seed(3)
    found = Augment(1.0, False, strength)(x).numpy()
    torch.manual_seed(3)
    brightness, contrast, *colours = torch.rand(4 if channels == 3 else 2, n, dtype=torch.float64).numpy()
    changed, grey = torch.rand(2, n, dtype=torch.float64).numpy()
    for i in range(n):
        picture = x[i].numpy()
        factors = [max(0.0, 1 + 0.8 * strength * (2 * draw[i] - 1)) for draw in (brightness, contrast, *colours[:1])]
        new = np.clip(factors[0] * picture, 0, 1)
        middle = np.tensordot(weights, new, 1).mean()
        new = np.clip(middle + factors[1] * (new - middle), 0, 1)
        if channels == 3:
            luma = np.tensordot(weights, new, 1)
            new = np.clip(luma + factors[2] * (new - luma), 0, 1)
            yiq = np.array([weights, [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])
            y, in_phase, quadrature = np.tensordot(yiq, new, 1)
            turned = (in_phase + 1j * quadrature) * np.exp(2j * np.pi * 0.2 * strength * (2 * colours[1][i] - 1))
            new = np.clip(np.tensordot(np.linalg.inv(yiq), [y, turned.real, turned.imag], 1), 0, 1)
        new = new if changed[i] < 0.8 else picture
        new = np.broadcast_to(np.tensordot(weights, new, 1), new.shape) if grey[i] < 0.2 else new
        np.testing.assert_allclose(found[i], new, atol=1e-6)


@pytest.mark.parametrize("flip", [True, False])
def test_a_crop_is_bilinear_interpolation_in_a_window_with_the_same_draws(flip: bool) -> None:
    """Pixel by pixel: its place in the window, then the four pixels around it, those at the border repeated."""
    n, h, w = 20, 6, 5
    x = torch.rand(n, 2, h, w, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.manual_seed(5)
    found = Augment(0.3, flip, 0.0)(x).numpy()
    torch.manual_seed(5)
    share, shape = torch.rand(2, n, dtype=torch.float64).numpy()
    centre = torch.rand(n, 2, dtype=torch.float64).numpy()
    mirrored = torch.rand(n, dtype=torch.float64).numpy() < 0.5 if flip else np.zeros(n, bool)
    for i in range(n):
        area = 0.3 + 0.7 * share[i]
        ratio = min(1 / area, 4 / 3) ** (2 * shape[i] - 1)
        size = np.array([np.sqrt(area / ratio) * h, np.sqrt(area * ratio) * w])
        first = (np.array([h, w]) - size) * centre[i, ::-1]
        for row in range(h):
            for column in range(w):
                across = (w - 1 - column if mirrored[i] else column) + 0.5
                place = first + size * [(row + 0.5) / h, across / w] - 0.5
                top, left = np.floor(place).astype(int)
                below, right = place - [top, left]
                near = [x[i, :, min(max(top + a, 0), h - 1), min(max(left + b, 0), w - 1)].numpy() for a, b in CORNERS]
                shares = [(1 - below) * (1 - right), (1 - below) * right, below * (1 - right), below * right]
                expected = sum(part * pixel for part, pixel in zip(shares, near, strict=True))
                np.testing.assert_allclose(found[i, :, row, column], expected, atol=1e-9)


def test_a_stronger_distortion_moves_colours_further() -> None:
    x = pictures(300)
    moved = []
    for strength in (0.1, 0.5, 1.0):
        torch.manual_seed(0)
        moved.append((Augment(1.0, False, strength)(x) - x).abs().median().item())
    assert moved[0] < moved[1] < moved[2]


def test_hue_keeps_brightness_and_a_whole_turn_changes_nothing() -> None:
    x = 0.4 + 0.2 * pictures(4)
    torch.testing.assert_close(rotate_hue(x, torch.ones(4)), x, rtol=1e-4, atol=1e-4)
    third = rotate_hue(x, torch.full((4,), 1 / 3))
    luma = torch.tensor([0.299, 0.587, 0.114])
    torch.testing.assert_close(
        torch.einsum("bchw,c->bhw", third, luma), torch.einsum("bchw,c->bhw", x, luma), rtol=1e-3, atol=1e-3
    )
    assert (third - x).abs().mean() > 0.03


def test_a_turn_of_the_hue_goes_round_the_circle_of_colours_one_way() -> None:
    """Against the standard library's HSV: red by small turns moves steadily through the hues."""
    red = torch.tensor([0.6, 0.4, 0.4]).view(1, 3, 1, 1).expand(8, 3, 1, 1)
    turned = rotate_hue(red, torch.arange(8) / 8)
    hues = [colorsys.rgb_to_hsv(*map(float, turned[i, :, 0, 0]))[0] for i in range(8)]
    steps = np.diff(np.unwrap(np.array(hues), period=1))
    assert np.all(steps > 0.03) or np.all(steps < -0.03)
    assert abs(steps.sum()) == pytest.approx(7 / 8, abs=0.12)


def test_views_are_drawn_anew_from_the_seed_of_the_step() -> None:
    x = pictures(8)
    change = Augment(0.5, True, 0.5)
    torch.manual_seed(1)
    one, two = change(x), change(x)
    torch.manual_seed(1)
    assert torch.equal(change(x), one)
    assert not torch.allclose(one, two)
    each = change(x[:1].expand(8, -1, -1, -1))
    assert (each[0] - each[1]).abs().max() > 0.01


def test_grey_pictures_can_be_changed_too() -> None:
    torch.manual_seed(0)
    x = pictures(8, channels=1)
    y = Augment(0.5, True, 1.0)(x)
    assert y.shape == x.shape
    assert 0 <= y.min() <= y.max() <= 1


@pytest.mark.parametrize(
    ("crop", "colour", "message"),
    [(0.0, 0.0, "least_crop must be .*, not 0"), (1.0, -1.0, "colour must be 0 or more, not -1")],
)
def test_impossible_changes_are_refused(crop: float, colour: float, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Augment(crop, False, colour)


def test_a_view_without_any_change_is_known_for_one() -> None:
    assert NOTHING.changes_nothing
    for change in (Augment(0.9, False, 0.0), Augment(1.0, True, 0.0), Augment(1.0, False, 0.1)):
        assert not change.changes_nothing
