"""A network as a list of layers and their weights, for the page.

What torch computes is traced, whichever modules compute it, so that networks of a user's own work as long as they
consist of layers that the page knows (static/layers.js).
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx

Bits = Literal[16, 32]
Layer = dict[str, Any]
Traced = Any  # a node of a graph, whose arguments may be anything
LARGEST = 10_000_000  # weights of a network that a page carries
LARGEST_INTEGER = 2**15 - 1  # of 16 bits
SAME = {"view", "_unsafe_view", "reshape", "clone", "detach", "unsqueeze", "squeeze", "squeeze_", "alias", "contiguous"}
POINTWISE = {"relu", "sigmoid", "tanh"}
USUAL: list[Any] = [0, None, None, 1]  # dimension, start, stop and step of a slice
SHAPED = {"linear", "conv", "conv_transpose", "mean"}
PAIRS = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}


class UnknownLayer(Exception):
    """A network has a layer that the page cannot run; the message names it."""


@dataclass
class Network:
    """Layers in the order in which they are computed; value 0 is the input, value i the output of layer i - 1."""

    layers: list[Layer] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    output: int = 0

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(weight.numel() for weight in self.weights)

    def add(self, kind: str, inputs: list[int], **details: Any) -> int:
        """Adds a layer and gives the place of its output; tensors among the details become weights."""
        known: Layer = {"kind": kind, "inputs": inputs}
        for name, value in details.items():
            if isinstance(value, Tensor):
                known[name] = [self.size, value.numel()]
                self.weights.append(value)
            elif value is not None:
                known[name] = value
        self.layers.append(known)
        return len(self.layers)

    def packed(self, bits: Bits) -> dict[str, Any]:
        """As it stands in the page."""
        weights = [weight.detach().cpu().numpy() for weight in self.weights]
        return {"layers": self.layers, "output": self.output, "weights": pack(weights, bits)}


def pack(arrays: Sequence[NDArray[Any]], bits: Bits) -> dict[str, Any]:
    """Arrays, one after the other, as text.

    With 16 bits, the numbers of a row (along the first axis) are whole multiples of a number of their own, which is a
    fifth of the rounding error of float16; the numbers of a vector are kept with all of their bits.
    """
    rows = [np.asarray(array, np.float32).reshape(len(array), -1) for array in arrays]
    if bits == 32:
        return {"data": _text(np.concatenate([part.ravel() for part in rows]) if rows else np.zeros(0), "<f4")}
    scales = [np.abs(part).max(1) / LARGEST_INTEGER for part in rows]
    wholes = [part / np.where(scale > 0, scale, 1)[:, None] for part, scale in zip(rows, scales, strict=True)]
    return {
        "data": _text(np.concatenate([part.ravel() for part in wholes]).round() if rows else np.zeros(0), "<i2"),
        "scales": _text(np.concatenate(scales) if rows else np.zeros(0), "<f4"),
        "shapes": [part.shape for part in rows],
    }


def _text(numbers: NDArray[Any], kind: str) -> str:
    return base64.b64encode(numbers.astype(kind).tobytes()).decode()


@torch.no_grad()
def read_network(function: Callable[[Tensor], Tensor], example: Tensor) -> Network:
    """What the function computes of one sample, given an example [1, ...], as layers.

    Raises:
        UnknownLayer: where it does something that the page cannot do
    """
    try:
        graph = make_fx(lambda x: function(x))(example).graph  # a bound method alone cannot be traced
    except Exception as error:  # control flow that depends on values, or an operation that cannot be traced
        raise UnknownLayer(f"it cannot be traced ({type(error).__name__})") from error
    network = _Reader(graph, example).read()
    if network.size > LARGEST:
        raise UnknownLayer(f"it has {network.size:,} weights, and a page carries {LARGEST:,} at most")
    return network


class _Reader:
    """Walks through a traced graph; what does not depend on the input is computed at once."""

    def __init__(self, graph: fx.Graph, example: Tensor) -> None:
        self.graph, self.example, self.network = graph, example, Network()
        self.values: dict[fx.Node, Any] = {}  # of each node, for the example
        self.places: dict[fx.Node, int] = {}  # of nodes that depend on the input
        self.parts: dict[fx.Node, list[tuple[int, int]]] = {}  # of nodes that cut their input: where each part lies

    def read(self) -> Network:
        output = next(node for node in self.graph.nodes if node.op == "output").args[0]
        needed = _needed(output)
        for node in self.graph.nodes:
            if node.op == "placeholder":
                self.values[node], self.places[node] = self.example, 0
            elif node.op == "get_attr":
                self.values[node] = getattr(self.graph.owning_module, node.target)
            elif node.op == "call_function" and node in needed:
                self._call(node)
        if output not in self.places:
            raise UnknownLayer("its output does not depend on its input")
        self.network.output = self.places[output]
        return self.network

    def _call(self, node: Traced) -> None:
        arguments, options = fx.map_arg((node.args, node.kwargs), lambda other: self.values[other])
        self.values[node] = node.target(*arguments, **options)
        name = getattr(node.target, "__name__", str(node.target)).partition(".")[0]
        name = name.replace("_native_batch_norm_legit_no_training", "native_batch_norm")  # as older torch traces it
        of_shape_alone = name.startswith(("new_", "zeros_like", "ones_like"))
        if of_shape_alone or not any(other in self.places for other in node.all_input_nodes):
            return
        step = getattr(self, f"_{name}", None)
        if name in SAME:
            self.places[node] = self._place(node.args[0])
        elif name in POINTWISE:
            self._add(node, name)
        elif name in PAIRS:
            self._pair(node, PAIRS[name])
        elif name == "avg_pool2d" and list(node.args[1]) == list(self.values[node.args[0]].shape[2:]):
            self._add(node, "mean")
        elif step is not None:
            step(node)
        else:
            raise UnknownLayer(f"it has the layer '{name}'")

    def _place(self, node: Any) -> int:
        if node not in self.places:  # a constant beside values that depend on the input
            self.places[node] = self.network.add("constant", [], constant=self.values[node])
        return self.places[node]

    def _add(self, node: Traced, kind: str, **details: Any) -> None:
        source = node.args[0] if kind != "linear" else details.pop("source")
        shapes = {"from": _shape(self.values[source]), "to": _shape(self.values[node])} if kind in SHAPED else {}
        self.places[node] = self.network.add(kind, [self._place(source)], **shapes, **details)

    def _constant(self, node: Any) -> Any:
        if node in self.places:
            raise UnknownLayer("it has weights that depend on the input")
        return self.values[node] if isinstance(node, fx.Node) else node

    def _getitem(self, node: Traced) -> None:
        source, index = node.args
        if source in self.parts:
            start, stop = self.parts[source][index]
            self.places[node] = self.network.add("slice", [self.places[source]], start=start, stop=stop)
        elif index == 0:  # normalisations also give their statistics
            self.places[node] = self.places[source]
        else:
            raise UnknownLayer("it uses statistics of a normalisation")

    def _addmm(self, node: Traced) -> None:
        bias, x, weight = node.args
        if node.kwargs:
            raise UnknownLayer("it has a scaled linear layer")
        self._add(node, "linear", source=x, weight=self._constant(weight).T, bias=self._constant(bias))

    def _mm(self, node: Traced) -> None:
        self._add(node, "linear", source=node.args[0], weight=self._constant(node.args[1]).T)

    def _convolution(self, node: Traced) -> None:
        _, weight, bias, stride, padding, dilation, is_transposed, _, groups = node.args
        weight, bias = self._constant(weight), self._constant(bias)
        if groups != 1 or any(d != 1 for d in dilation) or weight.ndim != 4:
            raise UnknownLayer("it has a convolution with groups, dilation or other than two dimensions")
        kind = "conv_transpose" if is_transposed else "conv"
        places = {"stride": list(stride), "padding": list(padding), "kernel": list(weight.shape[2:])}
        self._add(node, kind, weight=weight, bias=bias, **places)

    def _native_group_norm(self, node: Traced) -> None:
        _, weight, bias, _, channels, _, groups, eps = node.args
        weight, bias = self._constant(weight), self._constant(bias)
        weight = torch.ones(channels) if weight is None else weight
        bias = torch.zeros(channels) if bias is None else bias
        self._add(node, "group_norm", weight=weight, bias=bias, groups=groups, eps=eps)

    def _native_batch_norm(self, node: Traced) -> None:
        _, weight, bias, mean, variance, *training, _, eps = node.args
        if any(training):
            raise UnknownLayer("it normalises over the batch")
        weight, bias, mean, variance = (self._constant(part) for part in (weight, bias, mean, variance))
        scale = (variance + eps).rsqrt() * (1 if weight is None else weight)
        self._add(node, "affine", weight=scale, bias=(0 if bias is None else bias) - mean * scale)

    def _leaky_relu(self, node: Traced) -> None:
        self._add(node, "leaky_relu", slope=node.args[1] if len(node.args) > 1 else 0.01)

    def _mean(self, node: Traced) -> None:
        shape = self.values[node.args[0]].shape
        if len(shape) != 4 or sorted(d % 4 for d in node.args[1]) != [2, 3]:
            raise UnknownLayer("it has a mean over other than the pixels")
        self._add(node, "mean")

    def _as_strided_(self, node: Traced) -> None:
        """The average pool ends with it, and only changes how the memory is described."""
        if self.values[node].shape[1] != math.prod(self.values[node].shape):
            raise UnknownLayer("it has the layer 'as_strided'")
        self.places[node] = self._place(node.args[0])

    def _pair(self, node: Traced, kind: str) -> None:
        if node.kwargs:
            raise UnknownLayer("it has a scaled sum")
        shape, (first, second) = self.values[node].shape, node.args
        places, constant = [], None
        for other in (first, second):
            if isinstance(other, fx.Node) and other in self.places:
                if self.values[other].shape != shape:
                    raise UnknownLayer("it combines values of several shapes")
                places.append(self.places[other])
            else:
                constant = torch.as_tensor(self._constant(other), dtype=torch.float32).expand(shape)
        if constant is not None and first not in self.places:
            places.insert(0, self.network.add("constant", [], constant=constant))
            constant = None
        self.places[node] = self.network.add(kind, places, constant=constant)

    def _split(self, node: Traced) -> None:
        source, size, *rest = node.args
        total = self._flat(source, rest[0] if rest else node.kwargs.get("dim", 0))
        edges = [*range(0, total, size), total]
        self._cut(node, edges)

    def _split_with_sizes(self, node: Traced) -> None:
        source, sizes, *rest = node.args
        self._flat(source, rest[0] if rest else node.kwargs.get("dim", 0))
        self._cut(node, [0, *np.cumsum(sizes).tolist()])

    def _cut(self, node: Traced, edges: list[int]) -> None:
        self.places[node] = self._place(node.args[0])
        self.parts[node] = list(pairwise(edges))

    def _slice(self, node: Traced) -> None:
        source, given = node.args[0], list(node.args[1:])
        dim, start, stop, step = given + USUAL[len(given) :]
        if step != 1:
            raise UnknownLayer("it takes every other value")
        if self.values[node].shape == self.values[source].shape:
            self.places[node] = self._place(source)
            return
        first, last, _ = slice(start, stop).indices(self._flat(source, dim))
        self.places[node] = self.network.add("slice", [self._place(source)], start=first, stop=last)

    def _flat(self, source: Any, dim: int) -> int:
        """The number of values of a vector that is cut along its only dimension."""
        shape = self.values[source].shape
        if math.prod(shape) != shape[dim]:
            raise UnknownLayer("it cuts other than vectors")
        return int(shape[dim])

    def _cat(self, node: Traced) -> None:
        parts, *rest = node.args
        dim = (rest[0] if rest else 0) % self.values[node].ndim
        if math.prod(self.values[node].shape[:dim]) != 1:
            raise UnknownLayer("it joins values along an inner dimension")
        shape = _shape(self.values[node])
        self.places[node] = self.network.add("concatenate", [self._place(part) for part in parts], to=shape)


def _shape(value: Tensor) -> list[int]:
    """Without the batch."""
    return list(value.shape[1:])


def _needed(output: fx.Node) -> set[fx.Node]:
    """The nodes that a node depends on."""
    found: set[fx.Node] = set()
    waiting = [output]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found
