"""Exported networks give the numbers of the model, for batches of any size, in other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import unbraid
from unbraid import catalogue
from unbraid import export as module
from unbraid.cli import main
from unbraid.data.features import Scaling
from unbraid.errors import UserError
from unbraid.export import Scale, export
from unbraid.model import Model

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 16, 16, 3), dtype=np.uint8)
FEATURES = RNG.normal(1e4, 3, (40, 4))


def trained(folder: Path, x: Any, name: str, **arguments: Any) -> Model:
    table = unbraid.from_arrays(x, background=x, label=np.arange(len(x)) % 2)
    method = unbraid.build(name, table, width=2, **arguments)
    return unbraid.load_run(unbraid.fit(method, table, steps=2, batch=4, out=str(folder), show=False).path)


def floats(images: Any) -> Any:
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2) / np.float32(255))


def test_images_in_onnxruntime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = trained(tmp_path / "runs", IMAGES, "beta_vae", latents=3)
    assert model.run is not None
    assert main(["export", str(model.run.path), "--onnx", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.count("coder.onnx") == 2
    encoder, decoder = (
        onnxruntime.InferenceSession(tmp_path / "out" / f"{part}.onnx") for part in ("encoder", "decoder")
    )
    (given,), (block,) = encoder.get_inputs(), encoder.get_outputs()
    assert (given.name, given.shape, block.name) == ("images", ["batch", 3, 16, 16], "z")
    for n in (1, 12):
        (codes,) = encoder.run(None, {"images": floats(IMAGES[:n])})
        np.testing.assert_allclose(codes, model.transform(IMAGES[:n]), rtol=1e-5, atol=1e-5)
        (drawn,) = decoder.run(None, {"z": codes})
        np.testing.assert_allclose(drawn, model.decode(codes), rtol=1e-5, atol=1e-5)


def test_features_in_onnxruntime_are_in_their_own_units(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = trained(tmp_path / "runs", FEATURES, "salient_vae", salient=1, common=2)
    files = export(model, tmp_path / "out", "onnx")
    encoder, decoder = (onnxruntime.InferenceSession(files[part]) for part in ("encoder", "decoder"))
    given = FEATURES.astype(np.float32)
    s, z = encoder.run(["s", "z"], {"features": given})
    wanted = model.encode(given)
    np.testing.assert_allclose(s, wanted["s"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z, wanted["z"], rtol=1e-5, atol=1e-5)
    (drawn,) = decoder.run(None, {"s": s, "z": z})
    np.testing.assert_allclose(drawn, model.decode({"s": s, "z": z}), rtol=1e-5)


def test_programs_of_torch_without_a_decoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = trained(tmp_path / "runs", IMAGES, "cnn", latents=3)
    assert model.run is not None
    words = ["export", str(model.run.path), "--torch", str(tmp_path / "out")]
    assert main(words) == 0
    assert "has no decoder: only the encoder was written" in capsys.readouterr().out
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["encoder.pt2"]
    program = torch.export.load(tmp_path / "out" / "encoder.pt2").module()
    for n in (1, 7):
        (codes,) = program(torch.from_numpy(floats(IMAGES[:n])))
        np.testing.assert_allclose(codes.detach(), model.transform(IMAGES[:n]), rtol=1e-5, atol=1e-5)
    assert main(words) == 1
    assert "encoder.pt2 exists already: name another folder, or say --overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0


def test_the_model_stays_as_it_is_and_the_folder_may_be_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained(tmp_path / "runs", FEATURES, "vae", latents=2)
    moved, plain = list[Any](), torch.nn.Module.cpu

    def cpu(self: Any) -> Any:
        moved.append(self.method)
        return plain(self)

    monkeypatch.setattr(torch.nn.Module, "cpu", cpu)
    assert export(model, str(tmp_path / "out"), "torch")["encoder"].exists()
    assert len(moved) == 2 and all(method is not model.method for method in moved)
    with pytest.raises(UserError, match="no kind of file is called 'ONNX': there are: onnx, torch"):
        export(model, tmp_path / "more", "ONNX")


def test_the_scaling_in_torch_is_that_of_numpy() -> None:
    scaling = Scaling(np.array([1e6, -3.0, 5.0]), np.array([2.0, 1e-3, 0.0]))
    x = scaling.mean + np.array([[-3.0], [0.5], [70.0]]) * np.array([2.0, 1e-3, 4.0])
    scale = Scale(scaling)
    scaled = scale(torch.from_numpy(x))
    np.testing.assert_allclose(scaled, scaling.apply(x), rtol=1e-6)
    np.testing.assert_allclose(scale.undo(scaled), scaling.undo(scaled.numpy()), rtol=1e-6)


def test_other_numbers_are_refused_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained(tmp_path / "runs", FEATURES, "vae", latents=2)
    plain = module.run_torch
    monkeypatch.setattr(module, "run_torch", lambda *given: [part + 1e-3 for part in plain(*given)])
    with pytest.raises(UserError, match="the encoder gives other numbers once it is exported: nothing was written"):
        export(model, tmp_path / "out", "torch")
    assert not (tmp_path / "out").exists()


def test_a_network_that_cannot_be_traced_is_a_sentence(tmp_path: Path) -> None:
    model = trained(tmp_path / "runs", FEATURES, "vae", latents=2)
    layer = next(part for part in model.method.encoder.modules() if isinstance(part, torch.nn.ReLU))
    layer.forward = lambda x: x if x.sum().item() > 0 else -x  # type: ignore[method-assign, assignment]
    with pytest.raises(UserError, match=r"the encoder cannot be exported: torch\.export fails with"):
        export(model, tmp_path / "out", "torch")


def test_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained(tmp_path / "runs", FEATURES, "vae", latents=2)
    assert model.run is not None
    assert main(["export", str(model.run.path)]) == 1
    assert "say what to write and where: --onnx DIR, --torch DIR, or both" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert main(["export", str(model.run.path), "--onnx", str(tmp_path / "out")]) == 1
    assert "onnxruntime is not installed: pip install 'unbraid[onnx]'" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.entries("methods"))
def test_every_method_can_be_exported(tmp_path: Path, name: str) -> None:
    pytest.importorskip("onnxruntime")
    images = RNG.integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)
    table = unbraid.from_arrays(
        images,
        factors=np.stack([np.arange(12) % 3, np.arange(12) % 2], 1),
        factor_names=["kind", "tint"],
        label="kind",
        nuisances=["tint"],
        background=images,
    )
    known = {argument.name for argument in catalogue.find("methods", name).arguments}
    method = unbraid.build(name, table, **({"width": 8} if "width" in known else {}))
    if method.solved:
        method.solve(table)
    model = Model(method)
    for kind in ("torch", "onnx"):
        files = export(model, tmp_path / kind, kind)
        assert ("decoder" in files) == method.has_decoder
