"""The scripts of the page in the browser: each layer against torch, numbers of 16 bits, and the GIF writer."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from tests.toys import Squares
from unbraid import build, catalogue
from unbraid.explorer.network import Bits, UnknownLayer, pack, read_network
from unbraid.explorer.page import STATIC
from unbraid.nets import autoencoders, gan, intervention, resnet
from unbraid.nets.normalisation import BatchNorm

IN_THE_BROWSER = "([net, x]) => Array.from(runNetwork(unpackNetwork(net), new Float32Array(x)))"


@pytest.fixture(scope="module")
def scripts(browser: Any) -> Any:
    """An empty page with the scripts that compute."""
    page = browser.new_page()
    page.add_script_tag(content="".join((STATIC / f"{name}.js").read_text() for name in ("arrays", "layers", "gif")))
    return page


def differences(scripts: Any, function: Callable[[Tensor], Tensor], x: Tensor, bits: Bits) -> float:
    """How far the browser is from torch, at most."""
    packed = read_network(function, torch.rand_like(x)).packed(bits)
    found = scripts.evaluate(IN_THE_BROWSER, [packed, x.flatten().tolist()])
    with torch.no_grad():
        expected = function(x).flatten()
    assert len(found) == len(expected)
    assert expected.std() > 1e-3, "there is nothing to compare"
    return float((torch.tensor(found) - expected).abs().max())


class Joined(nn.Module):
    """What methods do between layers: cut, join, add, scale."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(6, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        one, two = self.first(x).chunk(2, -1)
        three, four, five = torch.split(self.second(x), [3, 4, 1], -1)
        shifted = torch.full((1, 10), 2.0) - torch.cat([one * two, three, five, torch.full((1, 2), 0.3)], -1)
        return torch.cat([shifted / 3, (four - two)[:, 1:3]], -1)


def varied(module: nn.Module) -> nn.Module:
    """With weights, and statistics, that differ from those at the start."""
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if tensor.dtype.is_floating_point and tensor.ndim == 1:
                tensor.uniform_(0.3, 1.2)
    return module.eval()


LAYERS: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "linear": (nn.Linear(7, 5), (7,)),
    "linear without bias": (nn.Linear(7, 6, bias=False), (7,)),
    "conv": (nn.Conv2d(3, 5, 4, 2, 1), (3, 12, 10)),
    "conv of other strides": (nn.Conv2d(2, 4, (3, 2), (1, 3), (2, 0), bias=False), (2, 7, 9)),
    "conv transpose": (nn.ConvTranspose2d(4, 3, 4, 2, 1), (4, 5, 6)),
    "conv transpose with extra": (nn.ConvTranspose2d(3, 2, 3, 2, 1, 1), (3, 5, 5)),
    "conv transpose of other strides": (nn.ConvTranspose2d(3, 2, (3, 2), (1, 3), (0, 1), bias=False), (3, 4, 5)),
    "group norm": (nn.GroupNorm(2, 6), (6, 4, 3)),
    "batch norm": (nn.BatchNorm2d(4), (4, 3, 5)),
    "own batch norm": (BatchNorm(5), (5,)),
    "relu": (nn.ReLU(), (9,)),
    "leaky relu": (nn.LeakyReLU(0.2), (3, 4, 4)),
    "sigmoid": (nn.Sigmoid(), (9,)),
    "tanh": (nn.Tanh(), (9,)),
    "flatten and unflatten": (nn.Sequential(nn.Flatten(), nn.Unflatten(1, (4, 3, 2)), nn.Conv2d(4, 2, 2)), (2, 3, 4)),
    "average pool": (nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), (5, 4, 6)),
    "residual block": (resnet.Residual(4, 8, 2), (4, 8, 8)),
    "identity shortcut": (resnet.Residual(4, 4, 1), (4, 6, 6)),
    "cut and joined": (Joined(), (6,)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_is_torchs(scripts: Any, name: str) -> None:
    torch.manual_seed(0)
    module, shape = LAYERS[name]
    x = torch.randn(1, *shape)
    assert differences(scripts, varied(module), x, 32) < 1e-5


NETWORKS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "conv encoder": (lambda: autoencoders.encoder("conv", (3, 32, 32), 20, width=8), (3, 32, 32)),
    "conv decoder": (
        lambda: autoencoders.decoder("conv", (1, 64, 64), 10, width=8, likelihood="bernoulli").mean,
        (10,),
    ),
    "mlp decoder": (lambda: autoencoders.decoder("mlp", (1, 8, 8), 10, width=8, likelihood="gaussian").mean, (10,)),
    "contrast encoder": (lambda: autoencoders.encoder("contrast", (1, 28, 28), 12, width=8), (1, 28, 28)),
    "contrast decoder": (
        lambda: autoencoders.decoder("contrast", (3, 28, 28), 6, width=8, likelihood="bernoulli").mean,
        (6,),
    ),
    "separate encoders": (
        lambda: autoencoders.block_encoder("conv", (1, 16, 16), (3, 4), width=8, separate=True),
        (1, 16, 16),
    ),
    "intervention decoder": (lambda: intervention.decoder((1, 28, 28), 8, width=8).mean, (8,)),
    "generator": (lambda: varied(gan.Generator((1, 16, 16), 9, 8)), (9,)),
    "features under spectral norms": (lambda: gan.image_features((3, 16, 16), 8), (3, 16, 16)),
    "resnet10": (lambda: resnet.encoder("resnet10", (3, 16, 16), width=8), (3, 16, 16)),
    "conv4": (lambda: resnet.encoder("conv4", (3, 20, 20), width=4), (3, 20, 20)),
    "pooled4": (lambda: resnet.encoder("pooled4", (3, 20, 20), width=4), (3, 20, 20)),
}


@pytest.mark.parametrize(("bits", "tolerance"), [(32, 1e-5), (16, 2e-3)])
@pytest.mark.parametrize("name", NETWORKS)
def test_each_network_is_torchs(scripts: Any, name: str, bits: Bits, tolerance: float) -> None:
    torch.manual_seed(0)
    network, shape = NETWORKS[name]
    assert differences(scripts, network(), torch.rand(1, *shape), bits) < tolerance


NOT_LIVE = ("qlae",)  # the nearest value of a codebook is no layer of the page


@pytest.mark.parametrize("name", [name for name in catalogue.entries("methods") if name not in NOT_LIVE])
def test_every_method_encodes_and_decodes_as_torch_does(scripts: Any, name: str) -> None:
    method = varied(build(name, Squares(), seed=1))
    x = torch.from_numpy(Squares().images(np.array([500]))).float() / 255
    code = {block: part.detach() for block, part in method.encode(x).items()}  # type: ignore[operator]
    sizes = [part.shape[1] for part in code.values()]

    def encode(x: Tensor) -> Tensor:
        return torch.cat(list(method.encode(x).values()), -1)  # type: ignore[operator]

    def decode(joined: Tensor) -> Tensor:
        parts = torch.split(joined, sizes, -1)
        drawn: Tensor = method.decode(dict(zip(code, parts, strict=True)))  # type: ignore[operator]
        return drawn

    scale = max(1.0, *(float(part.abs().max()) for part in code.values()))
    assert differences(scripts, encode, x, 32) < 1e-5 * scale
    if method.has_decoder:
        assert differences(scripts, decode, torch.randn(1, sum(sizes)), 32) < 1e-5


@pytest.mark.parametrize("name", NOT_LIVE)
def test_a_method_that_cannot_be_run_in_the_page_says_why(name: str) -> None:
    method = build(name, Squares(), seed=1)
    with pytest.raises(UnknownLayer, match="it combines values of several shapes"):
        read_network(lambda x: method.encode(x)["z"], torch.rand(1, *Squares().shape))


@pytest.mark.parametrize("bits", [16, 32])
def test_numbers_arrive(scripts: Any, bits: Bits) -> None:
    rng = np.random.default_rng(0)
    arrays = [
        rng.normal(size=7),
        rng.normal(size=(3, 4, 5)) * [[[1]], [[1e-6]], [[0]]],
        np.zeros(2),
        rng.normal(size=(2, 9)),
    ]
    found = np.array(scripts.evaluate("(packed) => Array.from(numbersOf(packed))", pack(arrays, bits)))
    assert len(found) == 7 + 60 + 2 + 18
    largest = [
        np.abs(a.reshape(len(a), -1)).max(1, keepdims=True) * np.ones_like(a.reshape(len(a), -1)) for a in arrays
    ]
    error = np.abs(found - np.concatenate([array.ravel() for array in arrays]))
    allowed = np.concatenate([part.ravel() for part in largest]) * (0.5001 / 32767 if bits == 16 else 1e-7)
    assert (error <= allowed + 1e-12).all()
    np.testing.assert_allclose(found[:7], arrays[0], rtol=2e-7)  # a vector keeps all of its bits


def in_gif(scripts: Any, frames: np.ndarray[Any, Any], times: int = 1) -> list[np.ndarray[Any, Any]]:
    """Frames [n, h, w, 4] through our writer and another's reader."""
    text = scripts.evaluate(
        """async ([frames, width, height, times]) => {
          const images = frames.map((frame) => new ImageData(Uint8ClampedArray.from(frame), width, height));
          const bytes = new Uint8Array(await gif(images, 8, times).arrayBuffer());
          return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
        }""",
        [[frame.flatten().tolist() for frame in frames], frames.shape[2], frames.shape[1], times],
    )
    file = Image.open(io.BytesIO(base64.b64decode(text)))
    assert file.n_frames == len(frames)  # type: ignore[attr-defined]
    assert file.info["duration"] == 80 and file.info["loop"] == 0
    found = []
    for i in range(len(frames)):
        file.seek(i)
        found.append(np.asarray(file.convert("RGB")).astype(int))
    return found


def test_a_gif_of_few_colours_is_exact(scripts: Any) -> None:
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 256, (200, 4), dtype=np.uint8)
    frames = colours[rng.integers(0, 200, (3, 90, 110))]  # random pixels fill the table of codes several times
    frames[..., 3] = 255
    for found, frame in zip(in_gif(scripts, frames), frames, strict=True):
        np.testing.assert_array_equal(found, frame[..., :3])


def test_a_gif_is_enlarged_by_whole_pixels(scripts: Any) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (2, 4, 7, 4), dtype=np.uint8)
    frames[..., 3] = 255
    for found, frame in zip(in_gif(scripts, frames, times=5), frames, strict=True):
        np.testing.assert_array_equal(found, frame[..., :3].repeat(5, 0).repeat(5, 1))


def test_a_gif_of_many_colours_is_close(scripts: Any) -> None:
    down, across = np.mgrid[:64, :64] * 4
    frame = np.stack([down, across, 255 - down, np.full_like(down, 255)], -1).astype(np.uint8)
    (found,) = in_gif(scripts, frame[None])
    assert np.abs(found - frame[..., :3]).mean() < 6
