"""Codes: one record of what a trained method makes of some rows of a data set; it is kept as codes.npz.

In the file: codes_<block> [n, d]; scale_<block> [n, d], standard deviations, where the code is Gaussian, and kl_<block>
[d], mean KL to the prior in nats, where that is a standard normal; units_<block> [d], the feature that each latent
belongs to, where features have several dimensions; factors [n, k], factor_names [k], kinds (names of factors without
order), rows [n]. Of samples that are features and not images: feature_names [d]. Where there are classes: label and
groups (names of factors), predicted [n] if the method classifies. Where views share factors: shared (their names). Of a
target with a background also background_rows [m], background_<block> [m, d] and background_scale_<block>. The rest was
added by a kind of problem (problems/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.errors import UserError
from unbraid.train.run import Run

FILE = "codes.npz"
Arrays = dict[str, NDArray[Any]]
Rows = NDArray[np.int64]  # [n]


@dataclass(frozen=True)
class Block:
    """One block of a code, such as z."""

    codes: NDArray[Any]  # [n, d]
    kl: NDArray[Any] | None = None  # [d] mean KL to the prior in nats, where that is a standard normal
    scale: NDArray[Any] | None = None  # [n, d] standard deviations, where the code is Gaussian
    units: NDArray[Any] | None = None  # [d] the feature of each latent, where features have several dimensions

    @property
    def width(self) -> int:
        return int(self.codes.shape[1])

    def sampled(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """A draw of each code, [n, d]; the code itself where it is not Gaussian."""
        mean = np.asarray(self.codes, np.float64)
        return mean if self.scale is None else mean + self.scale * rng.normal(size=mean.shape)

    @property
    def carried(self) -> NDArray[Any]:
        """How much each feature carries: nats where that is known, else standard deviations."""
        weight = self.kl if self.kl is not None else self.codes.std(0)
        return weight if self.units is None else np.bincount(self.units, weight)


@dataclass(frozen=True)
class Codes:
    """The codes of some rows of a data set, and what is known of those rows."""

    blocks: dict[str, Block]
    rows: Rows  # [n]
    factors: NDArray[Any]  # [n, k]
    factor_names: tuple[str, ...]  # empty where they have no names
    label: str | None = None  # the factor that is the class
    class_names: tuple[str, ...] = ()  # of its values, if they have names
    groups: tuple[str, ...] = ()  # factors that make groups with the class
    shared: tuple[str, ...] = ()  # factors that two views share
    kinds: tuple[str, ...] = ()  # factors whose values have no order
    features: tuple[str, ...] = ()  # names of the features that the samples have; empty where they are images
    predicted: NDArray[Any] | None = None  # [n] classes by the method's own classifier
    background: Codes | None = None
    extra: Arrays = field(default_factory=dict)  # what a kind of problem adds

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def first(self) -> str:
        """The block that is scored unless another is asked for."""
        return next(iter(self.blocks))

    @property
    def labels(self) -> NDArray[Any] | None:
        """[n] the classes, where there are any."""
        return self.factor(self.label) if self.label in self.factor_names else None

    def factor(self, name: str | None) -> NDArray[Any]:
        """[n] the values of one factor."""
        values: NDArray[Any] = self.factors[:, self.factor_names.index(str(name))]
        return values

    def named(self, factor: str, value: Any) -> str:
        """A value of a factor in words: 'digit 3', 'kind malignant'."""
        names = self.class_names if factor == self.label else ()
        return f"{factor} {names[int(value)] if 0 <= value < len(names) else value}"

    def means(self) -> dict[str, NDArray[Any]]:
        """The codes of each block."""
        return {name: block.codes for name, block in self.blocks.items()}

    def scales(self) -> dict[str, NDArray[Any]]:
        """The standard deviations of each block that has them."""
        return {name: block.scale for name, block in self.blocks.items() if block.scale is not None}

    def arrays(self) -> Arrays:
        """As they stand in the file."""
        found = {f"codes_{name}": block.codes for name, block in self.blocks.items()}
        for part in ("kl", "scale", "units"):
            found |= {f"{part}_{n}": a for n, b in self.blocks.items() if (a := getattr(b, part)) is not None}
        found |= {"factors": self.factors, "factor_names": np.array(self.factor_names, dtype=str), "rows": self.rows}
        if self.kinds:
            found["kinds"] = np.array(self.kinds, dtype=str)
        if self.features:
            found["feature_names"] = np.array(self.features, dtype=str)
        if self.label is not None:
            found |= {"label": np.array(self.label), "groups": np.array(self.groups, dtype=str)}
        if self.class_names:
            found["class_names"] = np.array(self.class_names, dtype=str)
        if self.shared:
            found["shared"] = np.array(self.shared, dtype=str)
        if self.predicted is not None:
            found["predicted"] = self.predicted
        if self.background is not None:
            found["background_rows"] = self.background.rows
            found |= {f"background_{name}": array for name, array in self.background.means().items()}
            found |= {f"background_scale_{name}": array for name, array in self.background.scales().items()}
        return found | self.extra

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], where: str = "the file") -> Codes:
        """The inverse; of a file with plain `codes` [n, d] and `factors` [n, k] too, whose only block has no name."""
        rest = dict(arrays)
        names = [name.removeprefix("codes_") for name in arrays if name.startswith("codes_")]
        if not names and "codes" not in arrays:
            raise UserError(f"{where} has no array 'codes' [n, d]; it has: {', '.join(arrays) or 'nothing'}")
        parts = ("codes", "kl", "scale", "units")
        blocks = {name: Block(*(rest.pop(f"{part}_{name}", None) for part in parts)) for name in names}  # type: ignore[arg-type]
        if "codes" in rest:
            blocks = {"": Block(rest.pop("codes")), **blocks}
        n = len(np.atleast_1d(next(iter(blocks.values())).codes))
        factors = rest.pop("factors", np.zeros((n, 0), np.int64))
        factors = factors[:, None] if factors.ndim == 1 else factors
        if factors.ndim != 2:
            raise UserError(f"{where}: factors must have the shape [samples, factors], not {list(factors.shape)}")
        _check_together(where, blocks, factors)
        shared, groups, kinds = (_names(rest.pop(name, ())) for name in ("shared", "groups", "kinds"))
        label = rest.pop("label", None)
        return cls(
            blocks=blocks,
            rows=rest.pop("rows", np.arange(len(factors))),
            factors=factors,
            factor_names=_names(rest.pop("factor_names", ())),
            kinds=kinds,
            features=_names(rest.pop("feature_names", ())),
            label=str(label) if label is not None and str(label) else None,
            class_names=_names(rest.pop("class_names", ())),
            groups=groups,
            shared=shared,
            predicted=rest.pop("predicted", None),
            background=_background(rest, names, where),
            extra=rest,
        )._checked(where)

    def _checked(self, where: str) -> Codes:
        """Itself, where its parts agree in their names and numbers."""
        n, k = self.factors.shape
        names = self.factor_names
        fits = {
            "factor_names": not names or len(set(names)) == len(names) == k,
            "rows": self.rows.shape == (n,) and self.rows.dtype.kind in "iu",
            "predicted": self.predicted is None or self.predicted.shape == (n,),
            "label": self.predicted is None or self.label is None or self.label in names,
            "groups": set(self.groups) <= set(names),
            "shared": set(self.shared) <= set(names),
        }
        wrong = [name for name, fit in fits.items() if not fit]
        if wrong:
            raise UserError(f"{where} is damaged: '{wrong[0]}' does not fit its {n} rows of {k} factors")
        if strangers := [name for name in self.kinds if name not in names]:
            raise UserError(
                f"{where}: 'kinds' holds names of factors, and '{strangers[0]}' is not in its 'factor_names' "
                f"({', '.join(names) or 'there are none'})"
            )
        return self


def _check_together(where: str, blocks: dict[str, Block], factors: NDArray[Any]) -> None:
    """Refuses blocks that are no numbers [n, d] for the same n as the factors, or whose parts have other sizes."""
    n = len(factors)
    for name, block in blocks.items():
        shape, kind = block.codes.shape, block.codes.dtype.kind
        if len(shape) != 2 or shape[0] != n or kind not in "fiub":
            raise UserError(
                f"{where}: the codes{f' of {name}' if name else ''} are {block.codes.dtype} {list(shape)}, and must be "
                f"numbers [{n}, latents], a row for each of the factors"
            )
        for part, array, wanted in (
            ("kl", block.kl, shape[1:]),
            ("scale", block.scale, shape),
            ("units", block.units, shape[1:]),
        ):
            if array is not None and (array.shape != wanted or array.dtype.kind not in "fiub"):
                raise UserError(
                    f"{where} is damaged: '{part}_{name}' is {array.dtype} {list(array.shape)}, not {list(wanted)}"
                )
    if factors.dtype.kind not in "fiub":
        raise UserError(f"{where}: factors are {factors.dtype}, and must be numbers")


def _background(rest: Arrays, names: list[str], where: str) -> Codes | None:
    if "background_rows" not in rest:
        return None
    if missing := [name for name in names if f"background_{name}" not in rest]:
        raise UserError(f"{where} is damaged: it has 'background_rows', and no 'background_{missing[0]}'")
    rows = rest.pop("background_rows")
    blocks = {
        name: Block(rest.pop(f"background_{name}"), scale=rest.pop(f"background_scale_{name}", None)) for name in names
    }
    return Codes(blocks, rows, np.zeros((len(rows), 0), np.int64), ())


def _names(given: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in given)


@contextmanager
def fitting_together(run: Run) -> Iterator[None]:
    """Raises a UserError where the files of a run can each be read, and yet contradict each other."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise UserError(
            f"the files of {run.path} do not fit together ({reason}): remove codes.npz, pictures.npz and scores.json, "
            f"and 'unbraid report {run.path}' makes them anew"
        ) from error


def read_codes(run: Run) -> Codes:
    """The codes that a run was encoded to."""
    return Codes.from_arrays(run.arrays(FILE), str(run.path / FILE))
