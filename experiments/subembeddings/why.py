"""Why the regularisers do what they do: three statements on unit vectors, each with a proof and a check in seconds.

InfoMin wants the opposite, not independence. R is the mean of z0_i . z1_i / tau - log sum_a exp(z0_i . z1_a / tau),
and the same with the slices exchanged. The sums are over all samples a: which z1 belongs to which z0 does not matter to
them. So for given sets of vectors R depends on how they are paired through the mean of z0_i . z1_i alone, which is
least, -1, if z1 = -z0: then each slice determines the other, and R is lower than for independent slices.

Orthogonality allows copies. x . A x = 0 for every x if and only if A is antisymmetric. An antisymmetric A that is also
orthogonal, such as a quarter turn in each of d / 2 planes, gives z1 = A z0 at a right angle to z0, from which z0 can be
read off: z0 = -A z1. (In odd dimensions there is none: an antisymmetric matrix is singular there.)

A fresh permutation sees no relation between slices. The mean over all P of any function of P a . b is the same for
every order of the coordinates of a. Its square, for unit vectors, has the mean

    E (P a . b)^2 = 1 / d + d / (d - 1) (u - 1 / d) (v - 1 / d),   u = (sum a)^2 / d,  v = (sum b)^2 / d

since the sum of a vector is kept by P and the rest has covariance |a'|^2 / (d - 1) (I - 1 1^T / d). Neither the angle
of a and b nor what one tells of the other occurs; and where a slice has the share u = 1 / d along (1, ..., 1), as
directions without preference have on average, the gradient of the other is zero. It can be obeyed all the same, and
so can do harm: with u = 1 and v = 0, one slice along (1, ..., 1) and the other with sum zero, every product is zero,
and of the first slice a sign is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unbraid.figures.pictures import new_figure
from unbraid.maths.contrast import supcon_of_units
from unbraid.maths.slices import infomin, orthogonality
from unbraid.study.claims import Table

D, TAU = 8, 0.1  # of the slices, and of the losses
CLASSES, EACH, STEPS = 10, 4, 200
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shown:
    cosines: dict[str, list[float]]  # of z0 and z1 while InfoMin is minimised, by what is minimised
    pairings: dict[str, tuple[float, float]]  # R_InfoMin, and R2 of z1 from z0, by how they are paired
    turned: dict[int, tuple[list[float], float, float]]  # by dimension: see the function
    permuted: Floats  # [pairs, 5]: cosine; mean of |P a . b|, of its square, and that by the equation; R_Ortho / 4
    obeyed: float  # mean of |P a . b| for a along (1, ..., 1) and b with sum zero


@cache
def shown() -> Shown:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        cosines = {
            "InfoMax alone": opposed(1.0, 0.0),
            "InfoMax + 0.1 InfoMin": opposed(1.0, 0.1),
            "InfoMin alone": opposed(0.0, 1.0),
        }
        along, across = _units(np.ones(D)), _units(np.arange(D, dtype=float) - (D - 1) / 2)
        obeyed = float(np.abs(over_permutations(along, across)).mean())
        return Shown(cosines, pairings(), {d: turned(d) for d in (D - 1, D)}, permuted(), obeyed)


def opposed(infomax: float, weight: float) -> list[float]:
    """The mean cosine of z0 and z1 at each step, where all vectors are free."""
    y = torch.arange(CLASSES).repeat_interleave(EACH).repeat(2)  # two views of each sample
    z = torch.randn(2, len(y), D, requires_grad=True)  # [k, 2 n, d]
    found: list[float] = []

    def loss() -> Tensor:
        units = F.normalize(z, dim=-1)
        found.append(float((units[0] * units[1]).sum(-1).mean().detach()))
        least = torch.stack([infomin(view, TAU) for view in units.chunk(2, 1)]).mean()
        return infomax * torch.stack([supcon_of_units(one, y, TAU) for one in units]).sum() + weight * least

    _descend(z, loss)
    return found


def pairings(n: int = 256) -> dict[str, tuple[float, float]]:
    """R_InfoMin of directions without preference, and R2, for three ways to pair the same vectors."""
    half = F.normalize(torch.randn(n // 2, D), dim=-1)
    z = torch.cat([half, -half])  # the same set as its opposite
    ways = {"z1 = z0": z, "at random": z[torch.randperm(n)], "z1 = -z0": -z}
    return {name: (float(infomin(torch.stack([z, z1]), TAU)), r_squared(z, z1)) for name, z1 in ways.items()}


def turned(d: int, n: int = 96) -> tuple[list[float], float, float]:
    """R_Ortho by step where z1 = A z0 with a free matrix, InfoMax for z1; how antisymmetric and how orthogonal A is."""
    z0 = F.normalize(torch.randn(n, d), dim=-1)
    matrix = torch.randn(d, d, requires_grad=True)
    found: list[float] = []

    def loss() -> Tensor:
        z1 = F.normalize(z0 @ matrix.T, dim=-1)
        views = torch.stack([z0, z1])
        penalty = orthogonality(views, views)  # both views of a sample are the same, as InfoMax has them at its best
        found.append(float(penalty.detach()) / 4)
        return supcon_of_units(z1.repeat(2, 1), torch.arange(n).repeat(2), TAU) + penalty

    _descend(matrix, loss)
    a = matrix.detach()
    scales = torch.linalg.svdvals(a)
    return found, float((a + a.T).norm() / a.norm()), float(scales[-1] / scales[0])


def permuted(pairs: int = 60) -> Floats:
    """Over all permutations, for pairs of unit vectors at every angle."""
    rng, found = np.random.default_rng(0), []
    for cosine in np.linspace(-1, 1, pairs):
        a, other = _units(rng.normal(size=(2, D)))
        b = cosine * a + (1 - cosine**2) ** 0.5 * _units(other - (other @ a) * a)
        products = over_permutations(a, b)
        plain = orthogonality(*(torch.tensor(np.stack([a, b])[:, None]) for _ in range(2)))
        found.append([cosine, np.abs(products).mean(), (products**2).mean(), equation(a, b), float(plain) / 4])
    return np.array(found)


def over_permutations(a: Floats, b: Floats) -> Floats:
    """P a . b for each permutation of the coordinates, [d!]"""
    return np.asarray(a[np.array(list(permutations(range(len(a)))))] @ b)


def equation(a: Floats, b: Floats) -> float:
    """E (P a . b)^2 over all permutations of the coordinates, of unit vectors."""
    d = len(a)
    u, v = (float(x.sum() ** 2 / d) for x in (a, b))
    return 1 / d + d / (d - 1) * (u - 1 / d) * (v - 1 / d)


def r_squared(x: Tensor, y: Tensor) -> float:
    """Of the linear prediction of y from x."""
    fitted = x @ torch.linalg.lstsq(x, y).solution
    return 1 - float(((y - fitted) ** 2).sum() / ((y - y.mean(0)) ** 2).sum())


def table(found: Shown) -> Table:
    """The numbers of all three."""
    last = {name: cosines[-1] for name, cosines in found.cosines.items()}
    rows = [
        ["InfoMin", f"cosine of z0 and z1 after {STEPS} steps, {name}", f"{value:.2f}"] for name, value in last.items()
    ]
    rows += [
        ["InfoMin", f"R, and R2 of z1 from z0, {name}", f"{r:.2f}, {r2:.2f}"]
        for name, (r, r2) in found.pairings.items()
    ]
    for d, (cosines, symmetric, least) in found.turned.items():
        rows += [
            ["orthogonality", f"|cosine| of z0 and A z0, first to last, {d} dimensions", _from_to(cosines)],
            [
                "orthogonality",
                f"|A + A'| / |A|, and least scale of A over its largest, {d} dimensions",
                f"{symmetric:.2f}, {least:.2f}",
            ],
        ]
    cosine, permuted, square, predicted, _ = found.permuted.T
    rows.append(
        ["permutation", "mean |cosine| of pairs at any angle", f"{permuted.mean():.3f}, sd {permuted.std():.3f}"]
    )
    correlation = np.corrcoef(np.abs(cosine), permuted)[0, 1]
    rows.append(["permutation", "its correlation with the |cosine| before the permutation", f"{correlation:.2f}"])
    rows.append(["permutation", "largest error of the equation", f"{np.abs(square - predicted).max():.0e}"])
    rows.append(["permutation", "mean |cosine| where it is least: u = 1, v = 0", f"{found.obeyed:.3f}"])
    note = (
        "Free vectors, by the losses that are trained. InfoMin: for given vectors R depends on their pairing through "
        "the mean of z0 . z1 alone, which is least for z1 = -z0. Orthogonality: x . A x = 0 for all x if A is "
        "antisymmetric, and an orthogonal A of that kind loses nothing; in odd dimensions there is none. Permutation: "
        "E (P a . b)^2 = 1/d + d/(d - 1) (u - 1/d)(v - 1/d), with u and v the shares of either vector along "
        "(1, ..., 1): nothing of how one goes with the other. It is least, 0, where one slice lies along (1, ..., 1) "
        "and the other sums to zero: that it cannot see dependence does not make it harmless. The proofs are in "
        "experiments/subembeddings/why.py."
    )
    return Table("Why: what the regularisers ask for", ["regulariser", "what", "found"], rows, note)


def draw(found: Shown, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures and gives captions and paths."""
    _opposites(found, folder / "opposites.png")
    _copies(found, folder / "copies.png")
    _permutations(found, folder / "permutations.png")
    return [
        (
            "InfoMin is least for opposite slices, which tell the same, not for independent ones",
            f"{folder.name}/opposites.png",
        ),
        ("Orthogonality is met by a turned copy (in even dimensions)", f"{folder.name}/copies.png"),
        ("A fresh permutation hides the angle between slices", f"{folder.name}/permutations.png"),
    ]


def _opposites(found: Shown, path: Path) -> None:
    figure = new_figure(8, 3.2)
    axis, bars = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    for name, cosines in found.cosines.items():
        axis.plot(cosines, label=name, linewidth=1.2)
    axis.set(xlabel="steps", ylabel="cosine of z0 and z1", ylim=(-1.05, 1.05))
    axis.legend(frameon=False, fontsize=8)
    bars.bar(list(found.pairings), [r for r, _ in found.pairings.values()])
    bars.set(ylabel="R_InfoMin (to be minimised)")
    for place, (r, r2) in enumerate(found.pairings.values()):
        bars.text(place, r, f"R2 {r2:.2f}", ha="center", va="top", fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _copies(found: Shown, path: Path) -> None:
    figure = new_figure(5, 3.2)
    axis = figure.add_subplot()
    for d, (cosines, _, least) in found.turned.items():
        axis.plot(cosines, label=f"{d} dimensions; least scale of A {least:.2f} of its largest", linewidth=1.2)
    axis.set(xlabel="steps", ylabel="|cosine| of z0 and A z0", ylim=(0, None))
    axis.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _permutations(found: Shown, path: Path) -> None:
    figure = new_figure(8, 3.2)
    axis, check = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    cosine, permuted, square, predicted, plain = found.permuted.T
    axis.plot(cosine, plain, label="plain", linewidth=1.2)
    axis.scatter(cosine, permuted, s=8, label="mean over all permutations", color="C1")
    axis.set(xlabel="cosine of z0 and z1", ylabel="penalty")
    axis.legend(frameon=False, fontsize=8)
    check.scatter(predicted, square, s=8)
    check.axline((1 / D, 1 / D), slope=1, color="#c3cad1", linewidth=0.8)
    check.set(xlabel="1/d + d/(d - 1) (u - 1/d)(v - 1/d)", ylabel="mean squared cosine, all permutations")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _descend(parameter: Tensor, loss: Callable[[], Tensor]) -> None:
    optimiser = torch.optim.Adam([parameter], lr=0.05)
    for _ in range(STEPS):
        optimiser.zero_grad()
        loss().backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _from_to(values: list[float]) -> str:
    return f"{values[0]:.2f} to {values[-1]:.3f}"


def _units(x: Floats) -> Floats:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))
