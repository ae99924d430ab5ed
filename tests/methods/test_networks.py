"""Networks of a user's own in place of a method's."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import unbraid
from tests.toys import Squares
from unbraid import catalogue
from unbraid.errors import UserError


class Tiny(nn.Module):
    """An encoder of one layer."""

    def __init__(self, shape: tuple[int, int, int], outputs: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self.scale, self.layer = scale, nn.Linear(shape[0] * shape[1] * shape[2], outputs)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.scale * self.layer(x.flatten(1))
        return found


def painter(shape: tuple[int, int, int], inputs: int, colours: Any = None) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, shape[0] * shape[1] * shape[2]), nn.Unflatten(1, shape))


TRAINED = [name for name, entry in catalogue.entries("methods").items() if not entry.traits.get("solved")]
WITHOUT = {"infogan", "infogan_cr"}  # a discriminator and a generator


@pytest.mark.parametrize("name", TRAINED)
def test_every_method_takes_networks_of_ones_own_and_its_run_is_loaded_again(name: str, tmp_path: Path) -> None:
    data = Squares()
    own: dict[str, Any] = {"encoder": partial(Tiny, scale=0.5)}
    if name in WITHOUT:
        with pytest.raises(UserError, match=f"{name} has no encoder that could be replaced"):
            unbraid.build(name, data, **own)
        return
    draws = unbraid.build(name, data).has_decoder
    own |= {"decoder": painter} if draws else {}
    method = unbraid.build(name, data, seed=1, **own)
    run = unbraid.fit(method, data, steps=2, batch=8, seed=1, out=str(tmp_path), show=False)
    assert run.plan.arguments["encoder"] == "tests.methods.test_networks:Tiny(scale=0.5)"
    assert any(isinstance(part, Tiny) for part in method.modules())
    x = torch.rand(4, 1, 12, 12)
    with torch.no_grad():
        wanted = method.encode(x)
    loaded = unbraid.load_run(run.path, trust=True)
    assert all(torch.equal(code, wanted[block]) for block, code in loaded.encode(x).items())
    assert loaded.arguments == method.arguments
    assert loaded.method.has_decoder == draws


def test_a_run_with_own_networks_is_resumed_bit_by_bit(tmp_path: Path) -> None:
    data, own = Squares(), {"encoder": Tiny, "decoder": painter, "latents": 2}

    def weights(folder: str, stop: int | None) -> dict[str, Tensor]:
        method = unbraid.build("vae", data, seed=2, **own)

        def watch(step: int, terms: dict[str, float]) -> None:
            if step == stop:
                raise KeyboardInterrupt

        unbraid.fit(
            method,
            data,
            steps=120,
            batch=4,
            seed=2,
            out=str(tmp_path / folder),
            show=False,
            save_every=0,
            hooks=[watch],
        )
        return method.state_dict()

    with pytest.raises(KeyboardInterrupt):
        weights("stopped", 100)
    first, second = weights("stopped", None), weights("whole", None)
    assert all(torch.equal(first[name], second[name]) for name in second)


def test_built_in_runs_keep_their_names_and_own_networks_change_them(tmp_path: Path) -> None:
    data = Squares()
    plain = unbraid.build("vae", data)
    assert "encoder" not in plain.arguments
    run = unbraid.fit(unbraid.build("vae", data, encoder=Tiny), data, steps=1, batch=4, out=str(tmp_path), show=False)
    other = unbraid.fit(plain, data, steps=1, batch=4, out=str(tmp_path), show=False)
    assert run.path != other.path
    assert set(other.config["sources"]) == {"tests.toys:Squares"}


def test_a_module_is_taken_as_it_is_and_must_be_given_again(tmp_path: Path) -> None:
    data, module = Squares(), Tiny((1, 12, 12), 20)
    before = module.layer.weight.detach().clone()
    method = unbraid.build("vae", data, encoder=module)
    run = unbraid.fit(method, data, steps=2, batch=8, out=str(tmp_path), show=False)
    assert torch.equal(module.layer.weight, before)  # a copy was trained
    assert not run.plan.repeated
    x = torch.rand(3, 1, 12, 12)
    with torch.no_grad():
        wanted = method.encode(x)["z"]
    assert torch.equal(unbraid.load_run(run.path, encoder=module).encode(x)["z"], wanted)
    with pytest.raises(UserError, match="Tiny was given as a module, not as a factory: give that module again"):
        unbraid.load_run(run.path, trust=True)


def test_own_networks_are_loaded_only_where_they_are_named(tmp_path: Path) -> None:
    data = Squares()
    run = unbraid.fit(unbraid.build("vae", data, encoder=Tiny), data, steps=1, batch=4, out=str(tmp_path), show=False)
    place = "tests.methods.test_networks:Tiny"
    with pytest.raises(UserError, match=rf"was made with {place}.*load_run\(path, encoder='{place}'\)"):
        unbraid.load_run(run.path)
    unbraid.load_run(run.path, encoder=Tiny)
    unbraid.load_run(run.path, encoder=place)


def broken(shape: tuple[int, int, int], outputs: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(7, outputs))


def no_network(shape: tuple[int, int, int], outputs: int) -> int:
    return outputs


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"encoder": nn.Flatten()}, r"Flatten gives \[144\] for each sample, and the encoder of vae must give \[20\]"),
        ({"decoder": nn.Linear(10, 5)}, r"gives \[5\] for each sample, and the decoder of vae must give \[1, 12, 12\]"),
        ({"encoder": broken}, r"broken fails as the encoder of vae on an input of shape \[1, 12, 12\]: .*mat1"),
        ({"encoder": nn.Flatten}, r"Flatten fails as the encoder of vae"),
        ({"encoder": no_network}, "no_network gives int, and a network is a torch.nn.Module"),
        ({"encoder": "tests.methods.test_networks:Tiny(scale=)"}, "is not understood: write file.py:Net"),
        ({"encoder": "tests.methods.test_networks:Tiny(print(1))"}, "is not understood"),
        (
            {"encoder": "tests.methods.test_networks:Tiny(size=3)"},
            "cannot be made: .*unexpected keyword argument 'size'",
        ),
        ({"encoder": "tests.methods.test_networks:Gone"}, "tests.methods.test_networks has no 'Gone'"),
        ({"encoder": partial(painter, colours=np.ones(3))}, "the arguments of .*painter cannot be written down"),
    ],
)
def test_networks_that_do_not_fit_are_refused_before_training(own: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        unbraid.build("vae", Squares(), **own)
