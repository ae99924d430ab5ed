"""The metrics of saved codes: of a run, or of a file of plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid import catalogue
from unbraid.errors import UserError
from unbraid.metrics.class_blocks import score_classes
from unbraid.metrics.contract import Score
from unbraid.metrics.sub_embeddings import compare_slices
from unbraid.metrics.suite import DEFAULT
from unbraid.metrics.suite import score as score_arrays
from unbraid.metrics.two_sets import compare
from unbraid.train.run import Run, read_arrays

Units = list[int] | None
Options = Mapping[str, Mapping[str, Any]]


def score(
    run: Run,
    *,
    block: str | None = None,
    metrics: list[str] | None = None,
    seed: int = 0,
    options: Options | None = None,
) -> dict[str, Score]:
    """Scores the codes of a run and writes scores.json; those of a target and a background also against each other.

    Metrics that need the model are taken of the run's method and data set, which are loaded again.

    Args:
        block: of the code; the first unless given
        metrics: their names, to be added to the scores that are there; the default suite unless given
        seed: of whatever the metrics draw
        options: keyword arguments of a metric, by its name
    """
    of_model = [name for name in metrics or () if name in catalogue.of_models()]
    of_codes = None if metrics is None else [name for name in metrics if name not in of_model]
    if metrics is not None and (unasked := set(options or {}) - set(metrics)):
        raise UserError(f"options are given for '{unasked.pop()}', which is not among the metrics asked for")
    scores: dict[str, Score] = {}
    arrays = run.arrays("codes.npz") if metrics is None else {}
    if of_codes or (of_codes is None and not _just_classes(arrays)):
        chosen = {name: given for name, given in (options or {}).items() if name not in of_model}
        scores = score_file(run.path / "codes.npz", block=block, metrics=of_codes, seed=seed, options=chosen)
    if metrics is None:
        scores |= (
            score_labelled(arrays, seed=seed) | score_two_sets(arrays, seed=seed) | score_slices(arrays, seed=seed)
        )
    if of_model:
        scores |= _measure(run, of_model, seed, options)
    run.write_json("scores.json", run.scores() | {name: value.as_dict() for name, value in scores.items()})
    return scores


def has_suite(run: Run) -> bool:
    """Whether the default suite is among the scores, or is not to be had of these codes."""
    arrays = run.arrays("codes.npz")
    return arrays["factors"].shape[1] == 0 or _just_classes(arrays) or set(DEFAULT) <= run.scores().keys()


def _just_classes(arrays: dict[str, NDArray[Any]]) -> bool:
    """Targets and backgrounds have no factors to tell apart where there is just a class."""
    return "background_rows" in arrays and arrays["factors"].shape[1] == 1


def _measure(run: Run, metrics: list[str], seed: int, options: Options | None) -> dict[str, Score]:
    from unbraid.metrics.model.contract import measure
    from unbraid.train.load import load_data, load_run  # torch is not needed for codes

    data = load_data(run.plan.data, **run.plan.data_arguments)
    return measure(load_run(run.path), data.test or data, metrics=metrics, seed=seed, options=options)


def score_file(
    path: Path | str,
    *,
    block: str | None = None,
    metrics: list[str] | None = None,
    seed: int = 0,
    options: Options | None = None,
) -> dict[str, Score]:
    """Scores an npz file with the arrays `codes` [n, d] (or `codes_<block>`) and `factors` [n, k]."""
    if of_model := set(metrics or ()) & set(catalogue.of_models()):
        raise UserError(f"{of_model.pop()} needs the model, and {path} has codes alone: give a run's directory")
    for metric, given in (options or {}).items():
        catalogue.check(catalogue.find("metrics", metric), dict(given))
    arrays = read_arrays(Path(path))
    name, codes, units = _codes(arrays, block, Path(path))
    if "factors" not in arrays:
        raise UserError(f"{path} has no array 'factors' [n, k]: there is nothing to score the codes against")
    if arrays["factors"].ndim == 2 and arrays["factors"].shape[1] == 0:
        return {}
    names = [str(factor) for factor in arrays["factor_names"]] if "factor_names" in arrays else None
    settings: dict[str, Any] = {"metrics": metrics, "seed": seed, "names": names, "units": units, "options": options}
    scores = score_arrays(codes, arrays["factors"], **settings)
    return {metric: replace(s, params={**s.params, "block": name}) for metric, s in scores.items()} if name else scores


def score_two_sets(arrays: dict[str, NDArray[Any]], *, seed: int = 0) -> dict[str, Score]:
    """How a target and a background differ in the arrays of a codes.npz; nothing where there is no background.

    Args:
        seed: of whatever the metrics draw
    """
    if "background_rows" not in arrays:
        return {}

    def blocks(prefix: str) -> dict[str, NDArray[Any]]:
        return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}

    names = [name.removeprefix("codes_") for name in arrays if name.startswith("codes_")]
    background = {name: arrays[f"background_{name}"] for name in names}
    factors, label = [str(name) for name in arrays["factor_names"]], str(arrays["label"])
    labels = arrays["factors"][:, factors.index(label)] if label in factors else None
    return compare(blocks("codes_"), background, labels, (blocks("scale_"), blocks("background_scale_")), seed=seed)


def score_labelled(arrays: dict[str, NDArray[Any]], *, seed: int = 0) -> dict[str, Score]:
    """What the arrays of a codes.npz say of classes; nothing where there are none, or where there is a background.

    Args:
        seed: of whatever the metrics draw
    """
    if "groups" not in arrays or "background_rows" in arrays:
        return {}
    blocks = {name.removeprefix("codes_"): array for name, array in arrays.items() if name.startswith("codes_")}
    names, groups = ([str(name) for name in arrays[key]] for key in ("factor_names", "groups"))
    label, predicted = str(arrays["label"]), arrays.get("predicted")
    return score_classes(blocks, arrays["factors"], names, label, groups, predicted, seed=seed)


def score_slices(arrays: dict[str, NDArray[Any]], *, seed: int = 0) -> dict[str, Score]:
    """What the slices z0, z1, ... of a code tell of what views share, or of all factors; nothing where it has none.

    Args:
        seed: of whatever the metrics draw
    """
    blocks = {name.removeprefix("codes_"): array for name, array in arrays.items() if name.startswith("codes_")}
    names = [str(name) for name in arrays["factor_names"]]
    tasks = [str(name) for name in arrays["shared"]] if "shared" in arrays else names
    return compare_slices(blocks, arrays["factors"][:, [names.index(task) for task in tasks]], tasks, seed=seed)


def _codes(
    arrays: dict[str, NDArray[Any]], block: str | None, path: Path
) -> tuple[str, NDArray[np.floating[Any]], Units]:
    """A block's name, its codes, and the feature that each of its latents belongs to where features have several."""
    blocks = {name.removeprefix("codes_"): array for name, array in arrays.items() if name.startswith("codes_")}
    if block is None and "codes" in arrays:
        return "", arrays["codes"], None
    if not blocks and "codes" in arrays:
        raise UserError(f"{path} has plain codes, which are not cut into blocks: leave out the block '{block}'")
    if not blocks:
        raise UserError(f"{path} has no array 'codes' [n, d]; it has: {', '.join(arrays) or 'nothing'}")
    if block is not None and block not in blocks:
        raise UserError(f"{path} has no block '{block}'; it has: {', '.join(blocks)}")
    name = block or next(iter(blocks))
    return name, blocks[name], arrays[f"units_{name}"].tolist() if f"units_{name}" in arrays else None
