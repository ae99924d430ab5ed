"""A trained model for other programs: ONNX files, or programs of torch.export.

    encoder     images [b, c, h, w] in [0, 1], or features [b, d] in their own units -> each block of the codes, [b, k]
    decoder     each block of the codes -> images, or features in their own units; where the method has a decoder

for batches of any size. Inputs and outputs are float32, and are called `images` or `features` and as the blocks are.
Each file is run and compared with the model before it is written.
"""

from __future__ import annotations

import importlib
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unbraid.data.counts import Counts
from unbraid.data.features import REACH, Scaling
from unbraid.errors import UserError, unknown
from unbraid.methods.contract import Method
from unbraid.model import Model
from unbraid.train.run import write

TOLERANCE = 1e-5  # of each number, relative to it where it is above 1
TRACED, TRIED = 11, 5  # samples in the batch that is traced (a number like no other size), and in the one compared
ENDINGS = {"onnx": ".onnx", "torch": ".pt2"}


class Encoder(nn.Module):
    """Samples as users have them -> the blocks of their codes."""

    def __init__(self, method: Method[Any], scaling: Scaling | Counts | None) -> None:
        super().__init__()
        self.method, self.scale = method, _scale(scaling)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.method.encode(x if self.scale is None else self.scale(x)).values())


class Decoder(nn.Module):
    """The blocks of codes -> samples as users have them."""

    def __init__(self, method: Method[Any], scaling: Scaling | Counts | None, blocks: list[str]) -> None:
        super().__init__()
        self.method, self.scale, self.blocks = method, _scale(scaling), blocks

    def forward(self, *codes: Tensor) -> Tensor:
        drawn = self.method.decode(dict(zip(self.blocks, codes, strict=True)))
        assert drawn is not None
        return drawn if self.scale is None else self.scale.undo(drawn)


class Scale(nn.Module):
    """`Scaling` in torch; in float64 within, as features may lie far from 0."""

    mean: Tensor
    spread: Tensor
    divisor: Tensor

    def __init__(self, scaling: Scaling) -> None:
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(scaling.mean))
        self.register_buffer("spread", torch.from_numpy(scaling.spread))
        self.register_buffer("divisor", torch.from_numpy(np.where(scaling.spread > 0, scaling.spread, np.inf)))

    def forward(self, features: Tensor) -> Tensor:
        scaled = ((features.double() - self.mean) / self.divisor).clamp(-REACH, REACH)
        return (0.5 + scaled / (2 * REACH)).float()[:, None, None]

    def undo(self, x: Tensor) -> Tensor:
        return (self.mean + self.spread * (2 * REACH) * (x.flatten(1).double() - 0.5)).float()


class Logarithm(nn.Module):
    """`Counts` in torch."""

    def forward(self, features: Tensor) -> Tensor:
        return features.log1p()[:, None, None]

    def undo(self, x: Tensor) -> Tensor:
        return x.flatten(1).expm1()


def _scale(scaling: Scaling | Counts | None) -> Scale | Logarithm | None:
    if scaling is None:
        return None
    return Logarithm() if isinstance(scaling, Counts) else Scale(scaling)


def export(model: Model, folder: str | Path, kind: str, *, overwrite: bool = False) -> dict[str, Path]:
    """Writes the encoder and, where there is one, the decoder; gives the file of each.

    Args:
        folder: is made if it does not exist
        kind: onnx or torch
        overwrite: the files may exist
    """
    if kind not in ENDINGS:
        raise unknown("kind of file", kind, ENDINGS)
    if kind == "onnx":
        _require_onnx()
    samples, codes = examples(model)
    parts: dict[str, tuple[nn.Module, dict[str, Tensor], list[str]]] = {
        "encoder": (Encoder(model.method, model.scaling), samples, list(codes))
    }
    if model.method.has_decoder:
        parts["decoder"] = (Decoder(model.method, model.scaling, list(codes)), codes, list(samples))
    files = {part: Path(folder) / f"{part}{ENDINGS[kind]}" for part in parts}
    for file in files.values():
        if file.exists() and not overwrite:
            raise UserError(f"{file} exists already: name another folder, or say --overwrite")
    written = {}
    for part, (given, inputs, outputs) in parts.items():
        network = deepcopy(given).cpu().eval()
        program = traced(network, inputs, part)
        written[part] = _as_onnx(program, inputs, outputs) if kind == "onnx" else _as_torch(program)
        few = {name: value[:TRIED] for name, value in inputs.items()}
        found = run_onnx(written[part], few) if kind == "onnx" else run_torch(written[part], few)
        compare(network, few, found, f"the {part}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for part, file in files.items():
        write(file, written[part])
    return files


def examples(model: Model) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Samples and codes to try the networks with, by the names of inputs and outputs."""
    drawn = torch.Generator().manual_seed(0)
    if model.scaling is None:
        samples = {"images": torch.rand(TRACED, *model.shape, generator=drawn)}
    elif isinstance(model.scaling, Counts):
        rates = torch.full((TRACED, model.shape[2]), model.scaling.library / model.shape[2])
        samples = {"features": torch.poisson(rates, generator=drawn)}
    else:
        noise = torch.randn(TRACED, model.shape[2], generator=drawn, dtype=torch.float64).numpy()
        samples = {"features": torch.from_numpy(model.scaling.mean + model.scaling.spread * noise).float()}
    codes = {block: torch.randn(TRACED, width, generator=drawn) for block, width in model.blocks.items()}
    return samples, codes


def traced(network: nn.Module, inputs: dict[str, Tensor], what: str) -> torch.export.ExportedProgram:
    """The network as a program for batches of any size."""
    batch = torch.export.Dim("batch")
    given = tuple(inputs.values())
    shapes: Any = [{0: batch} for _ in given]
    try:
        with _quiet(), torch.no_grad():
            return torch.export.export(
                network, given, dynamic_shapes=(tuple(shapes),) if isinstance(network, Decoder) else tuple(shapes)
            )
    except Exception as error:  # what a network does may be anything, and so is what torch says of it
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise UserError(f"the {what} cannot be exported: torch.export fails with '{reason}'") from error


def run_onnx(data: bytes, inputs: dict[str, Tensor]) -> list[NDArray[Any]]:
    """What onnxruntime makes of some inputs."""
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return list(session.run(None, {name: value.numpy() for name, value in inputs.items()}))


def run_torch(data: bytes, inputs: dict[str, Tensor]) -> list[NDArray[Any]]:
    """What a program that was read again makes of some inputs."""
    found = torch.export.load(io.BytesIO(data)).module()(*inputs.values())
    return [part.detach().numpy() for part in (found if isinstance(found, tuple) else (found,))]


def compare(network: nn.Module, inputs: dict[str, Tensor], found: list[NDArray[Any]], what: str) -> None:
    """Refuses outputs that differ from those of the network."""
    with torch.no_grad():
        wanted = network(*inputs.values())
    for ours, theirs in zip(wanted if isinstance(wanted, tuple) else (wanted,), found, strict=True):
        array = ours.numpy()
        if theirs.shape != array.shape or not np.allclose(theirs, array, rtol=TOLERANCE, atol=TOLERANCE):
            raise UserError(f"{what} gives other numbers once it is exported: nothing was written")


def _as_onnx(program: torch.export.ExportedProgram, inputs: dict[str, Tensor], outputs: list[str]) -> bytes:
    with _quiet():
        onnx = torch.onnx.export(
            program, input_names=list(inputs), output_names=outputs, dynamo=True, verbose=False, optimize=True
        )
    assert onnx is not None
    model = onnx.model_proto
    batch = model.graph.input[0].type.tensor_type.shape.dim[0].dim_param  # a number that torch made up
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == batch:
                dim.dim_param = "batch"
    data: bytes = model.SerializeToString()
    return data


def _as_torch(program: torch.export.ExportedProgram) -> bytes:
    buffer = io.BytesIO()
    with _quiet():
        torch.export.save(program, buffer)
    return buffer.getvalue()


def _require_onnx() -> None:
    for name in ("onnx", "onnxruntime", "onnxscript"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise UserError(f"{name} is not installed: pip install 'unbraid[onnx]'") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Exporters warn of what is not ours to change."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
