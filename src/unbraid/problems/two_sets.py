"""A target set against a background set: what is salient in the target, blocks s (salient) and z (common).

    clustering_s, clustering_z   clusters on the t-SNE plane matched to the classes; silhouettes among the parts
    class_from_s, class_from_z   accuracy of a shallow classifier, with the accuracy on each class among the parts
    class_from_s_sampled, ...    the same of draws of the codes at their own scale, where codes are Gaussian
    set_from_z                   accuracy of telling targets from backgrounds; by chance where the codes are alike
    z_from_s                     R2 of a linear prediction of the common code from the salient one
    w2_z                         squared Wasserstein distance between the common codes of the two sets
    salience                     what the salient code holds on backgrounds, E[|mu|^2 + |sigma|^2]; 0 is wanted

A code of one block has the scores of that block.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Block, Codes
from unbraid.figures.charts import scatter
from unbraid.figures.parts import Charts, Note, Section, Strip, Strips
from unbraid.metrics.clustering_accuracy import clustering_accuracy
from unbraid.metrics.contract import Aim, Score
from unbraid.metrics.linear_probe import explained_variance, probe_accuracy
from unbraid.metrics.plane import picture_plane
from unbraid.metrics.w2 import w2
from unbraid.problems.contract import EXAMPLES, Page, Pictures, Problem, Task, Trained, attempt, rng_of
from unbraid.problems.features import codes_csv

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
MOST = 3000  # rows for clusters on a plane
GRID = 7  # pictures on each side of the interpolation
POINTS = 1200  # of each set on the plane; t-SNE of more takes long
FEWEST = 40  # rows for t-SNE
ROWS = ("[z, s]: all of it", "[z, 0]: what is common", "[0, s]: what is salient")


class TwoSets(Problem):
    name = "two_sets"
    roles = MappingProxyType({"s": "salient", "z": "common"})
    scores = MappingProxyType(
        {
            "clustering_": "clustering_accuracy",
            "w2_z": "w2",
            **dict.fromkeys(["class_from_", "set_from_z", "z_from_s", "salience"], ""),
        }
    )
    metrics = ("w2",)
    headlines = ("class_from_s", "class_from_z", "set_from_z", "z_from_s")
    aims = MappingProxyType(
        {
            "clustering_z": Aim("chance", 0.5),
            "class_from_z": Aim("chance", 0.5),
            "class_from_z_sampled": Aim("chance", 0.5),
            "set_from_z": Aim("chance", 0.5),
            "w2_z": Aim("low", 2.0, of="floor"),
            "z_from_s": Aim("low", 0.5),
            "salience": Aim("low", 0.5, of="target"),
        }
    )
    needs = "a target and a background set: a run of salient_vae, cvae, rb_vae, srb_vae or cpca on such data"

    def applies(self, codes: Codes) -> bool:
        return codes.background is not None

    def pictures(self, trained: Trained, codes: Codes) -> Pictures:
        if not {"s", "z"} <= codes.blocks.keys() or trained.table.shape[1] == 1:
            return {}
        return _apart(trained, codes)

    def files(self, trained: Trained, codes: Codes) -> dict[str, bytes]:
        assert trained.background is not None and codes.background is not None
        sets = [("target", trained.table, codes), ("background", trained.background, codes.background)]
        return {"codes.csv": codes_csv(sets)}

    def tasks(self, codes: Codes, *, seed: int, jobs: int = 0) -> dict[str, Task]:
        assert codes.background is not None
        found: dict[str, Task] = {}

        def add(name: str, metric: str, meaning: str, take: Any) -> None:
            found[name] = Task(metric, lambda **o: attempt(name, meaning, lambda: take(rng_of(seed, name), **o)))

        for name, block in codes.blocks.items():
            if codes.labels is not None:
                _add_classes(add, name, block, codes.labels)
        if "z" in codes.blocks:
            _add_common(add, codes, codes.background)
        if "s" in codes.blocks and "z" in codes.blocks:
            s, z = codes.blocks["s"].codes, codes.blocks["z"].codes
            meaning = "R2 of a linear prediction of z from s; 0 is wanted"
            add("z_from_s", "explained_variance", meaning, lambda rng: explained_variance(s, z, rng))
            meaning, other = "what s holds on backgrounds; 0 is wanted", codes.background
            add("salience", "salience", meaning, lambda rng: _salience(codes, other))
        return found

    def sections(self, page: Page) -> list[Section]:
        if "s" not in page.codes.blocks:
            return []
        return _apart_shown(page.pictures) + _between_shown(page.pictures) + _plane_shown(page.codes)


def _add_classes(add: Any, name: str, block: Block, labels: NDArray[Any]) -> None:
    add(
        f"clustering_{name}",
        "clustering_accuracy",
        f"classes of targets found by clusters of {name}",
        lambda rng, most=MOST, **o: clustering_accuracy(block.codes, labels, rng, most=most, **o),
    )
    add(
        f"class_from_{name}",
        "probe_accuracy",
        f"class of targets from {name}, by a shallow classifier",
        lambda rng: probe_accuracy(block.codes, labels, rng),
    )
    if block.scale is not None:
        add(
            f"class_from_{name}_sampled",
            "probe_accuracy",
            f"class of targets from draws of {name} at their own scale, by a shallow classifier",
            lambda rng: probe_accuracy(block.sampled(rng), labels, rng, standardise=False),
        )


def _add_common(add: Any, codes: Codes, background: Codes) -> None:
    def drawn(rng: np.random.Generator) -> tuple[Floats, Floats]:  # the distributions that the methods bring together
        return codes.blocks["z"].sampled(rng), background.blocks["z"].sampled(rng)

    def both(rng: np.random.Generator) -> Score:
        target, other = drawn(rng)
        n = min(len(target), len(other))
        rows = np.concatenate([rng.permutation(target)[:n], rng.permutation(other)[:n]])
        return replace(probe_accuracy(rows, np.repeat([0, 1], n), rng), parts={})

    def distance(rng: np.random.Generator, **options: Any) -> Score:
        target, other = drawn(rng)
        return w2(target, other, rng, **{"batch": min(128, len(target) // 2, len(other)), **options})

    meaning = "targets told from backgrounds by a draw of z; chance is wanted"
    add("set_from_z", "probe_accuracy", meaning, both)
    meaning = "squared Wasserstein distance between sampled common codes of the two sets; compare the excess"
    add("w2_z", "w2", meaning, distance)


def _salience(target: Codes, background: Codes) -> Score:
    def held(codes: Codes) -> Floats:  # [n]
        block = codes.blocks["s"]
        squares = np.asarray(block.codes, np.float64) ** 2
        return np.asarray((squares if block.scale is None else squares + block.scale**2).sum(1))

    rows, there = held(background), float(held(target).mean())
    value, margin = float(rows.mean()), 1.96 * float(rows.std()) / len(rows) ** 0.5
    return Score(value, {"target": there}, max(value - margin, 0.0), value + margin, None, len(rows))


def _apart(trained: Trained, codes: Codes) -> Pictures:
    """What the blocks s and z draw together and apart, and what lies between the salient codes of four targets.

    apart [3, n, c, h, w]: targets from [z, s], from [z, 0] and from [0, s]; background_originals and
    background_reconstructions (from [z, 0]) [n, c, h, w]; between [grid, grid, c, h, w]: s moves from that of the first
    target (top left) to those of three others in the corners, z stays that of the first.
    """
    import torch

    from unbraid.encode import images, to_bytes

    method = trained.method
    assert trained.background is not None and codes.background is not None

    def picture(s: Tensor, z: Tensor) -> NDArray[np.uint8] | None:
        drawn = method.decode({"s": s, "z": z})
        return None if drawn is None else to_bytes(drawn)

    code = method.encode(trained.look(trained.examples))
    s, z = code["s"], code["z"]
    nothing, nowhere = torch.zeros_like(s), torch.zeros_like(z)
    together = [picture(s, z), picture(nothing, z), picture(s, nowhere)]
    if any(part is None for part in together):
        return {}
    y = images(method, trained.background, codes.background.rows[:EXAMPLES])
    pictures: dict[str, Any] = {
        "apart": np.stack([part for part in together if part is not None]),
        "background_originals": to_bytes(y),
        "background_reconstructions": picture(s.new_zeros(len(y), s.shape[1]), method.encode(y)["z"]),
    }
    if len(s) >= 4:
        down, right = torch.meshgrid(*[torch.linspace(0, 1, GRID, device=s.device)] * 2, indexing="ij")
        weights = torch.stack([(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right], -1)
        between = weights.flatten(0, 1) @ s[[0, 2, 3, 1]]  # [grid^2, salient]
        drawn = picture(between, z[:1].repeat(len(between), 1))
        assert drawn is not None
        pictures["between"] = drawn.reshape(GRID, GRID, *drawn.shape[1:])
    return pictures


def _apart_shown(pictures: Pictures) -> list[Section]:
    if "apart" not in pictures:
        return []
    rows = [Strip.of("targets", pictures["originals"])]
    rows += [Strip.of(name, images) for name, images in zip(ROWS, pictures["apart"], strict=True)]
    others = [
        Strip.of("backgrounds", pictures["background_originals"]),
        Strip.of("from [z, 0]", pictures["background_reconstructions"]),
    ]
    note = Note("The second row should show the background alone, the third what was added to it.")
    return [
        Section("Targets, taken apart", [note, Strips(rows)], "Taken apart"),
        Section("Backgrounds", [Strips(others)]),
    ]


def _between_shown(pictures: Pictures) -> list[Section]:
    if "between" not in pictures:
        return []
    note = Note(
        "The salient code moves between those of four targets, one in each corner; the common code stays that of the "
        "target at the top left."
    )
    grid = Strip.of("", *pictures["between"], alt="between salient codes")
    return [Section("Between salient codes", [note, Strips([grid], small=True)], "Between")]


def _plane_shown(codes: Codes) -> list[Section]:
    """t-SNE of the salient codes (van der Maaten and Hinton, JMLR 2008)."""
    assert codes.background is not None
    target, background = (part.blocks["s"].codes[:POINTS] for part in (codes, codes.background))
    both = np.concatenate([target, background]).astype(np.float64)
    if min(len(target), len(background)) < FEWEST or not both.std(0).max() > 0:
        return []
    plane = picture_plane(both)
    classes = np.zeros(len(target), int) if codes.labels is None else codes.labels[: len(target)]
    kinds = ["target" if codes.labels is None else codes.named(str(codes.label), value) for value in np.unique(classes)]
    groups = [plane[: len(target)][classes == value] for value in np.unique(classes)]
    drawn = scatter("", {"background": plane[len(target) :], **dict(zip(kinds, groups, strict=True))}, "background")
    note = Note(
        "t-SNE of the salient codes of both sets. Backgrounds should lie together, away from targets; groups among the "
        "targets are what they differ in."
    )
    return [Section("Salient codes on a plane", [note, Charts([drawn])], "Map")]
