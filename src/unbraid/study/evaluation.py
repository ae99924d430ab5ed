"""How the runs of a study are evaluated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any

from unbraid import catalogue
from unbraid.errors import UserError
from unbraid.metrics.suite import DEFAULT
from unbraid.problems.scores import check_metrics


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How runs are evaluated.

    Args:
        metrics: names, or a dictionary from name to options; any score that a run can have may be named (evaluate.py);
            'downstream:gbt' is the metric 'downstream' under a name of its own
        points: rows to encode for the scores
        bootstrap: resamplings for the interval of one run's score; a study has its seeds for that
        measures: functions of your own, as 'file.py:name' beside the study file, called with (run, method, data,
            codes); what they give, in JSON types, is kept in evaluation.json
    """

    metrics: Sequence[str] | Mapping[str, Mapping[str, Any]] = field(default=DEFAULT)
    points: int = 10_000
    bootstrap: int = 0
    measures: Sequence[str] = ()

    def resolved(self, folder: Path) -> dict[str, Any]:
        """In plain JSON types, checked; `folder` is where the files of measures are."""
        if isinstance(self.metrics, str):
            raise UserError(f"metrics must be a list of names, not the word '{self.metrics}'")
        if isinstance(self.measures, str):
            raise UserError(f"measures must be a list, not the word '{self.measures}'")
        for name, least in (("points", 1), ("bootstrap", 0)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or value < least:
                raise UserError(f"{name} must be a whole number of at least {least}, not {value!r}")
        names = [spec.rpartition(":")[2] for spec in self.measures]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise UserError(f"two measures are called '{repeated[0]}', and results are kept by that name")
        given = self.metrics if isinstance(self.metrics, Mapping) else {name: {} for name in self.metrics}
        for label, options in given.items():
            if not isinstance(options, Mapping):
                raise UserError(f"the options of {label} must be a dictionary, {{}} for none, not {options!r}")
        check_metrics(given)
        measures = [str(folder / spec) if ".py:" in spec else spec for spec in self.measures]
        for measure in measures:
            catalogue.check_place(measure)
        plain = {
            "points": int(self.points),
            "bootstrap": int(self.bootstrap),
            "metrics": {label: dict(options) for label, options in given.items()},
            **({"measures": measures} if measures else {}),
        }
        return json.loads(json.dumps(plain))  # type: ignore[no-any-return]  # as it will be read again: lists, not tuples
