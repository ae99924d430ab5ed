"""The metrics of codes as classes of torchmetrics, for training loops and Lightning modules.

    from unbraid.torchmetrics import MIG

    mig = MIG(bins=20)
    for images, factors in loader:
        mig.update(encoder(images), factors)  # [batch, latents], [batch, factors]
    mig.compute()  # what score_arrays gives as the value of 'mig' for all rows

There is one class for each metric of `unbraid.metrics` on codes and factors, or on codes alone, made from the function
of the metric; `dir(unbraid.torchmetrics)` lists them. Their arguments are those of the function, `seed`, and those of
`torchmetrics.Metric`.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import torch
from torch import Tensor

from unbraid.errors import UserError, unknown
from unbraid.metrics import suite

try:
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat, rank_zero_warn
except ImportError as error:
    raise UserError("torchmetrics is not installed: pip install 'unbraid[torchmetrics]'") from error

CAPITALS = ("dci", "dcimig", "es", "irs", "jemmig", "mcc", "mec", "mig", "r2", "sap", "vae")  # words that are initials
LOWER_IS_BETTER = ("gaussian_total_correlation", "mutual_info_score", "wasserstein_correlation")
OWN_OPTIONS = (
    "compute_on_cpu",
    "compute_with_cache",
    "dist_sync_fn",
    "dist_sync_on_step",
    "distributed_available_fn",
    "process_group",
    "sync_on_compute",
)  # of torchmetrics.Metric


class CodeMetric(Metric):
    """A metric of codes alone: keeps the codes of every `update`, of all processes, and scores them in `compute`.

    Args:
        seed: of all random numbers
        options: arguments of the metric, and those of `torchmetrics.Metric`
    """

    full_state_update = False
    is_differentiable = False
    metric_name: ClassVar[str]
    codes: list[Tensor]

    def __init__(self, *, seed: int = 0, **options: Any) -> None:
        super().__init__(**{name: options.pop(name) for name in OWN_OPTIONS if name in options})
        suite.check_options([self.metric_name], seed, {self.metric_name: options})
        self.seed, self.options = seed, options
        self.add_state("codes", default=[], dist_reduce_fx="cat")

    def update(self, codes: Tensor) -> None:
        """Adds rows, [batch, latents]."""
        self.codes.append(codes.detach())

    def compute(self) -> Tensor:
        """The value for all rows; NaN, with a warning that says why, where it is undefined."""
        return self._value(_array(self.codes), None)

    def _value(self, codes: Any, factors: Any) -> Tensor:
        name = self.metric_name
        options = {name: self.options}
        found = suite.score(codes, factors, metrics=[name], seed=self.seed, bootstrap=0, chance=False, options=options)[
            name
        ]
        if found.value != found.value:
            rank_zero_warn(f"{name} is undefined: {found.warnings[-1]}")
        return torch.tensor(found.value, device=self.device)


class FactorMetric(CodeMetric):
    """A metric of codes against factors: keeps both of every `update`, of all processes, and scores them in `compute`.

    Args:
        seed: of all random numbers
        options: arguments of the metric, and those of `torchmetrics.Metric`
    """

    factors: list[Tensor]

    def __init__(self, *, seed: int = 0, **options: Any) -> None:
        super().__init__(seed=seed, **options)
        self.add_state("factors", default=[], dist_reduce_fx="cat")

    def update(self, codes: Tensor, factors: Tensor) -> None:  # type: ignore[override]
        """Adds rows, [batch, latents] and [batch, factors]."""
        if len(codes) != len(factors):
            raise UserError(
                f"codes have {len(codes)} samples and factors {len(factors)}: they must be the same samples"
            )
        super().update(codes)
        self.factors.append(factors.detach())

    def compute(self) -> Tensor:
        """The value for all rows; NaN, with a warning that says why, where it is undefined."""
        return self._value(_array(self.codes), _array(self.factors))


def class_name(name: str) -> str:
    """'factor_vae_score' -> 'FactorVAEScore'."""
    return "".join(word.upper() if word in CAPITALS else word.capitalize() for word in name.split("_"))


def _array(batches: list[Tensor] | Tensor) -> Any:
    if not len(batches):
        raise UserError("there is nothing to score: call update before compute")
    rows = dim_zero_cat(batches).cpu()
    return (rows.float() if rows.dtype == torch.bfloat16 else rows).numpy()


def _class_of(name: str) -> type[CodeMetric]:
    function = suite.metric_function(name)
    base = FactorMetric if suite.needs_factors(function) else CodeMetric
    own = inspect.Parameter("seed", inspect.Parameter.KEYWORD_ONLY, default=0, annotation="int")
    rest = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    options = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    more = ["Args:"] if not options else []
    more += ["    seed: of all random numbers", "    options: of `torchmetrics.Metric`"]
    content = {
        "__doc__": "\n".join([inspect.getdoc(function) or "", *more]),
        "__module__": __name__,
        "__signature__": inspect.Signature([*options, own, rest]),
        "metric_name": name,
        "higher_is_better": name not in LOWER_IS_BETTER,
    }
    return type(class_name(name), (base,), content)


CLASSES = {class_name(name): _class_of(name) for name in suite.available()}
globals().update(CLASSES)  # so that they can be imported, and pickled, by name
__all__ = ["CodeMetric", "FactorMetric", *CLASSES]


def __getattr__(name: str) -> type[Any]:
    raise AttributeError(str(unknown("metric of unbraid.torchmetrics", name, CLASSES)))


def __dir__() -> list[str]:
    return sorted(__all__)
