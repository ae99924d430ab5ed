from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.toys import Squares
from unbraid import build, fit, report, represent, score
from unbraid.figures import pictures as figures
from unbraid.reports.page import subject, without_folders
from unbraid.train.run import Plan, Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    table = Squares()
    method = build("ada_gvae", table, width=8, lr=3e-3)
    run = fit(method, table, steps=400, batch=32, out=str(tmp_path_factory.mktemp("runs")), show=False)
    represent(run, method, table, points=500)
    score(run, metrics=["mig"])
    report(run)
    return run


def test_the_page_stands_alone_and_tells_everything(run: Run) -> None:
    page = (run.path / "report.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!data:)(?!#)[^"]*"', page), "it loads something from elsewhere"
    assert not re.search(r"https?:|//[a-z]", re.sub(r"base64,[\w+/=]*", "", page))
    for part in (
        "To repeat it",
        "unbraid run ada_gvae",
        "Scores",
        "What each latent knows",
        "Reconstructions",
        "Traversals of z",
    ):
        assert part in page, part
    value = run.scores()["mig"]["value"]
    assert f"<b>{value:.3f}</b>" in page
    kl = run.arrays("codes.npz")["kl_z"]
    assert f"{kl.max():.2f} nats" in page
    assert page.count('alt="traversal of z') == int((kl >= 0.05).sum()) > 0


def test_a_traversal_moves_one_latent_between_its_quantiles(run: Run) -> None:
    """The middle latents stay where the first example has them: decoding by hand gives the same pictures."""
    import torch

    from unbraid import load_run

    codes, pictures = run.arrays("codes.npz"), run.arrays("pictures.npz")
    method = load_run(run.path).method
    latent = int(codes["kl_z"].argmax())
    base = torch.from_numpy(codes["codes_z"][0])
    low, high = np.quantile(codes["codes_z"][:, latent], [0.02, 0.98])
    for place, value in ((0, low), (8, high)):
        moved = base.clone()
        moved[latent] = float(value)
        with torch.no_grad():
            image = method.decode({"z": moved[None]})
        assert image is not None
        expected = (image[0] * 255).round().to(torch.uint8).numpy()
        shown = pictures["traversals_z"][latent, place]
        assert np.abs(shown.astype(int) - expected.astype(int)).max() <= 1
    assert np.ptp(pictures["traversals_z"][latent].astype(int), axis=0).max() > 20


def test_a_strip_is_the_images_side_by_side() -> None:
    import base64
    import io

    from PIL import Image

    images = np.random.default_rng(0).integers(0, 255, (3, 3, 5, 4), dtype=np.uint8)
    data = base64.b64decode(figures.strip(images, gap=1).partition(",")[2])
    sheet = np.asarray(Image.open(io.BytesIO(data)))
    assert sheet.shape == (5, 14, 3)
    np.testing.assert_array_equal(sheet[:, 5:9], images[1].transpose(1, 2, 0))


def test_an_unscored_run_says_so(run: Run, tmp_path: Path) -> None:
    import shutil

    copy = shutil.copytree(run.path, tmp_path / "copy")
    (copy / "scores.json").unlink()
    assert "No factors are known" in report(Run(copy)).read_text()


def test_a_plan_names_files_without_their_folders() -> None:
    files = {"target": "/home/me/cases.csv", "background": "study/controls.csv", "id": "sample"}
    own = Plan("/home/me/mine.py:Mine", {"encoder": "nets/a.py:Net(hidden=3)"}, "two_folders", files, {}, 10, 4, 0)
    assert subject(own) == "cases.csv against controls.csv"
    told = without_folders(own).command
    assert "/" not in told and "--target cases.csv --background controls.csv" in told and "'a.py:Net(hidden=3)'" in told
    assert subject(Plan("vae", {}, "dsprites", {"path": ""}, {}, 10, 4, 0)) == "dsprites"
    assert subject(Plan("vae", {}, "sets.py:Mine", {}, {}, 10, 4, 0)) == "Mine"
