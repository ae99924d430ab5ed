"""Charts lie where their numbers are, and a table knows its columns of numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from unbraid.figures import charts
from unbraid.figures.parts import Cell, Chart, HeatMap, Table
from unbraid.reports.render import marked


@pytest.mark.parametrize(("low", "high"), [(0.0, 3000.0), (-0.37, 0.91), (1e-5, 7e-5), (998.0, 1004.0)])
def test_ticks_are_round_numbers_within_the_axis(low: float, high: float) -> None:
    axis = charts.axis(low, high)
    values = [low + place / 100 * (high - low) for place, _ in axis.ticks]
    assert 3 <= len(values) <= 8
    for (place, label), value in zip(axis.ticks, values, strict=True):
        assert 0 <= place <= 100
        assert float(label.replace(",", "")) == pytest.approx(value, abs=1e-3 * (high - low))
        assert len(label.replace("-", "").replace(".", "").lstrip("0")) <= 5


def test_a_curve_goes_through_its_points() -> None:
    rows = [{"step": float(step), "loss": 5.0 - step / 10} for step in range(0, 40, 10)]
    (chart,) = charts.curves({"": rows})
    found = np.array([[float(n) for n in pair.split()] for pair in chart.lines[0].path[1:].split("L")])
    np.testing.assert_allclose(found[:, 0], [0, 100 / 3, 200 / 3, 100], atol=0.1)
    heights = (np.array([5.0, 4, 3, 2]) - chart.y.low) / (chart.y.high - chart.y.low)
    np.testing.assert_allclose(found[:, 1], 100 * (1 - heights), atol=0.1)
    assert chart.lines[0].values == [5, 4, 3, 2]
    assert [label for _, label in chart.places] == ["0", "10", "20", "30"]


def test_the_axis_is_logarithmic_where_early_steps_would_hide_the_rest() -> None:
    steps = np.arange(1, 101)

    def chart(values: NDArray[np.float64]) -> Chart:
        return charts.curves({"": [{"step": float(s), "x": float(v)} for s, v in zip(steps, values, strict=True)]})[0]

    falls = chart(1000 * np.exp(-steps / 5.0) + 1 + 0.1 * np.sin(steps))
    assert falls.y.log and falls.note == "logarithmic"
    negative = chart(1000 * np.exp(-steps / 5.0) - 1 + 0.1 * np.sin(steps))
    assert not negative.y.log and negative.y.high < 500 and "outside" in negative.note
    plain = chart(100.0 - steps / 2)
    assert not plain.y.log and not plain.note


def test_seven_runs_are_dots_and_eight_a_violin() -> None:
    values = np.array([0.1, 0.2, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0])
    few, many = charts.spread("mig", [("few", 0, values[:7]), ("many", 1, values)]).rows
    assert not few.violin and len(few.dots) == 7
    assert many.violin
    peak = max(re.findall(r"([\d.]+) ([\d.]+)", many.violin), key=lambda pair: float(pair[1]))
    low, high = values.min() - 0.04 * 0.9, values.max() + 0.04 * 0.9
    assert low + float(peak[0]) / 100 * (high - low) == pytest.approx(0.3, abs=0.15)  # where most of the values are
    assert many.middle == pytest.approx(100 * (0.4 - low) / (high - low), abs=0.1)


def test_colours_of_a_heat_map_are_shares_of_its_largest_value() -> None:
    matrix = np.array([[1.0, -4.0], [np.nan, 2.0]])
    assert HeatMap(matrix, "ab", "cd", "").shares() == [[0.25, -1.0], [None, 0.5]]
    assert HeatMap(matrix / 10, "ab", "cd", "", full=1).shares() == [[0.1, -0.4], [None, 0.2]]


def test_a_column_of_numbers_is_known_by_its_cells() -> None:
    table = Table(["a", "b", "c"], [["mig", Cell("0.12", bold=True), "17 % (2 to 37)"], ["dci", "", "-0.3"]])
    assert table.numeric == [False, True, True]


def test_marks_in_texts_are_written_and_all_else_is_escaped() -> None:
    assert marked("`a<b` and **c** [d](e.md)") == '<code>a&lt;b</code> and <b>c</b> <a href="e.md">d</a>'
    assert "<a" not in marked("[x](javascript:alert(1))") and "<script" not in marked("`<script>`")
