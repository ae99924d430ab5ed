"""Agreement with the reference implementation, to 1e-6 where the definition is deterministic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from scipy.stats import spearmanr
from threadpoolctl import threadpool_info

from tests.metrics.golden import CASES, Array, arrays, expected, needed, train, train_and_test, values
from unbraid.metrics.beta_vae_score import beta_vae_score, classify
from unbraid.metrics.contract import Score
from unbraid.metrics.dci import Predictor, dci, disentanglement
from unbraid.metrics.downstream import downstream
from unbraid.metrics.explicitness import explicitness
from unbraid.metrics.factor_vae_score import factor_vae_score
from unbraid.metrics.gaussian_total_correlation import gaussian_total_correlation
from unbraid.metrics.irs import irs
from unbraid.metrics.mig import mig
from unbraid.metrics.modularity import modularity
from unbraid.metrics.mutual_info_score import mutual_info_score
from unbraid.metrics.sap import sap
from unbraid.metrics.udr import udr
from unbraid.metrics.wasserstein_correlation import wasserstein_correlation

pytestmark = needed
every_case = pytest.mark.parametrize("case", CASES)
CLOSE = 1e-6


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@every_case
def test_mig(case: str) -> None:
    found = mig(*train(case), rng())
    assert found.value == pytest.approx(expected(case)["mig"]["discrete_mig"], rel=CLOSE, abs=1e-12)
    np.testing.assert_allclose(found.parts["mutual_information"], arrays(case)["ref_mi_matrix"], rtol=CLOSE, atol=1e-12)


@pytest.mark.parametrize("bins", [10, 40, 64, 100])
@pytest.mark.parametrize("kind", ["identity", "rotation"])
def test_mig_with_other_bins(bins: int, kind: str) -> None:
    case = "dsprites__a_identity" if kind == "identity" else "dsprites__c_rotation"
    reference = values()["edge_cases"][f"mig_dsprites_{kind}_bins_{bins}"]["value"]["discrete_mig"]
    assert mig(*train(case), rng(), bins=bins).value == pytest.approx(reference, rel=CLOSE)


@pytest.mark.parametrize("n", [100, 500, 1000, 2000, 5000])
def test_mig_of_few_samples_and_its_warning(n: int) -> None:
    codes, factors = train("dsprites__a_identity")
    found = mig(codes[:n], factors[:n], rng())
    reference = values()["edge_cases"][f"mig_dsprites_identity_n{n}"]["value"]["discrete_mig"]
    assert found.value == pytest.approx(reference, rel=CLOSE)
    assert any("are few for" in text for text in found.warnings) == (n < 5000)


@every_case
def test_modularity(case: str) -> None:
    reference = expected(case)["modularity"]["modularity_score"]
    assert modularity(*train(case), rng()).value == pytest.approx(reference, rel=CLOSE)


@every_case
def test_irs(case: str) -> None:
    reference = expected(case)["irs"]
    found = irs(*train(case), rng())
    assert found.value == pytest.approx(reference["IRS"], rel=CLOSE)
    plain = irs(*train(case), rng(), factor_bins=0).value
    assert plain == pytest.approx(reference["IRS_without_factor_discretisation"], rel=CLOSE)
    alive = found.parts["active_latents"]  # the reference counts the sum of the codes here
    np.testing.assert_allclose(np.array(found.parts["matrix"])[alive], arrays(case)["ref_irs_matrix"], atol=2e-6)


@every_case
def test_sap_by_support_vector_machines(case: str) -> None:
    found = sap(*train_and_test(case), rng(), method="svm", train=10_000)
    assert found.value == pytest.approx(expected(case)["sap"]["SAP_score"], rel=CLOSE, abs=1e-12)
    np.testing.assert_allclose(found.parts["matrix"], arrays(case)["ref_sap_score_matrix"], rtol=CLOSE)


@every_case
def test_sap_by_correlation(case: str) -> None:
    found = sap(*train(case), rng(), method="correlation")
    assert found.value == pytest.approx(expected(case)["sap_continuous"]["SAP_score"], rel=CLOSE, abs=1e-9)


def openblas_kernels() -> set[str]:
    """Those that OpenBLAS has chosen for this processor, which decide the last bits of matrix products."""
    return {str(each["architecture"]) for each in threadpool_info() if each["internal_api"] == "openblas"}


@every_case
def test_explicitness(case: str) -> None:
    reference = expected(case)["explicitness"]
    if "error" in reference:  # the reference divides by the zero spread of the dead latent
        codes, factors = train_and_test(case, 2000, 2000)
        living = codes[:, np.ptp(codes, 0) > 0]
        assert living.shape[1] < codes.shape[1]
        found, alone = (explicitness(each, factors, rng(), train=2000) for each in (codes, living))
        assert found.value == pytest.approx(alone.value, abs=1e-3)
        return
    found = explicitness(*train_and_test(case), rng(), train=10_000)
    # an older L-BFGS, and one whose matrix products add up in another order, stops elsewhere within its tolerance
    close = CLOSE if scipy.__version__ >= "1.17" and openblas_kernels() <= {"Haswell", "Zen"} else 2e-5
    assert found.value == pytest.approx(reference["explicitness_score_test"], rel=close)
    assert found.parts["train"] == pytest.approx(reference["explicitness_score_train"], rel=close)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if "dead" not in case])
def test_explicitness_as_older_scikit_learn_gave_it(case: str) -> None:
    found = explicitness(*train_and_test(case), rng(), train=10_000, solver="liblinear")
    reference = values()["older_scikit_learn_0.21.3"][case]["explicitness"]["explicitness_score_test"]
    assert found.value == pytest.approx(reference, abs=2e-4)


@every_case
def test_unsupervised_scores(case: str) -> None:
    codes, _ = train(case)
    reference = expected(case)["unsupervised"]
    assert mutual_info_score(codes, rng()).value == pytest.approx(reference["mutual_info_score"], rel=CLOSE)
    total = reference["gaussian_total_correlation"]
    found = gaussian_total_correlation(codes, rng())
    if total == "nan":  # the dead latent; the reference takes the logarithm of its zero variance
        assert np.isfinite(found.value)
    else:
        assert found.value == pytest.approx(float(total), rel=CLOSE)
        assert bool(found.warnings) == (total == "inf")
    distance = reference["gaussian_wasserstein_correlation"]
    real = distance["real"] if isinstance(distance, dict) else distance  # the reference's root of a singular matrix
    assert wasserstein_correlation(codes, rng()).value == pytest.approx(real, rel=CLOSE)


@every_case
def test_dci_from_the_references_importances(case: str) -> None:
    importance = arrays(case)["ref_importance_matrix_n2000"]
    reference = expected(case)["dci"]["n2000_seed0"]
    for matrix, name in ((importance, "disentanglement"), (importance.T, "completeness")):
        value = disentanglement(matrix) @ matrix.sum(1) / matrix.sum()
        assert value == pytest.approx(reference[name], rel=CLOSE)


DCI_PARTS = {
    "disentanglement": "disentanglement",
    "completeness": "completeness",
    "informativeness": "informativeness_test",
}


def dci_and_reference(predictor: Predictor) -> dict[str, Array]:
    """Ours and the reference's boosting on 2,000 rows of every case, [cases, 2], by the name of the part."""
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in DCI_PARTS}
    for case in CASES:
        found = dci(*train_and_test(case, 2000, 2000), rng(), train=2000, predictor=predictor)
        for name, key in DCI_PARTS.items():
            pairs[name].append((found.parts[name], expected(case)["dci"]["n2000_seed0"][key]))
    return {name: np.round(both, 6) for name, both in pairs.items()}


def test_dci_by_randomised_trees_ranks_as_gradient_boosting_does() -> None:
    for name, both in dci_and_reference("trees").items():
        assert spearmanr(both).statistic >= 0.95, name


def test_default_dci_has_the_values_of_gradient_boosting() -> None:
    for name, both in dci_and_reference("lightgbm").items():
        error = np.abs(both[:, 0] - both[:, 1])
        assert error.mean() <= 0.01 and error.max() <= 0.035, name
        assert spearmanr(both).statistic >= 0.95, name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a_identity", "b_permflip_noise", "c_rotation", "e_warp_noise"])
def test_default_dci_has_the_values_of_gradient_boosting_at_10000_codes(kind: str) -> None:
    case = f"dsprites__{kind}"
    found, reference = dci(*train_and_test(case), rng(), train=10_000), expected(case)["dci"]["n10000_test5000_seed0"]
    for name, key in DCI_PARTS.items():
        assert abs(found.parts[name] - reference[key]) <= 0.03, name


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("small")])
def test_dci_by_gradient_boosting(case: str) -> None:
    found = dci(*train_and_test(case, 2000, 2000), rng(), train=2000, predictor="gbt")
    seeds = [run for name, run in expected(case)["dci"].items() if name.startswith("n2000_seed")]
    for name in ("disentanglement", "completeness"):
        reference = np.array([run[name] for run in seeds])
        assert abs(found.parts[name] - reference.mean()) <= 3 * reference.std(ddof=1) + 1e-6


def sampled_within_noise(score: Callable[..., Score], case: str, key: str) -> None:
    """Our mean over seeds within three standard errors of the reference's mean over five.

    The error is that of the spreads seen, and no more than that of 5,000 draws a seed: our own noise excuses nothing.
    """
    reference = expected(case)[key]["eval_accuracy"]
    ours = [score(*train(case), rng(seed)).value for seed in range(5 if case in QUICK else 20)]
    seen = np.hypot(reference["std"] / 5**0.5, np.std(ours, ddof=1) / len(ours) ** 0.5)
    drawn = (reference["mean"] * (1 - reference["mean"]) / 5_000 * (1 / 5 + 1 / len(ours))) ** 0.5
    assert abs(np.mean(ours) - reference["mean"]) <= 3 * min(seen, drawn)


QUICK = ("dsprites__c_rotation", "dsprites__h_partial45")
SAMPLED = [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in CASES]


@pytest.mark.parametrize("case", SAMPLED)
def test_beta_vae_score(case: str) -> None:
    sampled_within_noise(beta_vae_score, case, "beta_vae")


@pytest.mark.parametrize("case", SAMPLED)
def test_factor_vae_score(case: str) -> None:
    sampled_within_noise(factor_vae_score, case, "factor_vae")


@every_case
def test_beta_vae_classifier_on_fixed_points(case: str) -> None:
    group, kind = case.split("__")
    points = arrays(f"beta_{group}")
    x, y, test_x, test_y = (points[f"{kind}__{part}"] for part in ("train_x", "train_y", "eval_x", "eval_y"))
    accuracy, right = classify(x, y, test_x, test_y)
    reference = expected(case)["beta_vae_fixed_features_n2000"]
    assert accuracy == pytest.approx(reference["train_accuracy"], rel=CLOSE)
    assert right.mean() == pytest.approx(reference["eval_accuracy"], rel=CLOSE)


UDR = [
    (size, group) for size in ("dsprites", "small") for group in ("g1_mixed", "g2_noise_masked", "g3_noise_unmasked")
]


def udr_case(size: str, group: str, method: str) -> tuple[Any, Any, dict[str, Any]]:
    found = arrays(f"udr_{size}")
    runs = found["g2_noise_masked__reps" if group == "g3_noise_unmasked" else f"{group}__reps"]
    return list(runs), found[f"{group}__kl"], values()["udr"][f"udr_{size}"][f"{group}__{method}"]


@pytest.mark.parametrize("size,group", UDR)
def test_udr_by_lasso(size: str, group: str) -> None:
    runs, kl, reference = udr_case(size, group, "lasso")
    found = udr(runs, rng(), kl=kl, reference=True)
    np.testing.assert_allclose(found.parts["per_run"], reference["model_scores"], rtol=CLOSE)
    pairwise = np.array(reference["pairwise_disentanglement_scores"])[..., 0]
    np.testing.assert_allclose(found.parts["pairwise"], pairwise, rtol=CLOSE)


@pytest.mark.parametrize("size,group", UDR)
def test_udr_by_rank_correlation(size: str, group: str) -> None:
    runs, kl, reference = udr_case(size, group, "spearman")
    found = udr(runs, rng(), kl=kl, method="spearman", reference=True)
    np.testing.assert_allclose(found.parts["per_run"], reference["model_scores"], rtol=CLOSE)


DOWNSTREAM = ("small__a_identity", "small__f_pure_noise", "small__g_dead_mix2")


def check_downstream(case: str, predictor: str, sizes: tuple[int, ...]) -> None:
    found = downstream(*train_and_test(case), rng(), predictor=predictor, sizes=sizes, reference=True, train=10_000)  # type: ignore[arg-type]
    reference = expected(case)["downstream_lr" if predictor == "logistic" else "downstream_gbt"]
    for size in sizes:
        assert found.parts["mean"][str(size)] == pytest.approx(reference[str(size)]["mean_test_accuracy"], rel=CLOSE)
        assert found.parts["least"][str(size)] == pytest.approx(reference[str(size)]["min_test_accuracy"], rel=CLOSE)


@pytest.mark.parametrize("case", DOWNSTREAM)
def test_downstream_by_logistic_regression(case: str) -> None:
    check_downstream(case, "logistic", (10, 100))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_downstream_by_logistic_regression_with_many_labels(case: str) -> None:
    check_downstream(case, "logistic", (10, 100, 1000) if case.startswith("dsprites") else (10, 100, 1000, 10_000))


@pytest.mark.slow
def test_statistical_efficiency() -> None:
    case = "dsprites__c_rotation"
    found = downstream(*train_and_test(case), rng(), reference=True, train=10_000)
    reference = expected(case)["downstream_lr"]
    ratio = reference["100"]["mean_test_accuracy"] / reference["10000"]["mean_test_accuracy"]
    assert found.parts["efficiency"] == pytest.approx(ratio, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("small")])
def test_downstream_by_gradient_boosting(case: str) -> None:
    codes, factors = train_and_test(case)
    found = downstream(codes, factors, rng(), predictor="gbt", sizes=(100, 1000), reference=True, train=10_000)
    for size in ("100", "1000"):
        reference = expected(case)["downstream_gbt"][size]["mean_test_accuracy"]
        assert found.parts["mean"][size] == pytest.approx(
            reference, abs=0.01
        )  # ties between splits are broken by chance


@pytest.mark.parametrize("offset", ["0", "3", "30"])
def test_sap_depends_on_the_offset_and_says_so(offset: str) -> None:
    codes, factors = train_and_test("small__a_identity")
    moved = codes + np.float32(offset)
    found = sap(moved, factors, rng(), method="svm", train=10_000)
    reference = values()["edge_cases"][f"sap_small_identity_offset_{offset}"]["value"]["SAP_score"]
    assert found.value == pytest.approx(reference, rel=CLOSE)
    assert any("standardise" in text for text in found.warnings) == (offset != "0")
    steady = sap(moved, factors, rng(), method="svm", train=10_000, standardise=True)
    assert steady.value == pytest.approx(0.6693, abs=0.01)


def test_the_published_pruning_of_factor_vae_score() -> None:
    codes, factors = train("small__a_identity")
    name = "factorvae_small_identity_scaled_0.04_threshold_0.05"
    found = factor_vae_score(codes * 0.04, factors, rng(), reference=True)
    assert found.value == values()["edge_cases"][name]["value"]["eval_accuracy"] == 0
    assert any("cast no vote" in text for text in found.warnings)
    assert factor_vae_score(codes * 0.04, factors, rng()).value == 1
