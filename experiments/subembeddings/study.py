"""Sub-embeddings, digits over photographs: "Unsupervised disentanglement without autoencoding" (Burns et al. 2021).

The runs, those that decide the claims first. Settings are chosen on seeds from 100 on, which are used for nothing else.
All runs of sub_infomax have the same steps, decay and width, and every regulariser waits for the same share of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unbraid.study import Evaluation, Study, chain, product
from unbraid.study.plan import Point

needs = ("mnist", "cifar10|cifar10-images.zip")

NET, STEPS, BATCH, WIDTH, DECAY, BRIGHTNESS = "pooled4", 4000, 128, 16, 0.3, 0.45
WAIT = 4  # a regulariser has weight 0 for the first quarter of the steps and grows over the second
SEEDS, MAIN_SEEDS, MORE_SEEDS, RESERVED = range(11, 16), range(11, 19), range(11, 21), 100
CEILING_ROWS, CEILING_STEPS = 10_000, 7800  # 200 epochs, since a step shows 2 x 128 rows
CURVE = (1000, 2000, 8000)
PILOT_STEPS = 3000
RESNET_STEPS, RESNET_BATCH, RESNET_ROWS = 300, 8, 500
TEST_ROWS = 10_000

VIEWS: Point = {"least_crop": 0.85, "flip": True, "colour": 0.2}
OF_PLACES: Point = {**VIEWS, "flip": False}  # mirrored, a digit is at another of the eight locations
DATA: Point = {"data": "mnist_stl10", "backgrounds": "cifar10", "brightness": BRIGHTNESS, "draw": 1}  # the pilot: 0
ONE_STRENGTH = ("infomin", "orthogonality", "permuted_orthogonality", "hessian")
NAMES = dict(zip(ONE_STRENGTH, ("InfoMin", "Ortho", "P-Ortho", "Hess"), strict=True))
CEILING = "supervised"
OVER_STEPS, AT_ONCE, RESNET = ", over steps", " at once", "ResNet-34, "


def sub(label: str, weights: Point, *, wait: bool = True) -> Point:
    """A setting of sub_infomax: its weights, and the steps that they wait."""
    waits = {"warm_up": STEPS // WAIT} if wait and weights.keys() & set(ONE_STRENGTH) else {}
    return {"label": label, "method": "sub_infomax", "steps": STEPS, **weights, **waits}


control, one_head = sub("control", {}), sub("one head", {"heads": "one"})
weak, strong = ([sub(f"{NAMES[name]} {w}", {name: w}) for name in ONE_STRENGTH] for w in (0.001, 0.1))
infomin, ortho, permuted, hess = strong
both = sub("Ortho + Hess 0.1", {"orthogonality": 0.1, "hessian": 0.1})
at_once = [sub(f"{NAMES[name]} 0.1{AT_ONCE}", {name: 0.1}, wait=False) for name in ONE_STRENGTH]
ceiling: Point = {"label": CEILING, "method": "sub_supervised", "steps": CEILING_STEPS, "train_rows": CEILING_ROWS}


def on(variant: str, settings: list[Point], seeds: Any, *, ceiling_with_views: bool = False) -> list[Point]:
    """Runs on the images of which two views share what the variant says; the ceiling sees them as they are."""
    views = VIEWS if variant == "dc-bc" else OF_PLACES
    augmented = {"sub_infomax", "sub_supervised"} if ceiling_with_views else {"sub_infomax"}
    seen = [{**point, **(views if point["method"] in augmented else {})} for point in settings]
    return product(product(seed=seeds), seen, variant=variant)


def lasting(point: Point, steps: int) -> Point:
    """The same run at another length, of which the waiting keeps its share."""
    waits = {"warm_up": steps // WAIT} if "warm_up" in point else {}
    return {**point, **waits, "steps": steps}


def over_steps(point: Point) -> list[Point]:
    return [{**lasting(point, steps), "label": point["label"] + OVER_STEPS} for steps in CURVE]


def large(point: Point) -> Point:
    return {**lasting(point, RESNET_STEPS), "label": RESNET + point["label"], "net": "resnet34"}


def evaluation(points: int) -> Evaluation:
    return Evaluation(
        metrics=[], points=points, measures=["measures.py:probes", "measures.py:late", "measures.py:signs"]
    )


small = chain(
    on("dc-bc", [permuted, hess], MORE_SEEDS),
    on("dc-bc", [control, ortho], MAIN_SEEDS),
    on("dc-dl", [control, one_head, *strong, *weak], SEEDS),
    on("dc-bc", [infomin, one_head, *weak], SEEDS),
    on("dc-bc", [ceiling], SEEDS),
    on("dc-dl", [ceiling], SEEDS),
    on("dc-bc", [both], SEEDS),
    on("dc-dl", [both], SEEDS),
    on("bc-dl", [control, permuted, hess], SEEDS[:1]),
    on("dc-dl", at_once[:1], SEEDS),  # claim 000-11; the others say what waiting does to 000-5 and 000-6
    on("dc-bc", at_once[1:3], SEEDS),
    on("dc-bc", [at_once[0], at_once[3]], SEEDS[:1]),
    on("dc-dl", at_once[1:], SEEDS[:1]),
    on("dc-bc", chain(over_steps(control), over_steps(hess)), SEEDS[:1]),
)
resnets = on("dc-bc", [large(control), large(hess)], SEEDS[:1])
runs = chain(
    product(small, [DATA], size=32, batch=BATCH, net=NET, width=WIDTH, evaluation=evaluation(TEST_ROWS), decay=DECAY),
    product(resnets, [DATA], size=64, batch=RESNET_BATCH, width=64, evaluation=evaluation(RESNET_ROWS), decay=DECAY),
)
study = Study(runs=runs)

plain, *waiting = (lasting(point, PILOT_STEPS) for point in (control, infomin, ortho, permuted, hess))
hasty = [lasting(point, PILOT_STEPS) for point in at_once]
tried = chain(  # the width; what waits; the ceiling; the length of training; other seeds, and the plainer network
    on("dc-bc", product([plain], width=[WIDTH, 2 * WIDTH]), [RESERVED]),
    on("dc-dl", [plain], [RESERVED]),
    on("dc-bc", hasty, [RESERVED]),
    on("dc-dl", hasty, [RESERVED]),
    on("dc-bc", [*waiting, ceiling], [RESERVED]),
    on("dc-dl", [waiting[0], waiting[1], waiting[3], ceiling], [RESERVED]),
    on("dc-bc", [lasting(plain, 2 * PILOT_STEPS)], [RESERVED]),
    on("dc-bc", [plain], range(RESERVED + 1, RESERVED + 4)),
    on("dc-bc", waiting[3:], [RESERVED + 1]),
    on("dc-bc", product([plain], net="conv4"), [RESERVED + 1, RESERVED + 2]),
    on("dc-bc", [ceiling], [RESERVED], ceiling_with_views=True),
    on("dc-dl", [ceiling], [RESERVED], ceiling_with_views=True),
)
# unbraid study experiments/subembeddings/study.py:pilot; another split of the digits and photographs (draw 0)
pilot = Study(
    runs=[
        {
            **DATA,
            "draw": 0,
            "size": 32,
            "batch": BATCH,
            "net": NET,
            "width": WIDTH,
            "evaluation": evaluation(TEST_ROWS),
            "decay": DECAY,
            **run,
        }
        for run in tried
    ]
)


def tiny(points: list[Point]) -> list[Point]:
    """One run of each setting with a few steps, small networks and few rows."""
    first: dict[tuple[str, str], Point] = {}
    for point in points:
        waits = {"warm_up": 1} if "warm_up" in point else {}
        few = {"steps": 3 if OVER_STEPS in point["label"] else 4, "batch": 16, "width": 4, "train_rows": 4000}
        own = {**point, **waits, **few, "evaluation": evaluation(150)}
        first.setdefault((point["label"], point["variant"]), own)
    return list(first.values())


quick = replace(study, runs=[run for run in tiny(runs) if not run["label"].startswith(RESNET)])
