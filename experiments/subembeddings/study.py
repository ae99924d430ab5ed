"""Sub-embeddings, digits over photographs: "Unsupervised disentanglement without autoencoding" (Burns et al. 2021)."""

from __future__ import annotations

from typing import Any

from unbraid.study.plan import Point, Study, chain, product

needs = ("mnist", "cifar10|cifar10-images.zip")

STEPS, WIDTH = 1200, 24
LONGER = "supervised, longer"  # four times as many steps
TEST_ROWS = 5_000
WAIT: dict[str, Any] = {"warm_up": 300}  # with 0.1 from the first step the digit is never learned
DATA: dict[str, Any] = {"data": "mnist_stl10", "size": 32, "backgrounds": "cifar10", "brightness": 0.6}
SUPERVISED: dict[str, Any] = {"method": "sub_supervised"}
SUB: dict[str, Any] = {"method": "sub_infomax"}
SETTINGS: dict[str, dict[str, Any]] = {
    "supervised": SUPERVISED,
    LONGER: SUPERVISED,
    "control": SUB,
    "one head": {**SUB, "heads": "one"},
    "InfoMin 0.001": {**SUB, "infomin": 0.001},
    "InfoMin 0.005": {**SUB, "infomin": 0.005},
    "InfoMin 0.1": {**SUB, "infomin": 0.1, **WAIT},
    "Ortho 0.001": {**SUB, "orthogonality": 0.001},
    "Ortho 0.1": {**SUB, "orthogonality": 0.1, **WAIT},
    "P-Ortho 0.001": {**SUB, "permuted_orthogonality": 0.001},
    "P-Ortho 0.1": {**SUB, "permuted_orthogonality": 0.1, **WAIT},
    "Hess 0.001": {**SUB, "hessian": 0.001, **WAIT},
    "Hess 0.01": {**SUB, "hessian": 0.01, **WAIT},
    "Hess 0.1": {**SUB, "hessian": 0.1, **WAIT},
    "Ortho + Hess 0.1": {**SUB, "orthogonality": 0.1, "hessian": 0.1, **WAIT},
    "InfoMin 0.1, as printed": {**SUB, "infomin": 0.1, "literal_infomin": True, **WAIT},
    "Hess 0.1, per sample": {**SUB, "hessian": 0.1, "hessian_per_sample": True, **WAIT},
    "InfoMin 0.1 at once": {**SUB, "infomin": 0.1},
    "Ortho 0.1 at once": {**SUB, "orthogonality": 0.1},
    "P-Ortho 0.1 at once": {**SUB, "permuted_orthogonality": 0.1},
    "Hess 0.1 at once": {**SUB, "hessian": 0.1},
}
SEEDS: dict[str, dict[str, int]] = {  # how many, by variant of the data and label
    "dc-bc": {
        "supervised": 3,
        LONGER: 1,
        "control": 4,
        "one head": 5,
        "InfoMin 0.001": 4,
        "InfoMin 0.005": 4,
        "InfoMin 0.1": 4,
        "Ortho 0.001": 1,
        "Ortho 0.1": 4,
        "P-Ortho 0.001": 1,
        "P-Ortho 0.1": 5,
        "Hess 0.001": 1,
        "Hess 0.01": 3,
        "Hess 0.1": 5,
        "Ortho + Hess 0.1": 1,
        "InfoMin 0.1, as printed": 1,
        "Hess 0.1, per sample": 1,
        "InfoMin 0.1 at once": 1,
        "Ortho 0.1 at once": 1,
        "P-Ortho 0.1 at once": 1,
        "Hess 0.1 at once": 1,
    },
    "dc-dl": {
        "supervised": 1,
        "control": 3,
        "one head": 3,
        "InfoMin 0.001": 1,
        "InfoMin 0.1": 3,
        "InfoMin 0.1 at once": 1,
        "Ortho 0.001": 1,
        "Ortho 0.1": 3,
        "P-Ortho 0.001": 1,
        "P-Ortho 0.1": 1,
        "Hess 0.001": 1,
        "Hess 0.1": 3,
    },
}


def runs(steps: int, most: int, **sizes: Any) -> list[Point]:
    """All runs, seed by seed.

    Args:
        steps: of a run; the longer one has four times as many
        most: seeds of one setting
        sizes: arguments of every run
    """
    planned = chain(
        *(
            product(
                label=label,
                variant=variant,
                seed=range(min(count, most)),
                steps=4 * steps if label == LONGER else steps,
                **SETTINGS[label],
                **DATA,
                **sizes,
            )
            for variant, counts in SEEDS.items()
            for label, count in counts.items()
        )
    )
    return sorted(planned, key=lambda point: int(point["seed"]))


def planned(given: list[Point], points: int) -> Study:
    return Study(runs=given, metrics=[], points=points, measures=["measures.py:probes", "measures.py:late"])


study = planned(runs(STEPS, 5, batch=128, width=WIDTH), TEST_ROWS)
quick = planned(runs(6, 1, batch=16, width=4), 150)
