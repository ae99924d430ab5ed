"""Weights and training state on disk. Nothing is loaded through a pickle that can run code."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.train.history import History
from unbraid.train.run import write

Optimisers = dict[str, torch.optim.Optimizer]


def save_state(path: Path, method: Method[Any], optimisers: Optimisers, history: History, step: int) -> None:
    state = {
        "step": step,
        "weights": method.state_dict(),
        "optimisers": {name: optimiser.state_dict() for name, optimiser in optimisers.items()},
        "rows": history.rows,
        "open": history.open,
    }
    buffer = io.BytesIO()
    torch.save(state, buffer)
    write(path / "state.pt", buffer.getvalue())


def load_state(path: Path, method: Method[Any], optimisers: Optimisers, history: History) -> int:
    """Puts a saved state back, if there is one, and gives the step to go on from."""
    if not (path / "state.pt").exists():
        return 0
    state = _read_state(path)
    _fill(method, state["weights"], path / "state.pt")
    for name, optimiser in optimisers.items():
        optimiser.load_state_dict(state["optimisers"][name])
    device = next(method.parameters()).device  # where the terms of the next steps will be
    history.rows = state["rows"]
    history.open = [(step, {n: value.to(device) for n, value in terms.items()}) for step, terms in state["open"]]
    return int(state["step"])


def save_weights(method: Method[Any], path: Path) -> None:
    # copies, since a network may use one tensor under two names, which safetensors refuses
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in method.state_dict().items()}
    write(path / "weights.safetensors", safetensors.torch.save(tensors))


def load_weights(method: Method[Any], path: Path) -> None:
    """The trained weights of a run, or those of its last checkpoint while it has not finished."""
    file = path / "weights.safetensors"
    if file.exists():
        try:
            weights = safetensors.torch.load_file(file)
        except Exception as error:  # safetensors raises its own kind for a torn file
            raise UserError(
                f"{file} cannot be read ({error}): it is damaged; delete it and 'done' and run the same "
                "command to make it anew from the last checkpoint"
            ) from error
    elif (path / "state.pt").exists():
        file, weights = path / "state.pt", _read_state(path)["weights"]
    else:
        raise UserError(f"{path} has no weights yet: run the same command again to train it")
    _fill(method, weights, file)


def _read_state(path: Path) -> dict[str, Any]:
    file = path / "state.pt"
    try:
        state = torch.load(file, weights_only=True, map_location="cpu")
        if not {"step", "weights", "optimisers", "rows", "open"} <= state.keys():
            raise ValueError("it is not a checkpoint of unbraid")
    except Exception as error:  # torch raises many kinds for torn or foreign files
        reason = str(error).split("\n")[0][:120]
        raise UserError(
            f"{file} cannot be used ({reason}): it is damaged or foreign; nothing in it was executed; "
            "move it away to begin this run anew"
        ) from error
    return dict(state)


def _fill(method: Method[Any], weights: dict[str, torch.Tensor], file: Path) -> None:
    try:
        method.load_state_dict(weights)
    except RuntimeError as error:
        lines = str(error).splitlines()
        reason = lines[1].strip() if len(lines) > 1 else lines[0]
        raise UserError(f"{file} belongs to another architecture: {reason}") from error
