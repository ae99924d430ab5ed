"""How fast the metrics are against code that follows the published protocols, as ratios in one interleaved run.

    python benchmarks/metrics.py [--json] [--repeats 3] [--gbt-trees 10] [--picture docs/pictures/metrics_scaling.png]

The baselines are written here from the definitions, with scikit-learn doing what the published protocol lets it do.
Times are processor seconds on one thread, medians of interleaved runs; the suite is also timed by the clock on all
cores. Gradient boosting takes time in proportion to its trees: with fewer than 100 its time is multiplied accordingly.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import metrics_reference as reference  # type: ignore[import-not-found]
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unbraid.metrics.beta_vae_score import beta_vae_score
from unbraid.metrics.dci import dci
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.irs import irs
from unbraid.metrics.mcc import mcc
from unbraid.metrics.mig import mig
from unbraid.metrics.modularity import modularity
from unbraid.metrics.sap import sap
from unbraid.metrics.suite import score

Array = NDArray[Any]
SIZES = (3, 6, 40, 32, 32)  # dSprites
TRAIN, TEST = 10_000, 5_000
REFERENCE_IMAGES = {  # what the published protocol encodes
    "beta_vae_score": (TRAIN + TEST) * 64 * 2,
    "factor_vae_score": 10_000 + (TRAIN + TEST) * 64,
    "mig": TRAIN,
    "sap": TRAIN + TEST,
    "dci": TRAIN + TEST,
    "modularity": TRAIN + TEST,
    "irs": TRAIN,
}
OUR_IMAGES = TRAIN + TEST  # one table of codes serves every score


def world(n: int, seed: int = 0) -> tuple[Array, Array]:
    """Ten latents: three clean, two mixed, five of noise."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(0, SIZES, (n, len(SIZES)))
    clean = (factors - factors.mean(0)) / factors.std(0)
    clean[:, 3:] = clean[:, 3:] @ np.array([[1, 1], [1, -1]]) / 2**0.5
    codes = np.concatenate([clean + 0.1 * rng.standard_normal(clean.shape), rng.standard_normal((n, 5))], 1)
    return codes.astype(np.float32), factors


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int) -> tuple[float, float, float, float]:
    """Median processor seconds of both, interleaved, and the two values."""
    taken: tuple[list[float], list[float]] = ([], [])
    values = [0.0, 0.0]
    for _ in range(repeats):
        for side, fn in enumerate((ours, theirs)):
            start = time.process_time()
            values[side] = float(fn())
            taken[side].append(time.process_time() - start)
    return statistics.median(taken[0]), statistics.median(taken[1]), values[0], values[1]


def table(repeats: int, gbt_trees: int) -> dict[str, dict[str, float]]:
    codes, factors = world(TRAIN + TEST)
    first, labels = codes[:TRAIN], factors[:TRAIN]

    def rng() -> np.random.Generator:
        return np.random.default_rng(0)

    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any], int, float]] = {
        "mig": (lambda: mig(first, labels, rng()).value, lambda: reference.mig(first, labels), repeats, 1),
        "modularity": (
            lambda: modularity(first, labels, rng()).value,
            lambda: reference.modularity(first, labels),
            repeats,
            1,
        ),
        "irs": (lambda: irs(first, labels, rng()).value, lambda: reference.irs(first, labels), repeats, 1),
        "sap": (
            lambda: sap(codes, factors, rng(), method="svm", train=TRAIN, jobs=1).value,
            lambda: reference.sap(codes, factors),
            repeats,
            1,
        ),
        "explicitness": (
            lambda: explicitness(codes, factors, rng(), train=TRAIN, jobs=1).value,
            lambda: reference.explicitness(codes, factors),
            repeats,
            1,
        ),
        "dci": (
            lambda: dci(codes, factors, rng(), train=TRAIN, jobs=1).value,
            lambda: reference.dci(codes, factors, gbt_trees),
            1,
            100 / gbt_trees,
        ),
    }
    found = {}
    for name, (ours, theirs, times, scale) in pairs.items():
        ours()
        fast, slow, value, theirs_value = compare(ours, theirs, times)
        found[name] = {"ours_s": fast, "reference_s": slow * scale, "ratio": slow * scale / fast}
        found[name] |= {"value": value, "reference_value": theirs_value}
    return found


def protocol(found: dict[str, dict[str, float]], seconds_per_image: float | None) -> dict[str, float]:
    """(images of the protocol x cost + its fits) / (our images x cost + our fits), for the seven scores."""
    codes, factors = world(TRAIN)
    cost = encoding_cost() if seconds_per_image is None else seconds_per_image
    sampled = 0.0
    for fn in (beta_vae_score, factor_vae_score):
        start = time.process_time()
        fn(codes, factors, np.random.default_rng(0))
        sampled += time.process_time() - start
    fitted = ("mig", "sap", "dci", "modularity", "irs")
    theirs = sum(REFERENCE_IMAGES.values()) * cost + sum(found[name]["reference_s"] for name in fitted)
    ours = OUR_IMAGES * cost + sampled + sum(found[name]["ours_s"] for name in fitted)
    return {
        "seconds_per_image": cost,
        "reference_images": sum(REFERENCE_IMAGES.values()),
        "our_images": OUR_IMAGES,
        "reference_s": theirs,
        "ours_s": ours,
        "ratio": theirs / ours,
        "ratio_of_images": sum(REFERENCE_IMAGES.values()) / OUR_IMAGES,
    }


def encoding_cost() -> float:
    """Processor seconds to encode one 64x64 image by four convolutions and a layer of 256."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    layers: list[nn.Module] = []
    for before, after in ((1, 32), (32, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 4, 2, 1), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 10))
    images = torch.rand(64, 1, 64, 64)
    with torch.inference_mode():
        net(images)
        start = time.process_time()
        for _ in range(20):
            net(images)
    return (time.process_time() - start) / (20 * 64)


def memory(n: int) -> dict[str, float]:
    """Greatest resident memory of a process that scores n codes, in gigabytes, and of one that only makes them."""
    command = [sys.executable, __file__, "--measure", str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(n: int) -> dict[str, float]:
    codes, factors = world(n)
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    start = time.process_time()
    mig(codes, factors, np.random.default_rng(0))
    modularity(codes, factors, np.random.default_rng(0))
    sap(codes, factors, np.random.default_rng(0), method="correlation")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"n": n, "making_gb": made, "scoring_gb": most, "seconds": time.process_time() - start}


SCALING: dict[str, Callable[[Array, Array], Any]] = {
    "mig": lambda c, f: mig(c, f, np.random.default_rng(0)),
    "modularity": lambda c, f: modularity(c, f, np.random.default_rng(0)),
    "sap, squared correlation": lambda c, f: sap(c, f, np.random.default_rng(0), method="correlation", jobs=1),
    "irs": lambda c, f: irs(c, f, np.random.default_rng(0)),
    "mcc": lambda c, f: mcc(c, f, np.random.default_rng(0)),
    "factor_vae_score": lambda c, f: factor_vae_score(c, f, np.random.default_rng(0)),
    "dci": lambda c, f: dci(c, f, np.random.default_rng(0), jobs=1) if len(c) <= 30_000 else None,
}


def scaling(sizes: list[int]) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {name: {} for name in SCALING}
    for n in sizes:
        codes, factors = world(n)
        for name, fn in SCALING.items():
            start = time.process_time()
            if fn(codes, factors) is not None:
                found[name][n] = time.process_time() - start
    return found


def draw(found: dict[str, dict[int, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for name, points in found.items():
        axes.loglog(list(points), list(points.values()), marker="o", markersize=3, label=name)
    sizes = np.array(sorted(found["mig"]))
    guide = sizes * np.log(sizes)
    axes.loglog(sizes, guide / guide[-1] * found["mig"][int(sizes[-1])], "k--", linewidth=1, label="n log n")
    axes.set(xlabel="number of codes", ylabel="processor seconds, one thread", title="Ten latents, dSprites factors")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def whole_suite() -> dict[str, float]:
    codes, factors = world(TRAIN)
    start, processor = time.perf_counter(), time.process_time()
    score(codes, factors)
    return {"clock_s": time.perf_counter() - start, "processor_s": time.process_time() - processor}


def show(found: dict[str, Any]) -> None:
    print(f"{'metric':14} {'ours, s':>9} {'reference, s':>13} {'ratio':>8} {'value':>9} {'reference':>10}")
    for name, row in found["metrics"].items():
        print(
            f"{name:14} {row['ours_s']:9.4f} {row['reference_s']:13.3f} {row['ratio']:7.1f}x "
            f"{row['value']:9.5f} {row['reference_value']:10.5f}"
        )
    whole = found["protocol"]
    print(
        f"\nseven scores of a trained model: {whole['reference_images']:,.0f} images against "
        f"{whole['our_images']:,.0f} at {1e3 * whole['seconds_per_image']:.3f} ms each, "
        f"fits included: {whole['ratio']:.0f}x less"
    )
    print(f"default suite, intervals and nulls included: {found['suite']['clock_s']:.1f} s by the clock")
    large = found["memory"]
    print(
        f"{large['n']:,} codes: {large['scoring_gb']:.2f} GB ({large['making_gb']:.2f} to make them), "
        f"{large['seconds']:.1f} s"
    )
    for name, slope in found["slopes"].items():
        print(f"time of {name} grows as n^{slope:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeats", type=int, default=3, help="interleaved runs of each side")
    parser.add_argument("--gbt-trees", type=int, default=10, help="boosted trees that are timed, of 100")
    parser.add_argument("--seconds-per-image", type=float, help="cost of encoding; measured if not given")
    parser.add_argument("--largest", type=int, default=1_000_000, help="codes of the largest world")
    parser.add_argument("--picture", type=Path, default=Path("docs/pictures/metrics_scaling.png"))
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn's solvers in the baselines
    threadpool_limits(1)
    if given.measure:
        print(json.dumps(measure(given.measure)))
        return
    found: dict[str, Any] = {"metrics": table(given.repeats, given.gbt_trees)}
    found["protocol"] = protocol(found["metrics"], given.seconds_per_image)
    found["suite"] = whole_suite()
    found["memory"] = memory(given.largest)
    sizes = [n for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= given.largest]
    found["scaling"] = scaling(sizes)
    large = {name: {n: t for n, t in points.items() if n >= 10_000} for name, points in found["scaling"].items()}
    found["slopes"] = {
        name: float(np.polyfit(np.log(list(p)), np.log(list(p.values())), 1)[0])
        for name, p in large.items()
        if len(p) > 1
    }
    draw(found["scaling"], given.picture)
    print(json.dumps(found, indent=1)) if given.json else show(found)


if __name__ == "__main__":
    main()
