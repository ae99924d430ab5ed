"""A trained model takes samples of any kind, in batches and without gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import unbraid
from unbraid.data.samples import SampleError
from unbraid.errors import UserError
from unbraid.maths import gaussian
from unbraid.model import Model

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (20, 16, 16), dtype=np.uint8)
FEATURES = RNG.normal(7, 3, (40, 4))


def trained(folder: Path, x: Any, name: str = "beta_vae", **arguments: Any) -> Model:
    table = unbraid.from_arrays(x, background=x if name == "salient_vae" else None)
    method = unbraid.build(name, table, width=2, **arguments)
    return unbraid.load_run(unbraid.fit(method, table, steps=2, batch=8, out=str(folder), show=False).path)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return trained(tmp_path_factory.mktemp("images"), IMAGES, latents=3)


@pytest.fixture(scope="module")
def two_blocks(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return trained(tmp_path_factory.mktemp("features"), FEATURES, "salient_vae", salient=1, common=2)


def test_codes_are_those_of_the_method_whatever_the_batches(images: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.from_numpy(IMAGES / 255).float()[:, None]
    with torch.no_grad():
        wanted = images.method.encode(x)["z"].numpy()
    monkeypatch.setattr(images, "batch", 7)
    for given in (IMAGES, IMAGES[..., None], IMAGES / 255, [Image.fromarray(image) for image in IMAGES]):
        found = images.encode(given)["z"]
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(images.transform(given), found)


def test_tensors_come_out_as_tensors_without_gradient(images: Model) -> None:
    x = torch.rand(5, 1, 16, 16, requires_grad=True)
    for found in (images.transform(x), images.encode(x)["z"], images.reconstruct(x), images.decode(torch.rand(5, 3))):
        assert isinstance(found, torch.Tensor)
        assert not found.requires_grad
    assert not images.method.training


def test_reconstructions_are_decoded_codes_in_the_layout_of_the_samples(images: Model) -> None:
    drawn = images.decode(images.transform(IMAGES))
    assert drawn.shape == (20, 1, 16, 16)
    np.testing.assert_allclose(images.reconstruct(IMAGES), drawn[:, 0], atol=1e-6)
    np.testing.assert_allclose(images.reconstruct(IMAGES[..., None]), drawn.transpose(0, 2, 3, 1), atol=1e-6)
    with torch.no_grad():
        wanted = images.method.decode({"z": torch.from_numpy(images.transform(IMAGES))})
    assert wanted is not None
    np.testing.assert_allclose(drawn, wanted.numpy(), atol=1e-6)
    error = ((IMAGES / 255 - drawn[:, 0]) ** 2).mean((1, 2))
    np.testing.assert_allclose(images.squared_error(IMAGES), error, rtol=1e-4)


def test_blocks_lie_side_by_side_and_come_apart_again(two_blocks: Model) -> None:
    blocks = two_blocks.encode(FEATURES)
    assert {name: block.shape for name, block in blocks.items()} == {"s": (40, 1), "z": (40, 2)}
    assert two_blocks.feature_names == ["s0", "z0", "z1"]
    joined = two_blocks.transform(FEATURES)
    np.testing.assert_array_equal(joined, np.concatenate([blocks["s"], blocks["z"]], 1))
    np.testing.assert_allclose(two_blocks.decode(blocks), two_blocks.decode(joined))
    np.testing.assert_allclose(two_blocks.decode(pd.DataFrame(joined)), two_blocks.decode(joined))


def test_features_are_scaled_as_in_training_and_frames_come_back_as_frames(two_blocks: Model) -> None:
    assert two_blocks.scaling is not None
    x = 0.5 + np.clip((FEATURES - FEATURES.mean(0)) / FEATURES.std(0), -5, 5) / 10
    with torch.no_grad():
        wanted = two_blocks.method.encode(torch.from_numpy(x).float()[:, None, None])["z"]
    np.testing.assert_allclose(two_blocks.encode(FEATURES)["z"], wanted, rtol=1e-4, atol=1e-5)
    frame = pd.DataFrame(FEATURES, columns=list("abcd"), index=range(100, 140))
    back = two_blocks.reconstruct(frame)
    assert list(back.columns) == list("abcd")
    assert list(back.index) == list(range(100, 140))
    np.testing.assert_allclose(back.to_numpy(), two_blocks.reconstruct(FEATURES))
    assert np.abs(back.to_numpy().mean(0) - FEATURES.mean(0)).max() < 3


def test_names_of_features_are_kept_with_the_run(tmp_path: Path) -> None:
    frame = pd.DataFrame(FEATURES, columns=["age", "dose", "time", "größe"])
    model = trained(tmp_path, frame)
    assert model.scaling is not None
    assert model.scaling.names == ("age", "dose", "time", "größe")
    with pytest.raises(SampleError, match="column 0 of X is 'dose' and was 'age' in training"):
        model.transform(frame[["dose", "age", "time", "größe"]])


def test_the_bound_is_that_of_a_loop_written_by_hand(tmp_path: Path) -> None:
    images = trained(tmp_path, IMAGES, latents=3)
    with torch.no_grad():
        list(images.method.encoder.parameters())[-1].add_(3)  # a KL that counts
    found = images.elbo(IMAGES, seed=4)
    x = torch.from_numpy(IMAGES / 255).float()[:, None]
    torch.manual_seed(4)
    with torch.no_grad():
        mu, log_var = images.method.encoder(x).chunk(2, -1)
        p = images.method.decoder.mean(gaussian.sample(mu, log_var))
    log_p = (x * p.log() + (1 - x) * (1 - p).log()).flatten(1).sum(1)
    kl = 0.5 * (mu**2 + log_var.exp() - 1 - log_var).sum(1)
    np.testing.assert_allclose(found, (log_p - kl).numpy(), rtol=1e-4)


def test_the_bound_on_the_cpu_leaves_gpus_alone(images: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)  # torch warns of that, and initialises both
    assert np.isfinite(images.elbo(IMAGES)).all()


@pytest.mark.parametrize("name", ["ivae", "vfae", "cvib"])
def test_there_is_no_bound_where_the_prior_is_another_one(name: str) -> None:
    table = unbraid.from_arrays(IMAGES, factors=np.arange(20) // 10, label=np.arange(20) % 2, nuisances=["factor0"])
    model = Model(unbraid.build(name, table, width=2, latents=2))
    with pytest.raises(UserError, match=f"{name} has no evidence lower bound: that needs .* a standard normal prior"):
        model.elbo(IMAGES)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros((2, 4)), r"the codes must have the shape \[n, 3\], not \[2, 4\]"),
        (np.full((2, 3), np.nan), "the codes must be finite numbers"),
        ({"y": np.zeros((2, 3))}, "the blocks of beta_vae are z, not y"),
        ({"z": np.zeros((2, 1))}, r"the block 'z' must have the shape \[n, 3\]"),
    ],
)
def test_codes_that_cannot_be_decoded_are_refused(images: Model, codes: Any, message: str) -> None:
    with pytest.raises(SampleError, match=message):
        images.decode(codes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (IMAGES.astype(np.float64), "has values from 0 to 255: .* divide them by 255"),
        (np.full((2, 16, 16), np.nan), "has NaN, first in image 0"),
        (IMAGES[:, :8], "has images of 8x16, and the model was trained on 16x16"),
        (np.stack([IMAGES] * 3, -1), "has 3 channels, and the model was trained on 1: make them grey"),
        (FEATURES, "has 4 features, and the model was trained on images of 16x16"),
        (IMAGES[:0], "has no samples"),
    ],
)
def test_samples_that_do_not_fit_are_refused(images: Model, given: Any, message: str) -> None:
    for use in (images.encode, images.transform, images.reconstruct, images.classify, images.elbo):
        with pytest.raises(SampleError, match=message):
            use(given)


def test_what_a_method_cannot_do_is_said(tmp_path: Path, images: Model) -> None:
    with pytest.raises(UserError, match="beta_vae has no classifier"):
        images.classify(IMAGES)
    table = unbraid.from_arrays(IMAGES, label=np.arange(20) % 2)
    method = unbraid.build("cnn", table, width=2, latents=3)
    model = unbraid.load_run(unbraid.fit(method, table, steps=2, batch=8, out=str(tmp_path), show=False).path)
    assert set(model.classify(IMAGES)) <= {0, 1}
    with pytest.raises(UserError, match="cnn has no decoder: it cannot draw codes"):
        model.decode(np.zeros((1, 3)))
    with pytest.raises(UserError, match="cnn has no evidence lower bound"):
        model.elbo(IMAGES)
