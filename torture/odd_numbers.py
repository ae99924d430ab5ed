"""Odd numbers into every metric and every method: a right number, NaN with a reason, or a sentence; no warnings.

python -m torture.odd_numbers [--only metrics|methods|rows]
"""

from __future__ import annotations

import argparse
import math
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torture.table import Row, keep, timed

from unbraid.errors import UserError

Array = NDArray[Any]
N = 120
SCALE_FREE = (
    "dci",
    "mig",
    "sap",
    "modularity",
    "mcc",
    "explicitness",
    "gaussian_total_correlation",
    "mutual_info_score",
)
MANY = 10**6  # rows


def plain(n: int = N) -> tuple[Array, Array]:
    """Three factors, and codes that mix the first two and add noise."""
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, size, n) for size in (3, 4, 2)], 1)
    codes = factors @ rng.normal(size=(3, 4)) + rng.normal(size=(n, 4)) / 4
    return codes, factors


def cases() -> Iterator[tuple[str, Any, Any]]:
    codes, factors = plain()
    dead, single = codes.copy(), factors.copy()
    dead[:, 1], single[:, 0] = 3.0, 7
    yield "a dead latent", dead, factors
    yield "all latents dead", np.ones_like(codes), factors
    yield "a constant factor", codes, single
    yield "constant factors only", codes, np.ones_like(factors)
    for n in (0, 1, 2, 3, 5):
        yield f"{n} rows", codes[:n], factors[:n]
    yield "duplicates of one row", np.repeat(codes[:1], N, 0), np.repeat(factors[:1], N, 0)
    yield "duplicates of two rows", np.repeat(codes[:2], N // 2, 0), np.repeat(factors[:2], N // 2, 0)
    for name, scale in (("1e300", 1e300), ("1e-300", 1e-300), ("denormal", 1e-310)):
        yield f"codes of {name}", codes * scale, factors
    for name, value in (("NaN", np.nan), ("infinite", np.inf)):
        broken = codes.copy()
        broken[3, 2] = value
        yield f"a code that is {name}", broken, factors
        yield f"a factor that is {name}", codes, np.where(np.arange(N)[:, None] == 3, value, factors)
    yield "one huge code", np.where(np.arange(N)[:, None] == 3, 1e300, codes), factors
    yield "float16 codes", codes.astype(np.float16), factors
    yield "factors beyond 2^53", codes, factors + 2**53
    yield "factors of 1e300", codes, (factors + 1) * 1e300
    yield "unsigned factors beyond 2^63", codes, factors.astype(np.uint64) + np.uint64(2**63 + 5)
    yield "unsorted labels with gaps", codes, np.array([77, -5, 1000, 12])[factors]
    yield "continuous factors", codes, factors + np.random.default_rng(1).random(factors.shape)
    yield "denormal factors", codes, factors * 1e-310
    yield "every factor value once", codes, np.stack([np.arange(N)] * 2, 1)


def metrics(*, bootstrap: int = 2, chance: bool = True) -> dict[str, Callable[[Any, Any], Any]]:
    """Every metric, as a function of codes and factors."""
    from unbraid.metrics.group_accuracy import group_accuracy
    from unbraid.metrics.probe_table import probe_table
    from unbraid.metrics.suite import available, score
    from unbraid.metrics.udr import udr
    from unbraid.metrics.w2 import w2

    def of_suite(name: str) -> Callable[[Any, Any], Any]:
        few = {"downstream": {"sizes": (20, 50)}} if name == "downstream" else {}
        rest: dict[str, Any] = {"bootstrap": bootstrap, "chance": chance, "jobs": 1, "options": few}
        return lambda codes, factors: score(codes, factors, metrics=[name], **rest)[name]

    def rng() -> np.random.Generator:
        return np.random.default_rng(0)

    found = {name: of_suite(name) for name in available()}
    found["w2"] = lambda codes, factors: w2(codes[::2], codes[1::2], rng(), batch=16, batches=3)
    found["udr"] = lambda codes, factors: udr([codes, codes * 2, codes[:, ::-1]], rng(), resamplings=2, jobs=1)
    found["group_accuracy"] = lambda codes, factors: group_accuracy(
        factors[:, 0], factors[:, 1], factors[:, 2:], rng(), least=5, resamplings=5
    )
    found["probe_table"] = lambda codes, factors: probe_table(
        {"z0": codes[:, :2], "z1": codes[:, 2:]}, factors, rng(), resamplings=5, jobs=1
    )
    return found


def wrong_score(take: Callable[[Any, Any], Any], codes: Any, factors: Any) -> str:
    """What is wrong with a score, or an empty string."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            score = take(codes, factors)
        except UserError as error:
            return "" if str(error) and "\n" not in str(error) else f"no sentence: {error!r}"
        except Exception:
            return traceback.format_exc()[-400:]
    return "" if math.isfinite(score.value) or score.warnings else f"{score.value} without a reason"


def wrong_numbers(name: str, take: Callable[[Any, Any], Any]) -> Iterator[str]:
    """Scores that must be those of plain numbers, and are not: other names of labels, another precision or scale."""
    codes, factors = plain()
    half = codes.astype(np.float16)
    order = np.argsort([77, -5, 1000, 12], kind="stable").argsort()
    same = [
        ("float16", (half, factors), (half.astype(np.float64), factors)),
        ("labels beyond 2^53", (codes, factors + 2**53), (codes, factors)),
        ("labels beyond 2^63", (codes, factors.astype(np.uint64) + np.uint64(2**63 + 5)), (codes, factors)),
        ("labels with gaps", (codes, np.array([77, -5, 1000, 12])[factors]), (codes, order[factors])),
    ]
    if name in SCALE_FREE:
        same += [(f"scale {s}", (codes * s, factors), (codes, factors)) for s in (1e300, 1e-300)]
    for what, odd, usual in same:
        try:
            one, other = take(*odd).value, take(*usual).value
        except Exception as error:
            yield f"{name} of {what}: {error!r}"
            continue
        if not math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9) and not (math.isnan(one) and math.isnan(other)):
            yield f"{name} of {what}: {one} instead of {other}"


def try_metrics(names: list[str]) -> tuple[int, list[str]]:
    wrong, count = [], 0
    for name, take in metrics().items():
        if names and name not in names:
            continue
        print(f"{name} ...", flush=True)
        for what, codes, factors in cases():
            count += 1
            if said := wrong_score(take, codes, factors):
                wrong.append(f"{name} of {what}: {said}")
                print(wrong[-1], flush=True)
        if name not in ("w2", "udr", "group_accuracy", "probe_table"):
            wrong += wrong_numbers(name, take)
            count += 4 + 2 * (name in SCALE_FREE)
    return count, wrong


def tables() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Tables that give every batch kind, or as many as arrays can, made when they are asked for."""
    from torture.dots import Dots

    from unbraid.data.arrays import from_arrays

    for sizes in ((1, 1, 1), (2, 1, 1), (3, 1, 1), (3, 2, 2), (100, 100, 100)):
        yield f"{math.prod(sizes):,} images", lambda sizes=sizes: Dots(x=sizes[0], y=sizes[1], light=sizes[2])  # type: ignore[misc]
    yield "constant images", lambda: Dots(flat=True)
    rng = np.random.default_rng(0)
    features, kinds = rng.normal(size=(12, 3)), np.arange(MANY) % 2
    odd: dict[str, Array] = {
        "features": features,
        "features of 1e300": features * 1e300,
        "features of 1e-310": features * 1e-310,
        "float16 features": features.astype(np.float16),
        "a constant feature": features * [1, 0, 1],
        "a feature that is NaN": np.where(np.arange(12)[:, None] == 4, np.nan, features),
        "a feature that is infinite": np.where(np.arange(12)[:, None] == 4, np.inf, features),
        "integers beyond 2^53": (features * 2**60).astype(np.int64),
        "duplicates": np.repeat(features[:1], 12, 0),
        "one row": features[:1],
        "two rows": features[:2],
        f"{MANY:,} rows": rng.normal(size=(MANY, 3)),
    }
    for name, x in odd.items():
        known = {"factors": np.stack([kinds[: len(x)], kinds[: len(x)][::-1]], 1), "factor_names": ["a", "b"]}
        yield name, lambda x=x, known=known: from_arrays(x, background=x, label="a", nuisances=["b"], **known)  # type: ignore[misc]


def try_methods(names: list[str]) -> tuple[int, list[str]]:
    from unbraid import catalogue

    wrong, count = [], 0
    for name in names or catalogue.entries("methods"):
        for what, make in tables():
            count += 1
            if said := wrong_fit(name, make):
                wrong.append(f"{name} on {what}: {said}")
                print(wrong[-1], flush=True)
    return count, wrong


def wrong_fit(name: str, make: Callable[[], Any]) -> str:
    """What is wrong with a fit of two steps and the codes that it gives, or an empty string."""
    from unbraid import catalogue
    from unbraid.encode import encode
    from unbraid.train.fit import fit
    from unbraid.train.load import build

    small: dict[str, Any] = {"net": "dense", "width": 4}
    taken = {argument.name for argument in catalogue.find("methods", name).arguments}
    with tempfile.TemporaryDirectory() as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # our own notes, such as that of a single sample
        warnings.simplefilter("error", RuntimeWarning)
        try:
            table = make()
            method = build(name, table, **{key: value for key, value in small.items() if key in taken})
            fit(method, table, steps=2, batch=4, out=out, show=False)
            codes = encode(method, table, points=10)
        except UserError as error:
            return "" if str(error) and "\n" not in str(error) else f"no sentence: {error!r}"
        except Exception:
            return traceback.format_exc()[-400:]
    finite = all(np.isfinite(block.codes).all() for block in codes.blocks.values())
    return "" if finite else "codes that are not finite"


def try_many_rows(names: list[str]) -> tuple[int, list[str], str]:
    """A million rows into every metric, without interval and chance level."""
    codes, factors = plain(MANY)
    wrong, times = [], {}
    for name, take in metrics(bootstrap=0, chance=False).items():
        if names and name not in names:
            continue
        with timed() as watch:
            said = wrong_score(take, codes, factors)
        times[name] = watch.seconds
        print(f"{name} of {MANY:,} rows: {watch.seconds:.1f} s {said}", flush=True)
        wrong += [f"{name} of {MANY:,} rows: {said}"] if said else []
    slowest = sorted(times, key=lambda name: -times[name])[:5]
    told = ", ".join(f"{name} {times[name]:.0f} s" for name in slowest)
    return len(times), wrong, f"the slowest: {told}; {sum(t < 2 for t in times.values())} of {len(times)} within 2 s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("metrics", "methods", "rows"))
    parser.add_argument("--names", nargs="*", default=[], help="of metrics or methods")
    given = parser.parse_args()
    only = given.only
    rows = []
    said = "each a right number, NaN with a reason, or a sentence; no warning of numpy"
    for part, what, work in (
        ("metrics", "odd numbers in a metric", try_metrics),
        ("methods", "odd data in a method's fit", try_methods),
    ):
        if only in (None, part):
            with timed() as watch:
                count, wrong = work(given.names)
            print(*wrong, sep="\n", flush=True)
            rows.append(Row("odd_numbers", what, count, count - len(wrong), said, watch.seconds))
    if only in (None, "rows"):
        with timed() as watch:
            count, wrong, times = try_many_rows(given.names)
        print(*wrong, sep="\n", flush=True)
        rows.append(Row("odd_numbers", "metric of 1,000,000 rows", count, count - len(wrong), times, watch.seconds))
    keep(rows)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
