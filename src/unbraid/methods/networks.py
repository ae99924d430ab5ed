"""Networks of a user's own in place of a method's encoder or decoder.

A network is given as a factory of shape and size, `Net(shape, outputs)` for an encoder and `Net(shape, inputs)` for a
decoder, where shape is (channels, height, width): a class, a function, a `functools.partial` with keyword arguments, or
the place of one, 'file.py:Net' or 'package.module:Net(hidden=32)'. It is written down as that place with its arguments.
A module that exists already is taken as it is, but must be given again when the run is loaded.

An encoder gives [b, outputs], a decoder logits [b, c, h, w].
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from unbraid.catalogue import OBJECT, absolute, load_object, place_of, split_place
from unbraid.errors import UserError
from unbraid.methods.contract import Method
from unbraid.nets.autoencoders import Decoder

NAMES = {"encoder": ("encoder", "trunk"), "decoder": ("decoder",)}  # what methods call such a network


def replace_networks(method: Method[Any], *, encoder: Any = None, decoder: Any = None) -> None:
    """Puts networks of a user's own in place of a method's, and their descriptions into its arguments."""
    for role, given in (("encoder", encoder), ("decoder", decoder)):
        if given is not None:
            _replace(method, role, given)
            method.arguments[role] = describe(given)


def describe(given: Any) -> str:
    """What a run keeps of a network: its place and its arguments."""
    if isinstance(given, str):
        return absolute(given)
    if isinstance(given, nn.Module):
        return OBJECT + place_of(type(given))
    if isinstance(given, partial):
        if given.args:
            raise UserError("a network's factory has keyword arguments only: partial(Net, hidden=32)")
        return _with_arguments(place_of(given.func), given.keywords)
    return place_of(given)


def _with_arguments(place: str, arguments: dict[str, Any]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    try:
        if _arguments(f"{place}({text})") == arguments:
            return f"{place}({text})"
    except UserError:
        pass
    raise UserError(f"the arguments of {place} cannot be written down: give numbers, text, lists or tuples of them")


def _replace(method: Method[Any], role: str, given: Any) -> None:
    shape, owner = method.spec.shape, type(method).__module__.rpartition(".")[2]
    name = next((name for name in NAMES[role] if isinstance(getattr(method, name, None), nn.Module)), None)
    if name is None:
        raise UserError(f"{owner} has no {role} that could be replaced")
    old: nn.Module = getattr(method, name)
    if role == "encoder":
        x = torch.zeros(2, *shape)
        wanted: tuple[int, ...] = tuple(_given(old, x).shape)
    else:
        first = next((layer for layer in old.modules() if isinstance(layer, nn.Linear)), None)
        inputs = first.in_features if first is not None else sum(method.blocks.values())
        x, wanted = torch.zeros(2, inputs), (2, *shape)
    new = _made(given, shape, wanted[1] if role == "encoder" else x.shape[1], role)
    _check(new, x, wanted, describe(given), f"the {role} of {owner}")
    if isinstance(old, Decoder):
        old.net = new
    else:
        setattr(method, name, new)


def _made(given: Any, shape: tuple[int, int, int], size: int, role: str) -> nn.Module:
    if isinstance(given, nn.Module):
        return copy.deepcopy(given)  # training must not change what was given
    factory, text = _factory(given), describe(given)
    try:
        found = factory(shape, size)
    except TypeError as error:
        count = "outputs" if role == "encoder" else "inputs"
        raise UserError(
            f"{text} cannot be made: {error}; a factory takes the shape of an image and the number of "
            f"{count}, as in Net(shape, {count})"
        ) from error
    if not isinstance(found, nn.Module):
        raise UserError(f"{text} gives {type(found).__name__}, and a network is a torch.nn.Module")
    return found


def _factory(given: Any) -> Callable[..., Any]:
    if not isinstance(given, str):
        return given  # type: ignore[no-any-return]
    if given.startswith(OBJECT):
        raise UserError(f"{given.removeprefix(OBJECT)} was given as a module, not as a factory: give that module again")
    return partial(load_object(given), **_arguments(given))


def _arguments(place: str) -> dict[str, Any]:
    """The keyword arguments that stand behind a place; literals only, nothing is executed."""
    written = split_place(place)[2]
    if not written:
        return {}
    try:
        call = ast.parse(f"f{written}", mode="eval").body
        assert isinstance(call, ast.Call) and not call.args
        return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, AssertionError) as error:
        raise UserError(f"'{place}' is not understood: write file.py:Net or file.py:Net(hidden=32)") from error


def _check(net: nn.Module, x: Tensor, wanted: tuple[int, ...], text: str, role: str) -> None:
    """Refuses a network that does not give what the method needs, before anything is trained."""
    shown = list(x.shape[1:])
    try:
        found = _given(net, x)
    except Exception as error:  # it is the user's code: anything may be raised
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"{text} fails as {role} on an input of shape {shown}: {reason}") from error
    if not isinstance(found, Tensor) or tuple(found.shape) != wanted or not found.is_floating_point():
        gives = list(found.shape[1:]) if isinstance(found, Tensor) else type(found).__name__
        raise UserError(f"{text} gives {gives} for each sample, and {role} must give {list(wanted[1:])}")


@torch.no_grad()
def _given(net: nn.Module, x: Tensor) -> Tensor:
    """What a network gives, without a change of its state."""
    training = net.training
    net.eval()
    found: Tensor = net(x.to(next((p.device for p in net.parameters()), torch.device("cpu"))))
    net.train(training)
    return found
