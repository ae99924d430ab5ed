"""Damaged copies of a file: flipped bits, cuts, splices, and numbers that lie; of JSON also values of other kinds."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import numpy as np

LIES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1)
WORDS = ("1e999", "-1", "NaN", "9" * 400, "null", "[]", "{}", '""', "0", "1e300", "[" * 3000, '"../../x"', "true")
VALUES: tuple[Any, ...] = (None, -1, 0, 1.5, 10**30, 1e308, float("nan"), "", "x" * 300, "../x", [], {}, [[]], True)


def mutated(seed: bytes, rng: np.random.Generator, kind: str) -> tuple[str, bytes]:
    """A damaged copy and what was done.

    Args:
        kind: binary, text, json, or arrays: an npz file that is whole and whose arrays do not fit together
    """
    if kind == "arrays":
        return "array", _array(seed, rng)
    ways = [_flip, _cut, _splice, _lie] if kind == "binary" else [_flip, _cut, _splice, _word]
    if kind == "json":
        ways += [_value, _value, _value]
    way = ways[rng.integers(len(ways))]
    return way.__name__.removeprefix("_"), way(seed, rng)


def _flip(seed: bytes, rng: np.random.Generator) -> bytes:
    out = bytearray(seed)
    for place in rng.integers(0, 8 * len(out), rng.integers(1, 9)):
        out[place // 8] ^= 1 << (place % 8)
    return bytes(out)


def _cut(seed: bytes, rng: np.random.Generator) -> bytes:
    return seed[: rng.integers(len(seed))]


def _splice(seed: bytes, rng: np.random.Generator) -> bytes:
    """A part is left out, doubled, or written over another part."""
    a, b, c = np.sort(rng.integers(0, len(seed) + 1, 3))
    how = rng.integers(3)
    if how == 0:
        return seed[:a] + seed[b:]
    return seed[:b] + seed[a:b] + seed[b:] if how == 1 else seed[:b] + seed[a : a + c - b] + seed[c:]


def _lie(seed: bytes, rng: np.random.Generator) -> bytes:
    """A number of 1, 2, 4 or 8 bytes, more often near either end, where headers are."""
    out = bytearray(seed)
    size = int(rng.choice([1, 2, 4, 8]))
    reach = len(seed) if rng.integers(2) else min(200, len(seed))
    place = int(rng.integers(max(1, reach - size)))
    place = place if rng.integers(2) else max(0, len(seed) - size - place)
    value = LIES[rng.integers(len(LIES))] & (256**size - 1)
    out[place : place + size] = struct.pack("<Q", value)[:size] if rng.integers(2) else value.to_bytes(size, "big")
    return bytes(out)


def _word(seed: bytes, rng: np.random.Generator) -> bytes:
    a, b = np.sort(rng.integers(0, len(seed) + 1, 2))
    return seed[:a] + WORDS[rng.integers(len(WORDS))].encode() + seed[min(b, a + 20) :]


def _value(seed: bytes, rng: np.random.Generator) -> bytes:
    """Somewhere in the tree another value, a missing one, or one more."""
    tree = json.loads(seed)
    node: Any = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            break
        key = keys[rng.integers(len(keys))]
        if isinstance(node[key], dict | list) and node[key] and rng.integers(4):
            node = node[key]
            continue
        if isinstance(node, dict) and not rng.integers(5):
            del node[key]
        else:
            node[key] = VALUES[rng.integers(len(VALUES))]
        break
    return json.dumps(tree).encode()


def _array(seed: bytes, rng: np.random.Generator) -> bytes:
    """Another shape, kind or content of one or two of the arrays."""
    arrays = dict(np.load(io.BytesIO(seed)))
    for _ in range(rng.integers(1, 3)):
        name = list(arrays)[rng.integers(len(arrays))]
        array = arrays.pop(name)
        how = rng.integers(9)
        if how < 8:
            arrays[name] = _other(array, int(how), rng)
        elif rng.integers(2):
            arrays[f"codes_{name}"] = array
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _other(array: Any, how: int, rng: np.random.Generator) -> Any:
    if how == 0:
        return array[: rng.integers(len(array) + 1)] if array.ndim else array[None]
    if how == 1:
        return array.reshape(-1)
    if how == 2:
        return array.T
    if how == 3:
        return array[None]
    if how == 4:
        return array.astype(str)
    if how == 5:
        return array.astype(complex) if array.dtype.kind in "iufb" else np.zeros(array.shape)
    if how == 6:
        return np.zeros((0, *array.shape[1:]), array.dtype)
    return np.full(array.shape, [np.nan, np.inf, -1, 1e300][rng.integers(4)])
