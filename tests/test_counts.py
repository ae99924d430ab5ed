"""Counts from end to end: what is decoded, reconstructed and moved, and that the library size stays out of the code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LinearRegression, LogisticRegression

import unbraid
from unbraid.cli import main
from unbraid.data.counts import Counts
from unbraid.errors import UserError
from unbraid.export import export, run_torch
from unbraid.metrics.model.quantities import image_nll, likelihood_of, unsupervised_quantities
from unbraid.model import Model
from unbraid.nets.autoencoders import decoder


@dataclass(frozen=True)
class Cells:
    """Made-up cells: a programme that both sets share, three kinds of target, and library sizes that differ."""

    target: NDArray[np.float64]
    background: NDArray[np.float64]
    kind: NDArray[np.int64]  # of each target
    shared: NDArray[np.float64]  # how far the shared programme is on in each target, [n, 1]
    salient_features: range


def tiny_cells(n: int = 400, features: int = 40) -> Cells:
    rng = np.random.default_rng(0)
    programme, own = np.zeros((1, features)), np.zeros((3, features))
    programme[0, :12] = rng.normal(size=12)
    for i in range(3):
        own[i, 16 + 6 * i : 22 + 6 * i] = 2.0
    kind, shared = rng.integers(0, 3, n), rng.normal(size=(2 * n, 1))
    logits = rng.normal(size=features) + shared @ programme
    logits[:n] += own[kind]
    share = np.exp(logits)
    library = np.exp(rng.normal(np.log(np.repeat([1500, 500], n)), 0.5))  # targets were counted three times as deep
    mean = library[:, None] * share / share.sum(1, keepdims=True)
    counts = rng.poisson(rng.gamma(5.0, mean / 5.0)).astype(np.float64)
    return Cells(counts[:n], counts[n:], kind, shared[:n], range(16, 34))


CELLS = tiny_cells()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Trained on made-up cells, and loaded again."""
    out = str(tmp_path_factory.mktemp("counts"))
    estimator = unbraid.Disentangler(
        "salient_vae",
        likelihood="negative_binomial",
        salient=3,
        common=3,
        beta=1.0,
        width=4,
        steps=900,
        lr=3e-3,
        out=out,
    ).fit(CELLS.target, background=CELLS.background)
    return unbraid.load_run(estimator.run_.path)


def shares(model: Model, codes: dict[str, np.ndarray]) -> np.ndarray:
    """The share of each feature in a row, from the network alone."""
    z = torch.from_numpy(np.concatenate([codes["s"], codes["z"]], 1))
    with torch.no_grad():
        logits = model.method.decoder.net(z)[:, 0, 0].double().numpy()
    exponential = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(exponential / exponential.sum(1, keepdims=True))


def test_the_likelihood_is_scipys_with_the_library_size_of_each_row() -> None:
    torch.manual_seed(0)
    net = decoder("dense", (1, 1, 5), 2, width=2, likelihood="negative_binomial")
    assert net.log_theta is not None
    with torch.no_grad():
        net.log_theta.copy_(torch.linspace(-1, 2, 5))
    z, counts = 3 * torch.randn(6, 2), np.random.default_rng(0).poisson([0.1, 1, 5, 40, 2000], (6, 5))
    x = torch.from_numpy(np.log1p(counts)).float()[:, None, None]
    with torch.no_grad():
        p = torch.softmax(net(z)[:, 0, 0].double(), -1).numpy()
        found = net.nll(z, x).numpy()
        mean, theta = counts.sum(1, keepdims=True) * p, net.log_theta.exp().double().numpy()
        wanted = -stats.nbinom.logpmf(counts, theta, theta / (theta + mean)).sum(1)
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        for library in (1.0, 300.0):  # whatever the picture is drawn for
            again = image_nll(net.mean(z, library), x, "negative_binomial", log_theta=net.log_theta)
            np.testing.assert_allclose(again, wanted, rtol=1e-4)


def test_a_row_without_counts_costs_little_and_is_finite() -> None:
    net = decoder("dense", (1, 1, 5), 2, width=2, likelihood="negative_binomial")
    assert 0 < net.nll(torch.zeros(1, 2), torch.zeros(1, 1, 1, 5)).item() < 1


def test_decoded_counts_are_those_of_a_typical_row_and_reconstructed_ones_of_each_row(model: Model) -> None:
    both = np.concatenate([CELLS.target, CELLS.background])
    library = np.median(both.sum(1))
    codes = model.encode(CELLS.target)
    p = shares(model, codes)
    np.testing.assert_allclose(model.decode(codes), library * p, rtol=1e-4, atol=1e-6)
    frame = pd.DataFrame(CELLS.target)
    again = model.reconstruct(frame)
    assert isinstance(again, pd.DataFrame)
    np.testing.assert_allclose(again, CELLS.target.sum(1, keepdims=True) * p, rtol=1e-4, atol=1e-6)
    error = ((np.log1p(again.to_numpy()) - np.log1p(CELLS.target)) ** 2).mean(1)
    np.testing.assert_allclose(model.squared_error(CELLS.target), error, rtol=1e-3)
    assert error.mean() < 0.5 * np.log1p(CELLS.target).var(0).mean()


def test_the_bound_is_the_likelihood_minus_the_divergence(model: Model) -> None:
    """On codes without noise, so that nothing is drawn."""
    method, x = model.method, torch.from_numpy(np.log1p(CELLS.target)).float()[:, None, None]
    with torch.no_grad():
        mu, log_var = method.encoder(x).chunk(2, -1)
        kl = 0.5 * (mu**2 + log_var.exp() - 1 - log_var).sum(-1)
    assert method.decoder.log_theta is not None
    theta = method.decoder.log_theta.exp().detach().double().numpy()
    mean = CELLS.target.sum(1, keepdims=True) * shares(model, model.encode(CELLS.target))
    wanted = stats.nbinom.logpmf(CELLS.target, theta, theta / (theta + mean)).sum(1) - kl.numpy()
    found = np.mean([model.elbo(CELLS.target, seed=seed) for seed in range(20)], 0)
    assert np.corrcoef(found, wanted)[0, 1] > 0.99 and np.abs(found.mean() - wanted.mean()) < 0.05 * abs(wanted.mean())
    assert likelihood_of(method)[0] == "negative_binomial"
    data = unbraid.from_arrays(CELLS.target, background=CELLS.background, counts=True)
    quantities = unsupervised_quantities(method, data, np.arange(len(CELLS.target)))
    assert quantities["elbo"] == pytest.approx(found.mean(), rel=0.01)


def test_effects_are_log2_fold_changes_and_the_rarely_counted_weigh_little(model: Model) -> None:
    table = model.effects(CELLS.target, block="s")
    codes = model.encode(CELLS.target)
    latent = int(codes["s"].std(0).argmax())
    ends = []
    for sign in (-1, 1):
        moved = {name: code.copy() for name, code in codes.items()}
        moved["s"][:, latent] = codes["s"][:, latent].mean() + sign * codes["s"][:, latent].std()
        ends.append(shares(model, moved))
    found = table[table["latent"] == f"s{latent}"].set_index("feature")
    names = [f"x{i}" for i in range(CELLS.target.shape[1])]
    np.testing.assert_allclose(found.loc[names, "effect"], np.log2(ends[1] / ends[0]).mean(0), atol=1e-3)
    assert isinstance(model.scaling, Counts)
    change = np.log1p(model.scaling.library * ends[1]) - np.log1p(model.scaling.library * ends[0])
    wanted = change.mean(0) / np.log1p(np.concatenate([CELLS.target, CELLS.background])).std(0)
    np.testing.assert_allclose(found.loc[names, "standardised"], wanted, rtol=1e-3, atol=1e-4)
    assert found["standardised"].abs().is_monotonic_decreasing


def test_the_salient_code_finds_what_only_targets_have_and_not_the_library_size(model: Model) -> None:
    half = len(CELLS.target) // 2
    codes = model.encode(CELLS.target)

    def kind_from(block: str) -> float:
        probe = LogisticRegression(max_iter=2000).fit(codes[block][:half], CELLS.kind[:half])
        return float(probe.score(codes[block][half:], CELLS.kind[half:]))

    def explained(block: str, of: np.ndarray) -> float:
        return float(LinearRegression().fit(codes[block][:half], of[:half]).score(codes[block][half:], of[half:]))

    assert kind_from("s") > 0.97 and kind_from("z") < 0.65  # chance is a third
    assert explained("z", CELLS.shared) > 0.8 and explained("s", CELLS.shared) < 0.3
    assert explained("s", np.log(CELLS.target.sum(1))) < 0.3
    assert np.abs(model.encode(CELLS.background)["s"]).mean() < 0.2 * np.abs(codes["s"]).mean()
    moved = model.effects(CELLS.target, block="s").groupby("latent").head(6)
    moved = moved[moved["standardised"].abs() > 0.5]
    assert len(moved) and set(moved["feature"]) <= {f"x{i}" for i in CELLS.salient_features}


@pytest.mark.parametrize("kind", ["torch", "onnx"])
def test_an_exported_model_takes_counts(model: Model, kind: str, tmp_path: Path) -> None:
    if kind == "onnx":
        pytest.importorskip("onnxruntime")
    files = export(model, tmp_path, kind)
    if kind == "torch":
        counts = {"features": torch.from_numpy(CELLS.target[:7]).float()}
        found = run_torch(files["encoder"].read_bytes(), counts)
        np.testing.assert_allclose(found[0], model.encode(CELLS.target[:7])["s"], rtol=1e-4, atol=1e-5)


def test_counts_and_their_likelihood_need_each_other(model: Model, tmp_path: Path) -> None:
    x = CELLS.target
    for counts, likelihood, message in (
        (False, "negative_binomial", "is for features that are counts, .* add --counts"),
        (True, "gaussian", "the features are counts, .* choose negative_binomial, or leave --counts out"),
    ):
        data = unbraid.from_arrays(x, counts=counts)
        method = unbraid.build("vae", data, likelihood=likelihood, width=2)
        with pytest.raises(UserError, match=message):
            unbraid.fit(method, data, steps=2, out=str(tmp_path), show=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match=r"X has 1\.5 in row 0, column 0: counts are whole numbers"):
        model.transform(np.full((2, x.shape[1]), 1.5))


@pytest.mark.parametrize("method", ["beta_tcvae", "factor_vae", "hfs", "qlae", "cvae", "rb_vae"])
def test_other_methods_take_counts_too(method: str) -> None:
    estimator = unbraid.Disentangler(method, likelihood="negative_binomial", steps=3, width=2)
    estimator.fit(CELLS.target, background=CELLS.background)
    drawn = estimator.inverse_transform(estimator.transform(CELLS.target[:4]))
    assert isinstance(estimator.model_.scaling, Counts)
    np.testing.assert_allclose(drawn.sum(1), estimator.model_.scaling.library, rtol=1e-4)


def test_pairs_of_counts() -> None:
    estimator = unbraid.Disentangler("ada_gvae", likelihood="negative_binomial", steps=3, width=2, latents=3)
    estimator.fit(pairs=(CELLS.target[:100], CELLS.background[:100]))
    assert estimator.transform(CELLS.target[:5]).shape == (5, 3)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, counts in (("cases", CELLS.target), ("controls", CELLS.background)):
        pd.DataFrame(counts).add_prefix("gene").to_csv(tmp_path / f"{name}.csv", index=False)
    sets = ["--target", str(tmp_path / "cases.csv"), "--background", str(tmp_path / "controls.csv"), "--counts"]
    words = ["run", "salient_vae", *sets, "--steps", "30", "--width", "2", "--quiet", "--out", str(tmp_path / "runs")]
    assert main(words) == 1
    assert "the features are counts" in capsys.readouterr().err
    assert main([*words, "--likelihood", "negative_binomial"]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert "log2 fold change of the expected count" in (run / "report.html").read_text()
    effects = pd.read_csv(run / "effects.csv")
    again = unbraid.load_run(run).effects(pd.read_csv(tmp_path / "cases.csv"))
    np.testing.assert_allclose(effects["effect"], again["effect"], rtol=1e-3, atol=1e-4)
    assert main(["explore", str(run), "--out", str(tmp_path / "page.html"), "--no-open"]) == 0
