"""The metrics as classes of torchmetrics: the values of score_arrays, however the rows arrive."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("torchmetrics")

from torchmetrics import Metric, MetricCollection

import unbraid.torchmetrics as wrapped
from tests.metrics.worlds import grid, noise, perfect, rotation
from unbraid.errors import UserError
from unbraid.metrics import suite
from unbraid.problems.scores import aim_of
from unbraid.torchmetrics import DCI, MIG, GaussianTotalCorrelation, ZMaxVariance

FACTORS = grid(8)[np.random.default_rng(1).permutation(480)]
CODES = perfect(FACTORS) @ rotation(3) + 0.1 * noise(len(FACTORS), 3)
ROWS = torch.tensor(CODES, dtype=torch.float32), torch.tensor(FACTORS)
LIGHT: dict[str, dict[str, Any]] = {
    "beta_vae_score": {"points": 100, "test_points": 100},
    "factor_vae_score": {"votes": 100, "test_votes": 100},
    "z_max_variance": {"votes": 100, "test_votes": 100},
    "dci": {"predictor": "trees", "trees": 2},
    "dci_es": {"features": (0, 4)},
    "neuron_knockout": {"trees": 2},
    "downstream": {"sizes": (10, 50), "predictor": "trees"},
    "clustering_accuracy": {"plane": False, "resamplings": 2},
    "info_mec": {"estimator": "equal", "permutations": 2},
}
NAMES = suite.available()


def built(name: str, **more: Any) -> Any:
    return getattr(wrapped, wrapped.class_name(name))(**LIGHT.get(name, {}), **more)


def batches(size: int, rows: tuple[Tensor, Tensor] = ROWS) -> list[tuple[Tensor, Tensor]]:
    return [(rows[0][i : i + size], rows[1][i : i + size]) for i in range(0, len(rows[0]), size)]


def fed(metric: Any, batch: int = 100, rows: tuple[Tensor, Tensor] = ROWS) -> Any:
    both = isinstance(metric, wrapped.FactorMetric)
    for codes, factors in batches(batch, rows):
        metric.update(codes, factors) if both else metric.update(codes)
    return metric


def expected(name: str, seed: int = 0) -> float:
    options = {name: LIGHT.get(name, {})}
    return suite.score(ROWS[0].numpy(), FACTORS, metrics=[name], seed=seed, bootstrap=0, options=options)[name].value


@pytest.mark.parametrize("name", NAMES)
def test_batches_give_the_value_of_score_arrays(name: str) -> None:
    metric = fed(built(name, seed=3))
    value = metric.compute()
    assert isinstance(value, Tensor) and value.shape == ()
    assert value.item() == pytest.approx(expected(name, 3), rel=1e-6)
    again = pickle.loads(pickle.dumps(metric))
    assert type(again) is type(metric) and again.compute() == value


def test_there_is_a_class_for_each_metric_under_a_name_of_its_own() -> None:
    assert {cls.metric_name for cls in wrapped.CLASSES.values()} == set(NAMES)
    assert set(dir(wrapped)) == set(wrapped.__all__) == {"CodeMetric", "FactorMetric", *wrapped.CLASSES}
    assert {"MIG", "FactorVAEScore", "InfoMEC", "R2", "DCIES", "MIGSup", "NeuronKnockout"} <= set(dir(wrapped))
    for name, cls in wrapped.CLASSES.items():
        assert cls.__name__ == name and issubclass(cls, Metric) and cls.__module__ == "unbraid.torchmetrics"
        assert cls.higher_is_better == (aim_of(cls.metric_name).best == "high")
    with pytest.raises(AttributeError, match="did you mean 'MIG'"):
        _ = wrapped.MIGG


def test_signature_and_explanation_are_those_of_the_metric() -> None:
    parameters = inspect.signature(MIG).parameters
    assert list(parameters) == ["bins", "estimator", "factor_bins", "units", "seed", "options"]
    assert parameters["bins"].default == 20
    text = inspect.getdoc(MIG) or ""
    assert "as a share of its entropy" in text and "    bins: bins for each latent" in text and "    seed: of" in text


def test_arguments_are_checked_when_the_metric_is_made() -> None:
    with pytest.raises(UserError, match="bins of mig must be 1 or more, not 0"):
        MIG(bins=0)
    with pytest.raises(UserError, match="no argument of mig is called 'bin'"):
        MIG(bin=3)
    with pytest.raises(UserError, match="seed must be 0 or more"):
        MIG(seed=-1)
    assert MIG(bins=5, compute_on_cpu=True).compute_on_cpu is True
    assert fed(MIG(bins=5)).compute() != fed(MIG()).compute()


def test_reset_forgets_and_the_cache_is_renewed() -> None:
    metric = fed(MIG())
    first = metric.compute()
    metric.reset()
    assert metric.codes == [] and metric.factors == []
    metric.update(ROWS[0][:200], ROWS[1][:200])
    assert metric.compute() != first
    metric.update(ROWS[0][200:], ROWS[1][200:])
    assert metric.compute() == first


def test_forward_gives_the_value_of_the_batch_and_keeps_all_rows() -> None:
    metric = MIG()
    values = [metric(ROWS[0][i : i + 240], ROWS[1][i : i + 240]) for i in (0, 240)]
    for i, value in zip((0, 240), values, strict=True):
        assert value == fed(MIG(), rows=(ROWS[0][i : i + 240], ROWS[1][i : i + 240])).compute()
    assert metric.compute() == fed(MIG()).compute()


def test_states_of_two_processes_are_put_together() -> None:
    """What torchmetrics gathers from two processes, each with half of the rows."""
    halves = [(ROWS[0][:240], ROWS[1][:240]), (ROWS[0][240:], ROWS[1][240:])]

    def gather(state: Tensor, group: Any = None) -> list[Tensor]:
        return [half[0 if state.is_floating_point() else 1] for half in halves]

    metric = MIG(dist_sync_fn=gather, distributed_available_fn=lambda: True)
    metric.update(*halves[0])
    assert metric.compute() == fed(MIG()).compute()
    assert sum(map(len, metric.codes)) == 240  # its own rows again after the value


def test_merged_and_copied_states() -> None:
    first, second = (fed(MIG(), rows=(ROWS[0][part], ROWS[1][part])) for part in (slice(0, 240), slice(240, None)))
    other = copy.deepcopy(first)
    first.merge_state(second)
    assert torch.equal(first.compute(), fed(MIG()).compute())
    assert other.compute() != first.compute()


def test_a_collection_shares_the_rows() -> None:
    collection = MetricCollection(
        {"mig": MIG(), "dci": DCI(predictor="trees", trees=2), "tc": GaussianTotalCorrelation()}
    )
    for codes, factors in batches(120):
        collection.update(codes=codes, factors=factors)
    found = collection.compute()
    assert found["mig"] == fed(MIG()).compute()
    assert found["dci"].item() == pytest.approx(expected("dci"), rel=1e-6)
    assert found["tc"] == fed(GaussianTotalCorrelation()).compute()
    assert ["dci", "mig"] in [sorted(group) for group in collection.compute_groups.values()]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_codes_in_any_precision_with_a_gradient(dtype: torch.dtype) -> None:
    codes = ROWS[0].to(dtype).requires_grad_()
    metric = MIG()
    metric.update(codes, ROWS[1])
    assert metric.compute().item() == pytest.approx(expected("mig"), abs=0.05)
    assert not metric.codes[0].requires_grad


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_rows_on_a_gpu() -> None:
    metric = fed(MIG().to("cuda"), rows=(ROWS[0].cuda(), ROWS[1].cuda()))
    assert metric.compute().device.type == "cuda" and metric.compute().item() == pytest.approx(expected("mig"))


def test_moving_a_metric_moves_its_rows() -> None:
    metric = fed(MIG()).to("meta")
    assert all(batch.device.type == "meta" for batch in [*metric.codes, *metric.factors])


def test_what_cannot_be_scored_is_said() -> None:
    with pytest.raises(UserError, match="codes have 3 samples and factors 2"):
        MIG().update(ROWS[0][:3], ROWS[1][:2])
    empty = MIG()
    with pytest.raises(UserError, match="call update before compute"), pytest.warns(UserWarning, match="before the"):
        empty.compute()
    alone = ZMaxVariance()
    alone.update(ROWS[0], ROWS[1][:, :1])
    with pytest.warns(UserWarning, match="z_max_variance is undefined: .* at least two factors"):
        assert torch.isnan(alone.compute())


def test_without_torchmetrics_the_way_to_install_it_is_said() -> None:
    program = "import sys; sys.modules['torchmetrics'] = None; import unbraid.torchmetrics"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "UserError: torchmetrics is not installed: pip install 'unbraid[torchmetrics]'" in done.stderr
