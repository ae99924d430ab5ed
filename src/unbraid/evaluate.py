"""The evaluator: codes, pictures and scores of a trained run, for the command line, studies and experiments alike."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid import catalogue
from unbraid.codes import FILE, Block, Codes, read_codes
from unbraid.data.io import column_files
from unbraid.data.io.array_files import read_arrays
from unbraid.errors import UserError, of_the_disk
from unbraid.metrics.contract import Score
from unbraid.metrics.suite import DEFAULT, Tell, available, metric_function, needs_factors, silent
from unbraid.problems import problems_of
from unbraid.problems.contract import EXAMPLES, Trained
from unbraid.problems.scores import Loaded, Options, all_scores, check_metrics, has_factors, split_name, take_scores
from unbraid.train.run import Damaged, Run, write

if TYPE_CHECKING:  # scores of codes need no torch
    from unbraid.data.table import Table
    from unbraid.methods.contract import Method

POINTS = 10_000  # rows encoded unless another number is asked for


def represent(
    run: Run | Path | str,
    method: Method[Any],
    data: Table,
    *,
    points: int = POINTS,
    image: int | None = None,
    seed: int = 0,
    tell: Tell = silent,
) -> Codes:
    """Writes codes.npz and pictures.npz of a run, and gives the codes.

    Args:
        run: the run, or its directory
        method: that of the run, trained
        data: that of the run
        points: number of rows to encode, drawn without replacement; all of them where there are fewer
        image: row of the image whose traversals are drawn; the first drawn one unless given
        seed: of the draw
        tell: is called with what is done next
    """
    import torch

    from unbraid.encode import encode

    run, table = Run.of(run), data.test or data
    if image is not None and not 0 <= image < len(table):
        raise UserError(f"there is no image {image}: {table.name} has the rows 0 to {len(table) - 1}")
    tell(f"encoding {min(points, len(table)):,} samples")
    codes = encode(method, data, points=points, seed=seed)
    examples = np.concatenate([codes.rows[:1] if image is None else [image], codes.rows[1:EXAMPLES]]).astype(np.int64)
    trained = Trained(method, table, table.background or data.background, examples, seed)
    problems = problems_of(codes)
    tell("drawing pictures")
    with torch.no_grad():
        codes = replace(codes, extra={n: a for problem in problems for n, a in problem.arrays(trained, codes).items()})
        pictures = {name: drawn for problem in problems for name, drawn in problem.pictures(trained, codes).items()}
    for problem in problems:
        for name, content in problem.files(trained, codes).items():
            write(run.path / name, content)
    if pictures:
        run.write_arrays("pictures.npz", **pictures)
    run.write_arrays(FILE, **codes.arrays())  # last: where it is, all is there
    return codes


def score(
    run: Run | Path | str,
    *,
    block: str | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    options: Options | None = None,
    trust: bool = False,
    tell: Tell = silent,
) -> dict[str, Score]:
    """Scores the codes of a run and adds to its scores.json.

    Metrics that need the model are taken of the run's method and data set, which are loaded again.

    Args:
        run: the run, or its directory
        block: of the code; the first unless given
        metrics: their names; unless given, the default suite and all scores of the run's kinds of problem
        seed: of whatever the metrics draw
        options: keyword arguments of a metric, by its name
        trust: import code of its own that the run names, where a metric needs the model
        tell: is called with what is done next
    """

    found = Run.of(run)

    def loaded() -> tuple[Method[Any], Table]:
        from unbraid.train.load import load_method, load_table

        return load_method(found.path, trust=trust or found.trusted), load_table(found, trust=trust)

    warn_if_unfinished(found)
    of_model = metrics is not None and set(metrics) <= set(catalogue.of_models())
    codes = None if of_model else read_codes(found)
    scores = _scores(codes, metrics, options, seed=seed, block=block, loaded=loaded, where=str(found.path), tell=tell)
    found.write_json("scores.json", found.scores() | {name: value.as_dict() for name, value in scores.items()})
    return scores


def score_file(
    path: Path | str,
    *,
    block: str | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    options: Options | None = None,
    codes: Sequence[str] | None = None,
    factors: Sequence[str] | None = None,
) -> dict[str, Score]:
    """Scores columns of a csv, tsv, parquet or h5ad file, or an npz file with the arrays `codes` [n, d] (or
    `codes_<block>`) and `factors` [n, k].

    Args:
        block: of the code; the first unless given
        metrics: their names; unless given, the default suite and all scores of the file's kinds of problem
        seed: of whatever the metrics draw
        options: keyword arguments of a metric, by its name
        codes: columns with the codes, by name or as patterns such as 'z*'
        factors: columns with the factors
    """
    if codes or factors or Path(path).suffix.lower() in column_files.OPEN:
        columns = _from_columns(str(path), codes or (), factors or ())
        return _scores(columns, metrics, options, seed=seed, block=block, loaded=None, where=str(path))
    arrays = read_arrays(Path(path))
    found = Codes.from_arrays(arrays, str(path))
    if "factors" not in arrays:
        raise UserError(f"{path} has no array 'factors' [n, k]: there is nothing to score the codes against")
    return _scores(found, metrics, options, seed=seed, block=block, loaded=None, where=str(path))


def _from_columns(path: str, codes: Sequence[str], factors: Sequence[str]) -> Codes:
    """Columns of a table as codes and factors; text stands for kinds."""
    from unbraid.data.io.table_files import read_columns

    if not codes or not factors:
        raise UserError(
            f"say which columns of {path} are codes and which are factors, as in --codes 'z*' --factors shape,scale"
        )
    stored = read_columns(path, codes, factors)
    assert stored.known is not None
    columns, kinds = [], []
    for name in factors:
        column = stored.known[name]
        if column.isna().any():
            raise UserError(f"the factor '{name}' of {path} has no value in row {int(column.isna().argmax())}")
        values = np.asarray(column)
        if values.dtype.kind not in "iufb":
            values = np.unique(values.astype(str), return_inverse=True)[1]
            kinds.append(name)
        columns.append(values)
    return Codes(
        {"": Block(stored.features)},
        np.arange(len(columns[0])),
        np.stack(columns, 1),
        tuple(factors),
        kinds=tuple(kinds),
    )


def complete(
    run: Run,
    loaded: Loaded,
    points: int | None,
    *,
    image: int | None = None,
    suite: bool = False,
    metrics: Sequence[str] | None = None,
    tell: Tell = silent,
) -> None:
    """Makes the codes, pictures and scores of a trained run that are missing, or that are asked for in another way.

    Args:
        loaded: gives the method and its data
        points: images to encode; as many as before unless given
        image: row of the image to traverse; encodes again
        suite: complete the default suite where a few metrics have been taken alone
        metrics: the scores to take, in place of all
        tell: is called with what is done next
    """
    warn_if_unfinished(run)
    before = len(read_codes(run).rows) if (run.path / FILE).exists() else None
    if before is None or image is not None or points is not None:
        method, table = loaded()
        wanted = min(points or before or POINTS, len(table.test or table))
        if wanted != before:  # first: a process that is killed leaves no scores of other codes
            (run.path / "scores.json").unlink(missing_ok=True)
        if wanted != before or image is not None:
            represent(run, method, table, points=wanted, image=image, tell=tell)
    if metrics is not None:
        score(run, metrics=metrics, tell=tell)
    elif not (run.path / "scores.json").exists() or (suite and not _has_suite(run)):
        try:
            score(run, tell=tell)
        except UserError as error:
            if of_the_disk(error) or isinstance(error, Damaged):
                raise
            warnings.warn(f"there are no scores: {error}", stacklevel=2)


def evaluate(
    run: Run, method: Method[Any], data: Table, wanted: dict[str, Any], *, threads: int, kept: Mapping[str, Any]
) -> dict[str, Any]:
    """Encodes and scores a trained run as a study asks for it; gives what goes into its evaluation.json.

    Args:
        wanted: points, bootstrap, metrics with their options, measures
        threads: of the metrics
        kept: metrics with their options that an earlier evaluation of the same rows has taken
    """
    from unbraid.metrics.model.quantities import unsupervised_quantities

    codes = represent(run, method, data, points=wanted["points"])
    missing = {label: options for label, options in wanted["metrics"].items() if kept.get(label) != options}
    if not codes.factors.shape[1]:
        missing = {n: o for n, o in missing.items() if not _needs_factors(n)}
    found = take_scores(
        codes, missing, bootstrap=wanted["bootstrap"], jobs=threads, loaded=lambda: (method, data), where=str(run.path)
    )
    before = run.scores() if kept else {}
    run.write_json("scores.json", before | {label: value.as_dict() for label, value in found.items()})
    measures = {
        spec.rpartition(":")[2]: catalogue.load_object(spec)(run, method, data, codes)
        for spec in wanted.get("measures", ())
    }
    quantities = unsupervised_quantities(method, data.test or data, codes.rows)
    return {"quantities": quantities} | ({"measures": measures} if measures else {})


def warn_if_unfinished(run: Run) -> None:
    if not run.finished:
        what = f"the training of {run.path} has not reached its {run.plan.steps:,} steps"
        again = f"'{run.plan.command}'" if run.plan.repeated else "the same call of fit"
        warnings.warn(f"{what}: {again} continues it", stacklevel=3)


def _scores(
    codes: Codes | None,
    metrics: Sequence[str] | None,
    options: Options | None,
    *,
    seed: int,
    block: str | None,
    loaded: Loaded | None,
    where: str,
    tell: Tell = silent,
) -> dict[str, Score]:
    """Those that are asked for, or all that there are."""
    if codes is not None and block is not None and block not in codes.blocks:
        named = ", ".join(codes.blocks)
        plain = f"{where} has plain codes, which are not cut into blocks: leave out the block '{block}'"
        raise UserError(f"{where} has no block '{block}'; it has: {named}" if named else plain)
    if seed < 0:
        raise UserError(f"the seed must be 0 or more, not {seed}")
    if metrics is None:
        assert codes is not None
        return all_scores(codes, options or {}, seed=seed, block=block, tell=tell)
    wanted = checked_metrics(metrics, options or {})
    return take_scores(codes, wanted, seed=seed, block=block, loaded=loaded, where=where, tell=tell)


def checked_metrics(metrics: Sequence[str], options: Options) -> Options:
    """The metrics asked for with their options, refused where no run can be scored by them."""
    if not metrics:
        raise UserError("no metric is named: leave --metrics out for all of them; 'unbraid list metrics' shows them")
    if unasked := set(options) - set(metrics):
        raise UserError(f"options are given for '{unasked.pop()}', which is not among the metrics asked for")
    wanted = {name: dict(options.get(name, {})) for name in metrics}
    check_metrics(wanted)
    return wanted


def _has_suite(run: Run) -> bool:
    """Whether the default suite is among the scores, or cannot be taken of these codes."""
    return not has_factors(read_codes(run)) or set(DEFAULT) <= run.scores().keys()


def _needs_factors(label: str) -> bool:
    name = split_name(label.partition(":")[0])[1]
    return name in available() and needs_factors(metric_function(name))
