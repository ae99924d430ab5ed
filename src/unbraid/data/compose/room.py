"""The room of 3D Shapes, ray-traced: 8 sizes of 4 bodies seen from 15 sides make 480 geometries.

Camera, room and light were fitted to the published frames. A geometry is five maps by which the colours of floor,
wall and body, the sky's colour and white are multiplied and then added up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Triple = tuple[Floats, Floats, Floats]  # x right, y into the image at the middle orientation, z up

SCALES = np.linspace(0.75, 1.25, 8)
ANGLES = np.deg2rad(np.linspace(-30, 30, 15))
FIELD, DISTANCE, HEIGHT, PITCH = np.deg2rad(50), 2.506, 0.7555, 0.0145  # camera; it looks down by PITCH
ROOM, WALL = 3.5, 2.0  # half the width of the square room, height of its walls
LIGHT = (-1.49, 0.445, 7.46)  # a spot that points straight down
AMBIENT, HEAD, SPOT, FOCUS, SHEEN = 0.351, 0.583, 0.94, 10, 0.153
# radius (half an edge) and half the height of the straight part, at scale 1
CUBE, CYLINDER, BALL, CAPSULE = (0.3535, 0.3535), (0.3545, 0.3542), (0.4265, 0.0), (0.3265, 0.3241)
FLOOR_MAP, WALL_MAP, BODY_MAP, SKY_MAP, WHITE_MAP = range(5)


def geometries(size: int) -> Floats:
    """The maps of every scale, shape and orientation, [8, 4, 15, 5, size, size]."""
    fine = max(3, -(-192 // size))  # rays along a pixel's side
    maps = np.empty((8, 4, 15, 5, size, size), np.float32)
    for side, angle in enumerate(ANGLES):
        eye, rays, ahead = _camera(float(angle), size * fine)
        room = _Room(eye, rays, ahead)
        for scale, factor in enumerate(SCALES):
            for shape in range(4):
                traced = room.around(shape, float(factor)).reshape(5, size, fine, size, fine)
                maps[scale, shape, side] = traced.mean((2, 4))
    return maps


def _camera(angle: float, points: int) -> tuple[Triple, Triple, tuple[float, float, float]]:
    """The eye, one ray for each point of the image (its length along the view is 1), and the line of sight."""
    half = np.tan(FIELD / 2)
    across = ((np.arange(points) + 0.5) / points * 2 - 1) * half
    right, down = (axis.ravel() for axis in np.meshgrid(across, across))
    forward, up = np.cos(PITCH) - down * np.sin(PITCH), -np.sin(PITCH) - down * np.cos(PITCH)
    sin, cos = np.sin(angle), np.cos(angle)
    rays = _single(cos * right - sin * forward, sin * right + cos * forward, up)
    ahead = (-sin * np.cos(PITCH), cos * np.cos(PITCH), -np.sin(PITCH))
    return _single(DISTANCE * sin, -DISTANCE * cos, HEIGHT), rays, ahead


class _Room:
    """What the camera sees from one side; the empty room is traced once for all bodies."""

    def __init__(self, eye: Triple, rays: Triple, ahead: tuple[float, float, float]) -> None:
        self.eye, self.rays, self.ahead = eye, rays, ahead
        with np.errstate(divide="ignore"):
            floor = np.where(rays[2] < 0, -eye[2] / rays[2], np.inf)
            aside = (np.copysign(np.float32(ROOM), rays[0]) - eye[0]) / rays[0]
            behind = np.where(rays[1] > 0, (ROOM - eye[1]) / rays[1], np.inf)
        self.depth = np.minimum(np.minimum(floor, aside), behind)
        point = _along(eye, rays, self.depth)
        on_floor, zero = floor == self.depth, np.zeros_like(floor)
        on_side = ~on_floor & (aside == self.depth)
        normal = (np.where(on_side, -np.sign(rays[0]), zero), np.where(on_floor | on_side, zero, -1), 1.0 * on_floor)
        steady, spot, _ = self.light(point, _single(*normal))
        sky = ~on_floor & (point[2] > WALL)
        self.empty = np.stack([
            np.where(on_floor, steady + spot, 0), np.where(on_floor | sky, 0, steady + spot), zero, sky, zero,
        ]).astype(np.float32)  # fmt: skip
        reach = np.isfinite(_ball(eye, rays, 0.75, 1.15))
        self.near = np.flatnonzero(reach)  # only these rays can hit a body
        self.shaded = np.flatnonzero(on_floor & (np.hypot(point[0], point[1]) < 2))  # its shadow falls only here
        self.ground = _at(point, self.shaded)
        self.spot = spot[self.shaded]

    def around(self, shape: int, scale: float) -> Floats:
        """The five maps of the room with a body, [5, rays]."""
        maps = self.empty.copy()
        to_light = _single(*(place - here for place, here in zip(LIGHT, self.ground, strict=True)))
        dark = _hit(shape, scale, self.ground, to_light)[0] < 1
        maps[FLOOR_MAP, self.shaded[dark]] -= self.spot[dark]
        rays = _at(self.rays, self.near)
        depth, normal = _hit(shape, scale, self.eye, rays)
        seen = np.flatnonzero(depth < self.depth[self.near])
        steady, spot, sheen = self.light(_along(self.eye, _at(rays, seen), depth[seen]), _at(normal, seen))
        pixels = self.near[seen]
        maps[:, pixels] = 0
        maps[BODY_MAP, pixels], maps[WHITE_MAP, pixels] = steady + spot, sheen
        return maps

    def light(self, point: Triple, normal: Triple) -> Triple:
        """At points of a surface: the light that casts no shadow, the spot's light, and its white sheen."""
        away = [place - here for place, here in zip(LIGHT, point, strict=True)]
        length = np.sqrt(sum(a * a for a in away))
        facing = sum(n * a for n, a in zip(normal, away, strict=True)) / length
        cone = np.maximum(away[2] / length, 0) ** FOCUS
        head = -sum(n * a for n, a in zip(normal, self.ahead, strict=True))
        return _single(
            AMBIENT + HEAD * np.maximum(head, 0), SPOT * np.maximum(facing, 0) * cone, SHEEN * cone * (facing > 0)
        )


def _hit(shape: int, scale: float, start: Triple, rays: Triple) -> tuple[Floats, Triple]:
    """How far along each ray the body begins (infinity: never) and its normal there; the body stands on the floor."""
    radius, half = (scale * length for length in (CUBE, CYLINDER, BALL, CAPSULE)[shape])
    if shape == 0:
        return _box(start, rays, radius, 2 * half)
    low, high = (0.0, 2 * half) if shape == 1 else (radius, radius + 2 * half)
    depth = _tube(start, rays, radius, low, high) if half else np.full(rays[0].shape, np.inf, np.float32)
    if shape == 1:
        depth = np.minimum(depth, _lid(start, rays, radius, high))
    else:
        for centre in (low, high):
            depth = np.minimum(depth, _ball(start, rays, centre, radius))
    x, y, z = _along(start, rays, np.where(np.isfinite(depth), depth, 0))
    if shape == 1:
        lid = z > high - 1e-4
        return depth, _single(np.where(lid, 0, x / radius), np.where(lid, 0, y / radius), 1.0 * lid)
    return depth, _single(x / radius, y / radius, (z - np.clip(z, low, high)) / radius)


def _box(start: Triple, rays: Triple, radius: float, height: float) -> tuple[Floats, Triple]:
    low, high = (-radius, -radius, 0.0), (radius, radius, height)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = [((a - s) / v, (b - s) / v) for a, b, s, v in zip(low, high, start, rays, strict=True)]
    enter = np.stack([np.minimum(a, b) for a, b in ends])
    leave = np.minimum.reduce([np.maximum(a, b) for a, b in ends])
    face, first = enter.argmax(0), enter.max(0)
    depth = np.where((first < leave) & (first > 1e-6), first, np.inf).astype(np.float32)
    return depth, _single(*(np.where(face == axis, -np.sign(rays[axis]), 0) for axis in range(3)))


def _ball(start: Triple, rays: Triple, centre: float, radius: float) -> Floats:
    x, y, z = start[0], start[1], start[2] - np.float32(centre)
    square = rays[0] ** 2 + rays[1] ** 2 + rays[2] ** 2
    return _root(square, x * rays[0] + y * rays[1] + z * rays[2], x * x + y * y + z * z - np.float32(radius**2))


def _tube(start: Triple, rays: Triple, radius: float, low: float, high: float) -> Floats:
    x, y, z = start
    depth = _root(rays[0] ** 2 + rays[1] ** 2, x * rays[0] + y * rays[1], x * x + y * y - np.float32(radius**2))
    level = z + np.where(np.isfinite(depth), depth, 0) * rays[2]
    return np.where((low <= level) & (level <= high), depth, np.inf)


def _lid(start: Triple, rays: Triple, radius: float, level: float) -> Floats:
    with np.errstate(divide="ignore"):
        depth = (level - start[2]) / rays[2]
    x, y, _ = _along(start, rays, np.where(np.isfinite(depth), depth, 0))
    return np.where((depth > 1e-6) & (x * x + y * y <= radius**2), depth, np.inf)


def _root(a: Floats, b: Floats, c: Floats) -> Floats:
    """The smaller solution of a t^2 + 2 b t + c = 0 where it is positive, else infinity."""
    inner = b * b - a * c
    root = (-b - np.sqrt(np.maximum(inner, 0))) / a
    return np.where((inner > 0) & (root > 1e-6), root, np.inf).astype(np.float32)


def _along(start: Triple, rays: Triple, depth: Floats) -> Triple:
    return _single(*(s + depth * v for s, v in zip(start, rays, strict=True)))


def _at(triple: Triple, chosen: NDArray[np.int64]) -> Triple:
    return _single(*(axis[chosen] for axis in triple))


def _single(*axes: object) -> Triple:
    x, y, z = (np.asarray(axis, np.float32) for axis in axes)
    return x, y, z
