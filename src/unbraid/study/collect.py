"""All runs below a folder as one tidy table: one row for each run and each value of a metric.

run, method, data, seed, steps, batch       what was run
objective                                   method, with its arguments in words that vary: 'dip_vae dip_variant=ii'
strength, strength_name                     the one number among the method's arguments that varies, if it is one
setting                                     all arguments of the method that vary: 'dip_variant=ii, lambda_od=5.0'
condition                                   all arguments of the data set that vary: 'combine=nonlinear'
one column for each argument                of methods, data sets and samplers, and decay; empty where a run has none;
                                            'argument.NAME' where another column or a metric has its name
label                                       the run's name in tables, where its study gives it one
metric, value, low, high, null              'mig'; parts as 'dci.completeness'; quantities of evaluation.json as
                                            'elbo', 'total_correlation.sampled'; costs as 'seconds.train'; measures
                                            by name, 'measure.NAME' where one of these has it already
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import UserError
from unbraid.study.store import open_store
from unbraid.train.run import KINDS, of_another_kind, write

if TYPE_CHECKING:
    import pandas as pd

FIRST = ["run", "method", "objective", "data", "condition", "seed", "steps", "batch", "setting"]
FIRST += ["strength_name", "strength"]
LAST = ["metric", "value", "low", "high", "null"]
OWN = [*FIRST, *LAST, "label"]  # an argument of such a name has the column 'argument.NAME'
NEEDED = {"method", "arguments", "data", "data_arguments", "sampling", "seed", "steps", "batch"}  # in run.json
LAST_FILE = "evaluation.json"


def collect(out: str | Path, runs: Collection[str] | None = None) -> pd.DataFrame:
    """The tidy table of the runs in a folder, or at a URL, that have scores or an evaluation.

    Args:
        runs: names of those that are taken; all of them unless given
    """
    import pandas as pd

    store = open_store(str(out))
    configs, scores, evaluations = (_parsed(store.read_all(f), f) for f in ("run.json", "scores.json", LAST_FILE))
    wanted = set(configs if runs is None else runs) & (scores.keys() | evaluations.keys())
    names = [name for name in configs if name and name in wanted]
    if not names:
        raise UserError(f"there is no scored run in {out}")
    for name in names:
        if wrong := of_another_kind(configs[name], KINDS):
            raise UserError(f"{name}/run.json is damaged ('{wrong}'): {_cure(name, 'run.json')}")
        if missing := NEEDED - configs[name].keys():
            raise UserError(f"{name}/run.json lacks '{min(missing)}': {_cure(name, 'run.json')}")
    planned = [configs[name] for name in names]
    varying = _varying((config["method"], config["arguments"]) for config in planned)
    conditions = _varying((config["data"], _of_data(config)) for config in planned)
    described, rows = [], []
    for number, (name, config) in enumerate(zip(names, planned, strict=True)):
        described.append({"run": name, **_described(config, varying[config["method"]], conditions[config["data"]])})
        if evaluations.get(name, {}).get("label"):
            described[-1]["label"] = str(evaluations[name]["label"])
        try:
            rows += [(number, *row) for row in _values(scores.get(name, {}), evaluations.get(name, {}))]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise UserError(
                f"{name}/scores.json or its {LAST_FILE} is not what a study writes ({error}): {_cure(name, LAST_FILE)}"
            ) from error
    values = pd.DataFrame(rows, columns=["number", *LAST])
    known = {*OWN, *values["metric"]}
    values["metric"] = [name if (own := name.removeprefix("measure.")) in known else own for name in values["metric"]]
    table = pd.DataFrame(described)
    taken = set(values["metric"]).difference(OWN)
    table = table.rename(columns={name: f"argument.{name}" for name in table.columns if name in taken})
    _unify(table)
    table["strength"] = table["strength"].astype("float64")
    table = table[[*FIRST, *(column for column in table.columns if column not in FIRST)]]
    table = table.loc[values.pop("number")].reset_index(drop=True)
    return pd.concat([table, values.astype(dict.fromkeys(LAST[1:], "float64"))], axis=1)


def _unify(table: pd.DataFrame) -> None:
    """A column of a table has one type, and an argument of one name may have several."""
    import pandas as pd

    for column in table.columns:
        types = {type(value) for value in table[column] if not pd.isna(value)}
        if len(types - {float}) > 1 or (types - {float, int} and len(types) > 1):
            table[column] = table[column].map(str, na_action="ignore")
        if table[column].dtype.kind == "O":
            table[column] = table[column].where(table[column].notna(), None)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each run, with a column for each metric."""
    columns = [column for column in table.columns if column not in LAST]
    values = table.pivot(index="run", columns="metric", values="value")
    return table[columns].drop_duplicates("run").merge(values, left_on="run", right_index=True, how="left")


def write_table(table: pd.DataFrame, path: Path) -> list[Path]:
    """The table as `path`.parquet and `path`.csv."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet, csv = path.with_name(f"{path.name}.parquet"), path.with_name(f"{path.name}.csv")
    write(parquet, table.to_parquet(index=False))
    write(csv, table.to_csv(index=False).encode())
    return [parquet, csv]


def _parsed(found: dict[str, bytes], file: str) -> dict[str, Any]:
    parsed = {}
    for name, content in found.items():
        try:
            parsed[name] = json.loads(content)
            if not isinstance(parsed[name], dict):
                raise ValueError("it is no JSON object")
        except (ValueError, RecursionError) as error:
            raise UserError(f"{name}/{file} is damaged ({error}): {_cure(name, file)}") from error
    return parsed


def _cure(name: str, file: str) -> str:
    """A run is evaluated again where it has no evaluation.json, and trained again where it has no directory."""
    return f"delete {name if file == 'run.json' else f'{name}/{LAST_FILE}'} and run the study again"


def _varying(runs: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, list[str]]:
    """For each method or data set the names of its arguments that are not the same in all its runs."""
    seen: dict[str, dict[str, set[str]]] = {}
    for name, arguments in runs:
        known = seen.setdefault(name, {})
        for argument, value in arguments.items():
            known.setdefault(argument, set()).add(repr(value))
    return {name: [n for n, values in known.items() if len(values) > 1] for name, known in seen.items()}


def _of_data(config: dict[str, Any]) -> dict[str, Any]:
    return {**config["data_arguments"], **config["sampling"]}


def _described(config: dict[str, Any], varying: list[str], conditions: list[str]) -> dict[str, Any]:
    own, of_data = config["arguments"], _of_data(config)
    numbers = [name for name in varying if isinstance(own.get(name), int | float) and not isinstance(own[name], bool)]
    words = [name for name in varying if name not in numbers]
    known = {name: config[name] for name in ("method", "data", "seed", "steps", "batch")}
    arguments = {**of_data, **own}
    arguments |= {"decay": config["decay"]} if config.get("decay") else {}
    arguments = {name: str(value) if isinstance(value, list | dict) else value for name, value in arguments.items()}
    return {
        **{name if name not in OWN else f"argument.{name}": value for name, value in arguments.items()},
        **known,
        "objective": " ".join([config["method"], *(f"{name}={own.get(name)}" for name in words)]),
        "setting": ", ".join(f"{name}={own.get(name)}" for name in varying),
        "condition": ", ".join(f"{name}={of_data[name]}" for name in conditions if of_data.get(name) is not None),
        "strength_name": numbers[0] if len(numbers) == 1 else None,
        "strength": float(own[numbers[0]]) if len(numbers) == 1 else None,
    }


def _values(scores: dict[str, Any], evaluation: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Name, value, low, high and null of everything that one run measured."""
    for name, score in scores.items():
        yield name, *(_number(score[part]) for part in LAST[1:])
        for part, value in _flat(score["parts"], name):
            yield part, _number(value), None, None, None
    for name, value in evaluation.get("quantities", {}).items():
        yield name, _number(value), None, None, None
    for name, value in _flat(evaluation.get("measures", {}), "measure"):
        yield name, _number(value), None, None, None
    for name, value in evaluation.get("seconds", {}).items():
        yield f"seconds.{name}", _number(value), None, None, None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _flat(parts: dict[str, Any], prefix: str) -> Iterator[tuple[str, float | None]]:
    """Numbers in nested dictionaries; lists (for each factor, each latent) stay in scores.json."""
    for name, value in parts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}.{name}")
        elif value is None or isinstance(value, int | float):
            yield f"{prefix}.{name}", value
