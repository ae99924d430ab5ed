"""Where lines, dots and ticks of a chart lie: everything in per cent of its width and height."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures.parts import Axis, Chart, Line, Scatter, Spread, SpreadRow

POINTS = 300  # of a line, at most
DOTS = 200  # runs in a row, above which they are not drawn one by one
FEWEST = 8  # values for a violin
HIDES = 8.0  # a curve that starts so many times as far away as it moves later on would hide what follows
Floats = NDArray[np.float64]
History = Sequence[Mapping[str, float]]


def axis(low: float, high: float, *, log: bool = False, label: str = "", count: int = 5) -> Axis:
    """An axis with ticks at round numbers."""
    if not high > low:
        low, high = low - (abs(low) or 1.0) / 10, high + (abs(high) or 1.0) / 10
    ticks = _powers(low, high) if log else _round_numbers(low, high, count)
    empty = Axis(low, high, (), log, label)
    return Axis(low, high, [(place(empty, tick), written(tick)) for tick in ticks], log, label)


def place(on: Axis, value: float) -> float:
    """Where a number lies, in per cent."""
    if on.log:
        return round(100 * math.log(value / on.low) / math.log(on.high / on.low), 2)
    return round(100 * (value - on.low) / (on.high - on.low), 2)


def written(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.10g}"


def curves(runs: Mapping[str, History]) -> list[Chart]:
    """A chart for each loss term, with a line for each run that has it."""
    names = dict.fromkeys(name for rows in runs.values() for row in rows for name in row if name != "step")
    drawn = []
    for name in names:
        lines = {run: points for run, rows in runs.items() if len(points := _points(rows, name))}
        drawn += [curve(name, lines)] if lines else []
    return drawn


def together(rows: History, names: Sequence[str]) -> Chart:
    """Some loss terms in one chart, to see which gives way to which."""
    return curve("", {name: _points(rows, name) for name in names})


def curve(title: str, lines: Mapping[str, Floats]) -> Chart:
    """Lines through points [n, 2], with a cursor; a logarithmic axis where early values would hide the others."""
    known = {name: points for name, points in lines.items() if len(points)}
    y, note = _values_axis([points[:, 1] for points in known.values()])
    steps = np.unique(np.concatenate([points[:, 0] for points in known.values()]))
    x = axis(0.0, float(steps.max()), label="steps", count=4)
    drawn = []
    for colour, (name, points) in enumerate(known.items()):
        at = {float(step): float(value) for step, value in points}
        values = [round_to(at[step]) if step in at else None for step in steps.tolist()]
        drawn.append(Line(name, colour, _path(x, y, points), values=values))
    places = [(place(x, float(step)), f"{step:,.0f}") for step in steps]
    return Chart(title, x, y, drawn, places, note)


def trend(title: str, lines: Mapping[str, tuple[int, Floats]], label: str, names: Sequence[str]) -> Chart:
    """Means with intervals, rows (place, mean, low, high) of each line; `names` are the ticks, from the place 1 on."""
    rows = np.concatenate([points for _, points in lines.values()])
    finite = rows[:, 1:][np.isfinite(rows[:, 1:])]
    low, high = float(finite.min()), float(finite.max())
    log = low > 0 and high > 20 * low
    y = axis(low * 0.8 if log else low - 0.05 * (high - low), high * 1.25 if log else high * 1.02, log=log, label=label)
    edges = Axis(0.5, len(names) + 0.5, ())
    x = Axis(0.5, len(names) + 0.5, [(place(edges, i), name) for i, name in enumerate(names, 1)])
    drawn = []
    for name, (colour, points) in lines.items():
        points = points[np.isfinite(points[:, 1])]
        known = points[np.isfinite(points).all(1)]
        around = np.concatenate([known[:, [0, 2]], known[::-1][:, [0, 3]]]) if len(known) > 1 else np.zeros((0, 2))
        at = {int(row[0]): round_to(float(row[1])) for row in points}
        values = [at.get(i) for i in range(1, len(names) + 1)]
        drawn.append(Line(name, colour, _path(x, y, points[:, :2]), _path(x, y, around), values))
    return Chart(title, x, y, drawn, [(at, name) for at, name in x.ticks], dots=True)


def scatter(title: str, groups: Mapping[str, NDArray[Any]], rest: str = "") -> Scatter:
    """Points [n, 2] of each group; those of `rest` in grey."""
    every = np.concatenate(list(groups.values()))
    low, span = every.min(0), np.ptp(every, axis=0)
    scaled = {name: 3 + 94 * (points - low) / np.where(span > 0, span, 1) for name, points in groups.items()}
    return Scatter(
        title,
        [(name, "".join(f"M{x:.1f} {100 - y:.1f}h0" for x, y in points)) for name, points in scaled.items()],
        rest,
    )


def spread(title: str, groups: Sequence[tuple[str, int, Floats]]) -> Spread:
    """Label, colour and values of each group on one axis: dots, 10 to 90 %, and a violin where there are enough."""
    every = np.concatenate([values for _, _, values in groups])
    reach = 0.04 * float(np.ptp(every)) or 0.1 * abs(float(every[0])) or 0.1
    on = axis(float(every.min()) - reach, float(every.max()) + reach, count=5)
    rows = []
    for label, colour, values in groups:
        low, middle, high = (place(on, float(q)) for q in np.quantile(values, [0.1, 0.5, 0.9]))
        shown = [place(on, float(v)) for v in values] if len(values) <= DOTS else []
        rows.append(SpreadRow(label, colour, shown, low, middle, high, _violin(on, values), len(values)))
    return Spread(title, on, rows)


def round_to(value: float) -> float:
    """Four digits are enough to be read."""
    return float(f"{value:.4g}")


def _violin(on: Axis, values: Floats) -> str:
    """The outline of a smoothed distribution, half of it above the middle."""
    if len(values) < FEWEST or not np.ptp(values) > 0:
        return ""
    width = 1.06 * values.std(ddof=1) * len(values) ** -0.2
    x = np.linspace(max(values.min() - 2 * width, on.low), min(values.max() + 2 * width, on.high), 60)
    height = np.exp(-0.5 * ((x[:, None] - values) / width) ** 2).sum(1)
    height *= 46 / height.max()
    there = [f"{place(on, a):.1f} {50 - h:.1f}" for a, h in zip(x, height, strict=True)]
    back = [f"{place(on, a):.1f} {50 + h:.1f}" for a, h in zip(x[::-1], height[::-1], strict=True)]
    return f"M{'L'.join([*there, *back])}Z"


def _points(rows: History, name: str) -> Floats:
    """Steps and values [n, 2], thinned out where there are many."""
    pairs = [(row["step"], row[name]) for row in rows if name in row and math.isfinite(row[name])]
    kept = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), POINTS)).round().astype(int))
    return np.array([pairs[place] for place in kept], dtype=np.float64).reshape(-1, 2)


def _values_axis(lines: Sequence[Floats]) -> tuple[Axis, str]:
    """The axis of curves; logarithmic, or cut where values are not positive, if early values would hide the others."""
    every = np.concatenate(lines)
    late = np.concatenate([values[len(values) // 10 :] for values in lines])
    low, high = float(every.min()), float(every.max())
    settled = np.concatenate([values[len(values) // 3 :] for values in lines])
    hidden = len(every) > 9 and high - low > HIDES * max(float(np.ptp(settled)), 1e-12)
    least, most = float(settled.min()), float(settled.max())
    if low > 0 and (most > 20 * least or (hidden and high > 3 * most)):
        return axis(low / 1.1, high * 1.1, log=True), "logarithmic"
    if hidden and np.ptp(late) > 0:
        low, high = float(late.min()), float(late.max())
        return axis(low - 0.05 * (high - low), high + 0.05 * (high - low)), "the first steps lie outside"
    reach = 0.05 * (high - low)
    return axis(low - reach, high + reach), ""


def _path(x: Axis, y: Axis, points: Floats) -> str:
    return "M" + "L".join(f"{place(x, a):.1f} {100 - place(y, b):.1f}" for a, b in points) if len(points) else ""


def _round_numbers(low: float, high: float, count: int) -> list[float]:
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    ticks: list[float] = []
    for step in (10 * size, 5 * size, 2.5 * size, 2 * size, size):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        ticks = [float(f"{i * step:.12g}") for i in range(first, last + 1)]
        if len(ticks) >= count - 1:
            break
    return ticks


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten; with 2 and 5 times them where there are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
        ticks = [f * 10.0**e for e in exponents for f in factors if low <= f * 10.0**e <= high]
        if len(ticks) > 2:
            break
    return ticks[:: -(-len(ticks) // 6)]
