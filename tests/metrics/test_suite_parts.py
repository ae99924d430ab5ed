"""What the suite gives to a metric, how often and on which rows it takes it again, and what it makes of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.metrics.worlds import grid, noise, perfect, rng
from unbraid.errors import UserError
from unbraid.metrics import suite
from unbraid.metrics.contract import Score
from unbraid.metrics.mig import mig
from unbraid.metrics.mutual_info_score import mutual_info_score
from unbraid.metrics.suite import _Begun, _begun, _finished, _with_chance, _with_factor_names, _with_interval, score

FACTORS = grid(6, (4, 3))  # 72 rows
CODES = perfect(FACTORS) + 0.3 * noise(72, 2)


class Recorder:
    """A metric that writes down its calls; its value is the number of the call, from 1 on."""

    def __init__(self, *, null: float | None = None, low: float | None = None, first: float = 1.0) -> None:
        self.calls: list[Any] = []
        self.null, self.low, self.first = null, low, first

    def taken(self, *given: Any, **options: Any) -> Score:
        self.calls.append((*given, options))
        value = self.first if len(self.calls) == 1 else float(len(self.calls))
        return Score(value, null=self.null, low=self.low, n=len(given[0]))

    def on_codes(self) -> Any:
        def plain(codes: Any, generator: Any) -> Score:
            return self.taken(codes)

        return plain

    def on_factors(self) -> Any:
        def plain(codes: Any, factors: Any, generator: Any, *, jobs: int = 0, bins: int = 3) -> Score:
            return self.taken(codes, factors, jobs=jobs, bins=bins)

        return plain

    def fitted(self) -> Any:
        def fits(codes: Any, factors: Any, generator: Any, *, train: int | None = None) -> Score:
            return self.taken(codes, factors, train=train)

        return fits


def finished(function: Any, arguments: dict[str, Any], factors: Any, bootstrap: int, chance: bool = True) -> Score:
    (found,) = _finished([_begun(function, arguments, CODES, factors, rng(), bootstrap, chance=chance)], 1)
    return found


def test_without_factors_chance_shuffles_each_latent_by_itself() -> None:
    """Two equal latents: a shuffle of whole rows, or within rows, would leave all of their dependence."""
    recorder = Recorder()
    finished(recorder.on_codes(), {}, FACTORS, 0)
    assert len(recorder.calls) == 11 and recorder.calls[0][0] is CODES
    for codes, _ in recorder.calls[1:]:
        assert (np.sort(codes, 0) == np.sort(CODES, 0)).all()
        for j in range(2):
            assert (codes[:, j] != CODES[:, j]).mean() > 0.8
        places = [[list(CODES[:, j]).index(x) for x in codes[:, j]] for j in range(2)]
        assert places[0] != places[1]
    twins = np.repeat(np.arange(200.0)[:, None], 2, 1)
    found = score(twins, None, metrics=["mutual_info_score"], bootstrap=0, options={"mutual_info_score": {"bins": 4}})
    assert found["mutual_info_score"].value == pytest.approx(np.log(4))
    assert found["mutual_info_score"].null is not None and found["mutual_info_score"].null < 0.1


def test_with_factors_chance_shuffles_whole_rows_of_codes_and_leaves_factors() -> None:
    recorder = Recorder()
    found = finished(recorder.on_factors(), {"jobs": 5, "bins": 4}, FACTORS, 3)
    first, shuffles, samples = recorder.calls[0], recorder.calls[1:11], recorder.calls[11:]
    assert first[0] is CODES and first[1] is FACTORS and first[2] == {"jobs": 5, "bins": 4} and len(samples) == 3
    rows = {tuple(row): i for i, row in enumerate(CODES)}
    for codes, factors, options in shuffles:
        order = [rows[tuple(row)] for row in codes]
        assert sorted(order) == list(range(72)) != order and factors is FACTORS and options == {"jobs": 1, "bins": 4}
    for codes, factors, _ in samples:
        order = [rows[tuple(row)] for row in codes]
        assert (factors == FACTORS[order]).all() and order == sorted(order) and len(set(order)) < 72
    assert (found.value, found.null, found.params["shuffles"]) == pytest.approx((1, sum(range(2, 12)) / 10, 10))
    assert found.params["interval"] == "3 bootstrap samples: of the score at 72 samples, not of its limit"


@pytest.mark.parametrize("train", [None, 50])
def test_a_metric_that_fits_is_shuffled_once_and_refitted_five_times(train: int | None) -> None:
    """Without a number of training rows the rows are put in random order, and two thirds of them train."""
    recorder = Recorder()
    found = finished(recorder.fitted(), {} if train is None else {"train": train}, FACTORS, 50)
    assert len(recorder.calls) == 1 + 1 + 5 and found.params["shuffles"] == 1
    assert {call[2]["train"] for call in recorder.calls} == {train or 48}
    rows = {tuple(row): i for i, row in enumerate(CODES)}
    order = [rows[tuple(row)] for row in recorder.calls[0][0]]
    assert sorted(order) == list(range(72)) and (order != list(range(72))) == (train is None)
    assert (recorder.calls[0][1] == FACTORS[order]).all()
    for codes, factors, _ in recorder.calls[2:]:
        again = [rows[tuple(row)] for row in codes]
        assert set(again[: train or 48]) < set(order[: train or 48]) and (factors == FACTORS[again]).all()
        assert set(again[train or 48 :]) < set(order[train or 48 :])
    assert found.params["interval"].startswith("5 bootstrap samples (training and test rows apart)")


def count(begun: _Begun) -> tuple[int, int]:
    return len(begun.shuffles), len(begun.samples)


def test_as_many_shuffles_and_samples_as_rows_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the rows is for shuffles, three at least; samples are five at least."""
    plain = Recorder().on_factors()
    for rows, wanted in ((10**7, (10, 50)), (72 * 40, (8, 40)), (72 * 19, (3, 19)), (72, (3, 5))):
        monkeypatch.setattr(suite, "ROWS", rows)
        assert count(_begun(plain, {}, CODES, FACTORS, rng(), 50)) == wanted
    monkeypatch.setattr(suite, "ROWS", 10**7)
    assert count(_begun(plain, {}, CODES, FACTORS, rng(), 7)) == (10, 7)
    assert count(_begun(plain, {}, CODES, FACTORS, rng(), 7, chance=False)) == (0, 7)
    plain.__name__ = "z_max_variance"
    begun = _begun(plain, {}, CODES, FACTORS, rng(), 50)
    assert count(begun) == (1, 5) and not begun.apart
    assert _begun(Recorder().fitted(), {}, CODES, FACTORS, rng(), 50).apart


def test_what_a_metric_knows_itself_is_not_taken_again() -> None:
    known = Recorder(null=0.3, low=0.1)
    assert count(_begun(known.on_factors(), {}, CODES, FACTORS, rng(), 50)) == (0, 0)
    found = finished(known.on_factors(), {}, FACTORS, 50)
    assert (found.null, found.low, found.params) == (0.3, 0.1, {})
    undefined = Recorder(first=float("nan"))
    assert count(_begun(undefined.on_factors(), {}, CODES, FACTORS, rng(), 50)) == (0, 0)
    with pytest.raises(UserError, match="plain needs factors, and none are given"):
        _begun(Recorder().on_factors(), {}, CODES, None, rng(), 0)


def test_shuffles_may_be_lighter_than_the_score(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr(suite, "LIGHTER", {"plain": {"bins": 9}})
    finished(recorder.on_factors(), {}, FACTORS, 2)
    assert [call[2] for call in recorder.calls] == [{"jobs": 0, "bins": 3}] + 12 * [{"jobs": 0, "bins": 9}]
    asked = Recorder()
    finished(asked.on_factors(), {"bins": 4}, FACTORS, 2)
    assert {call[2]["bins"] for call in asked.calls} == {4}


def test_the_longest_work_is_done_first() -> None:
    done: list[str] = []

    def task(name: str, value: float) -> Any:
        def work() -> float:
            done.append(name)
            return value

        return work

    short = _Begun(Score(0.5), (task("a", 0.1),), (task("b", 0.4), task("c", 0.6)), seconds=1.0)
    long = _Begun(Score(0.7, n=9), (task("d", 0.2), task("e", 0.4)), (), seconds=2.0)
    first, second, third = _finished([short, long, _Begun(Score(0.1))], 1)
    assert done == ["d", "e", "a", "b", "c"] and third == Score(0.1)
    assert (first.null, second.null) == pytest.approx((0.1, 0.3))
    assert first.low is not None and second.low is None
    assert second.params == {"shuffles": 2, "chance_spread": pytest.approx(0.2 / 2**0.5)}
    begun = _begun(Recorder().on_factors(), {}, CODES, FACTORS, rng(), 0)
    assert 0 < begun.seconds < 1


def test_chance_is_the_mean_of_what_is_a_number() -> None:
    found = _with_chance(Score(0.5, params={"bins": 3}), [0.1, float("nan"), 0.3, 0.2])
    assert found.null == pytest.approx(0.2)
    assert found.params == {"bins": 3, "shuffles": 3, "chance_spread": pytest.approx(0.1)}
    one = _with_chance(Score(0.5), [0.1, float("inf")])
    assert (one.null, one.params) == (0.1, {"shuffles": 1})
    assert _with_chance(Score(0.5), [float("nan")]).null is None


def test_nineteen_replicates_have_students_interval_and_twenty_their_quantiles() -> None:
    """The spread is laid around the value; 0 to 18 have the spread sqrt(19 * 20 / 12), t of 18 degrees is 2.1009."""
    wide = {"range": (-99.0, 99.0)}
    half = 2.10092204 * (19 * 20 / 12) ** 0.5
    assert suite._interval(Score(5.0, params=wide), list(range(19))) == pytest.approx((5 - half, 5 + half))
    skewed = [float(i * i) for i in range(20)]
    low, high = np.quantile(skewed, [0.025, 0.975]) - np.mean(skewed)
    assert suite._interval(Score(-5.0, params={"range": (-999, 999)}), skewed) == pytest.approx((low - 5, high - 5))
    two = suite._interval(Score(0.5, params=wide), [0.0, 0.1])
    assert two == pytest.approx((0.5 - 12.7062047 * 0.005**0.5, 0.5 + 12.7062047 * 0.005**0.5))
    for far, inside in ((-9.6, (0.5, 0.6)), (10.4, (0.4, 0.5))):  # one of a hundred: the value is never outside
        assert suite._interval(Score(0.5), [far] + 99 * [0.4]) == pytest.approx(inside)


def test_the_interval_says_how_it_was_made() -> None:
    end = ": of the score at 7 samples, not of its limit"
    found = _with_interval(Score(0.5, n=7, params={"bins": 3}), [0.4, 0.6, float("nan")], apart=True)
    assert found.params == {"bins": 3, "interval": f"2 of 3 bootstrap samples (training and test rows apart){end}"}
    assert found.low is not None and found.high is not None and found.low < 0.5 < found.high
    assert _with_interval(Score(0.5, n=7), [0.4, 0.6], apart=False).params["interval"] == f"2 bootstrap samples{end}"
    assert _with_interval(Score(0.5), [0.4], apart=False).params["interval"] is None


def test_names_stand_for_the_numbers_of_factors() -> None:
    found = Score(0.1, params={"bins": 2, "factors": [1, 10]}, warnings=("factor 1 and factor 10", "latent 1"))
    names = [f"n{k}" for k in range(11)]
    named = _with_factor_names(found, names)
    assert named.params == {"bins": 2, "factors": ["n1", "n10"]}
    assert named.warnings == ("factor 'n1' and factor 'n10'", "latent 1")
    assert _with_factor_names(found, None) is found
    assert _with_factor_names(Score(0.1), names).params == {"factors": []}


def test_options_units_kinds_and_the_generator_reach_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the seed and the metric's name; an option goes before what all metrics share."""
    seen: dict[str, Any] = {}

    def takes(codes: Any, factors: Any, generator: Any, *, kinds: Any = (), jobs: int = 0, bins: int = 1) -> Score:
        seen.update(drawn=generator.random(), kinds=kinds, jobs=jobs, bins=bins)
        return Score(0.5)

    monkeypatch.setattr(suite, "metric_function", lambda name: takes)
    told: list[str] = []
    score(
        CODES, FACTORS, metrics=["mig"], seed=4, kinds=(1,), jobs=3, options={"mig": {"bins": 7, "jobs": 2}},
        bootstrap=0, chance=False, tell=told.append,
    )  # fmt: skip
    own = np.random.default_rng((4, *b"mig")).spawn(3)[1]
    assert seen == {"drawn": own.random(), "kinds": (1,), "jobs": 2, "bins": 7}
    assert told == ["scoring mig", "scoring shuffled and resampled codes, for chance levels and intervals"]


def test_a_default_metric_that_cannot_score_says_why_and_one_asked_for_refuses() -> None:
    """Ten rows are too few for twenty bins."""
    few, labels = CODES[:10], FACTORS[:10]
    with pytest.raises(UserError, match="bins must be"):
        score(few, labels, metrics=["mig"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "DEFAULT", ("mig", "mcc"))
        found = score(few, labels, bootstrap=0)
    assert list(found) == ["mig", "mcc"] and np.isnan(found["mig"].value) and np.isfinite(found["mcc"].value)
    assert found["mig"].n == 10 and found["mig"].warnings[0].startswith("bins must be at least 2 and at most the 10")


def test_names_are_those_of_all_factors_and_none_without_factors() -> None:
    assert score(CODES, FACTORS[:, 0], metrics=["mcc"], names=["a"], bootstrap=0)["mcc"].params["factors"] == ["a"]
    with pytest.raises(UserError, match="one name for each of the 0 factors, not 1"):
        score(CODES, None, names=["a"], bootstrap=0)


def test_metrics_are_found_by_their_files_and_signatures() -> None:
    assert suite.argument_names(mig) == ["bins", "estimator", "factor_bins", "units"]
    assert suite.needs_factors(mig) and not suite.needs_factors(mutual_info_score)
    assert suite._positional(mig) == ["codes", "factors", "rng"] and suite._positional(None) == []
    known = suite.available()
    assert {"mig", "mutual_info_score"} <= set(known) and list(known) == sorted(known)
    assert not {"w2", "udr", "arrays", "suite"} & set(known)  # other inputs, or no metrics
    for name in ("w2", "arrays", "nothing"):
        with pytest.raises(UserError, match=f"'{name}'"):
            suite.metric_function(name)
    assert suite.metric_function("mig") is mig


def test_a_seed_of_0_is_one_and_options_are_for_chosen_metrics() -> None:
    suite.check_options(["mig"], 0, {"mig": {"bins": 4}})
    for options, sentence in (({"mcc": {}}, "'mcc', which is not among"), ({"mig": {"bins": 0}}, "bins of mig")):
        with pytest.raises(UserError, match=sentence):
            suite.check_options(["mig"], 0, options)
