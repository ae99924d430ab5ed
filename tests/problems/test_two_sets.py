"""A run on a target and a background: codes, pictures, scores, table and report."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.toys import Squares
from unbraid import build, fit, load_data, load_run, report, represent
from unbraid.codes import Codes, read_codes
from unbraid.data.batch import Images
from unbraid.data.samplers import sampler
from unbraid.errors import UserError
from unbraid.evaluate import score
from unbraid.problems.scores import take_scores
from unbraid.train.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    table = Squares()
    method = build("salient_vae", table, net="dense", width=4, common=4, salient=3)
    run = fit(method, table, steps=60, batch=32, out=str(tmp_path_factory.mktemp("runs")), show=False)
    represent(run, method, table, points=300)
    score(run, metrics=["two_sets"])
    report(run)
    return run


def test_a_single_set_method_sees_half_targets_and_half_backgrounds() -> None:
    table = Squares()
    assert table.background is not None
    batch = sampler(table, Images, batch=9, seed=0)(0)
    assert isinstance(batch, Images)
    rows, others = batch.index[:5].numpy(), batch.index[5:].numpy() - len(table)
    np.testing.assert_array_equal(batch.x[:5].numpy(), table.images(rows))
    np.testing.assert_array_equal(batch.x[5:].numpy(), table.background.images(others))
    assert (others >= 0).all()


def test_codes_of_both_sets_are_those_of_the_method(run: Run) -> None:
    codes, table, method = run.arrays("codes.npz"), Squares(), load_run(run.path).method
    assert table.background is not None
    x = torch.from_numpy(table.background.images(codes["background_rows"])).float() / 255
    with torch.no_grad():
        posterior = method.posterior(x)
    for block, (mu, log_var) in posterior.items():
        np.testing.assert_allclose(codes[f"background_{block}"], mu.numpy(), atol=1e-5)
        np.testing.assert_allclose(codes[f"background_scale_{block}"], log_var.exp().sqrt().numpy(), atol=1e-5)


def test_pictures_are_decoded_with_a_block_at_zero(run: Run) -> None:
    codes, pictures, method = run.arrays("codes.npz"), run.arrays("pictures.npz"), load_run(run.path).method
    s, z = (torch.from_numpy(codes[f"codes_{block}"][:10]) for block in ("s", "z"))
    for place, (one, other) in enumerate(((s, z), (0 * s, z), (s, 0 * z))):
        with torch.no_grad():
            expected = method.decode({"s": one, "z": other})
        assert expected is not None
        assert np.abs(pictures["apart"][place] - 255 * expected.numpy()).max() <= 1
    corners = pictures["between"][[0, 0, -1, -1], [0, -1, 0, -1]].astype(float)
    for corner, target in zip(corners, (0, 2, 3, 1), strict=True):
        with torch.no_grad():
            expected = method.decode({"s": s[[target]], "z": z[:1]})
        assert expected is not None
        assert np.abs(corner - 255 * expected[0].numpy()).max() <= 1


def test_the_table_has_a_line_for_each_sample_of_both_sets(run: Run) -> None:
    codes = run.arrays("codes.npz")
    with (run.path / "codes.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["set"] for line in lines] == ["target"] * 300 + ["background"] * 300
    place = int(np.argsort(codes["rows"])[7])
    assert int(lines[7]["row"]) == codes["rows"][place]
    assert float(lines[7]["z3"]) == pytest.approx(float(codes["codes_z"][place, 3]), rel=1e-4)
    place = int(np.argsort(codes["background_rows"])[5])
    assert float(lines[305]["s1"]) == pytest.approx(float(codes["background_s"][place, 1]), rel=1e-4)


def test_the_report_takes_targets_apart(run: Run) -> None:
    page = (run.path / "report.html").read_text()
    for part in ("Targets, taken apart", "[z, 0]: what is common", "Between salient codes", "Salient codes on a plane"):
        assert part in page, part
    for name in ("clustering_s", "clustering_z", "class_from_z", "set_from_z", "w2_z", "salience"):
        assert f"<td>{name}</td>" in page, name
    assert ">w2<" in page[page.index("<h2>Training</h2>") :]


def test_scores_of_a_run_without_a_background_are_unchanged(run: Run, tmp_path: Path) -> None:
    arrays = {k: v for k, v in run.arrays("codes.npz").items() if not k.startswith("background")}
    with pytest.raises(UserError, match="two_sets needs a target and a background set"):
        take_scores(Codes.from_arrays(arrays), {"two_sets": {}})
    assert set(score(run, metrics=["mig"])) == {"mig"}


def test_a_score_is_asked_for_by_its_name_by_its_metric_or_by_its_problem(run: Run) -> None:
    codes = read_codes(run)
    every = take_scores(codes, {"two_sets": {}})
    assert set(every) == {
        "clustering_s",
        "clustering_z",
        "class_from_s",
        "class_from_z",
        "class_from_s_sampled",
        "class_from_z_sampled",
        "set_from_z",
        "w2_z",
        "z_from_s",
        "salience",
    }
    assert take_scores(codes, {"w2": {}}) == {"w2_z": every["w2_z"]}
    assert take_scores(codes, {"class_from_z": {}}) == {"class_from_z": every["class_from_z"]}
    small = take_scores(codes, {"w2:small": {"batch": 16}})
    assert set(small) == {"w2_z:small"} and small["w2_z:small"].value != every["w2_z"].value


def test_a_page_names_the_block_that_was_scored_and_whose_a_caution_is(run: Run, tmp_path: Path) -> None:
    other = Run(shutil.copytree(run.path, tmp_path / "other"))
    found = score(other, block="z", metrics=["mig"])["mig"]
    assert found.params["block"] == "z"
    scores = other.scores()
    scores["mig"]["params"]["block"] = "s"
    scores["mig"]["warnings"] = scores["w2_z"]["warnings"] = ["mind <this>"]
    other.write_json("scores.json", scores)
    report(other)
    page = (other.path / "report.html").read_text()
    assert ">w2_z, mig: mind &lt;this&gt;<" in page or ">mig, w2_z: mind &lt;this&gt;<" in page
    matrix = page[page.index("What each latent knows of each factor") : page.index("Mutual information in nats")]
    assert ">s0<" in matrix and ">z0<" not in matrix


def test_two_sets_with_classes_alone_are_not_scored_for_factors(run: Run, tmp_path: Path) -> None:
    other = Run(shutil.copytree(run.path, tmp_path / "other"))
    arrays = other.arrays("codes.npz")
    label = [str(name) for name in arrays["factor_names"]].index(str(arrays["label"]))
    arrays |= {"factors": arrays["factors"][:, [label]], "factor_names": arrays["factor_names"][[label]]}
    np.savez(other.path / "codes.npz", **arrays)  # type: ignore[arg-type]
    assert "mig" not in score(other)
    assert "clustering_s" in other.scores()


def test_a_page_of_ones_own_tables_names_files_and_classes(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(80, 3)).round(3)
    kinds = ["benign", "malignant"]
    named = [f"{','.join(map(str, row))},{kinds[i % 2]}" for i, row in enumerate(rows)]
    (tmp_path / "cases.csv").write_text("\n".join(["a,b,c,kind", *named]))
    (tmp_path / "controls.csv").write_text("\n".join(["a,b,c", *(",".join(map(str, row)) for row in rows)]))
    paths = {"target": str(tmp_path / "cases.csv"), "background": str(tmp_path / "controls.csv")}
    table = load_data("two_folders", **paths, label="kind")
    method = build("salient_vae", table, width=2)
    run = fit(method, table, steps=2, out=str(tmp_path), show=False)
    codes = represent(run, method, table)
    assert codes.named("kind", 1) == "kind malignant" and codes.named("other", 1) == "other 1"
    assert codes.named("kind", 7) == "kind 7"
    assert read_codes(run).class_names == ("benign", "malignant")
    page = report(run).read_text()
    assert "<h1>salient_vae on cases.csv against controls.csv</h1>" in page
    assert "kind benign" in page and "kind malignant" in page and "kind 0" not in page
