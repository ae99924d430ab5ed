"""A run on a table of features: names of samples and features are in its files and in its report."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unbraid
from unbraid.cli import main
from unbraid.codes import Block, Codes
from unbraid.figures.parts import Folded, Table
from unbraid.problems.contract import Page
from unbraid.problems.features import LEAST, Features
from unbraid.train.run import Run

RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(80, 1))
FRAME = pd.DataFrame(
    500 + 100 * (LATENT * [1, -1, 0, 0] + 0.1 * RNG.normal(size=(80, 4))), columns=["tall", "<b>short", "odd", "even"]
).assign(who=[f"patient {i}" for i in range(80)], kind=["a", "b"] * 40)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables")
    FRAME.to_csv(place / "all.csv", index=False)
    FRAME[:50].to_csv(place / "cases.csv", index=False)
    FRAME[50:].drop(columns="kind").to_csv(place / "controls.csv", index=False)
    return place


def trained(folder: Path, *words: str) -> Run:
    out = folder / "runs" / words[0]
    common = ["--id", "who", "--out", str(out), "--batch", "32", "--width", "8", "--quiet", "--metrics", "mig"]
    assert main(["run", *words, *common]) == 0
    return Run(next(out.iterdir()))


@pytest.fixture(scope="module")
def plain(folder: Path) -> Run:
    options = ["--likelihood", "gaussian", "--latents", "2", "--beta", "0.1", "--lr", "0.003", "--steps", "400"]
    return trained(
        folder, "beta_vae", "--data", "table", "--path", str(folder / "all.csv"), "--label", "kind", *options
    )


@pytest.fixture(scope="module")
def two(folder: Path) -> Run:
    sets = ["--target", str(folder / "cases.csv"), "--background", str(folder / "controls.csv"), "--label", "kind"]
    return trained(folder, "salient_vae", *sets, "--salient", "2", "--common", "1", "--steps", "5")


def test_codes_have_the_names_of_samples(plain: Run, two: Run) -> None:
    codes, arrays = pd.read_csv(plain.path / "codes.csv"), plain.arrays("codes.npz")
    assert codes.columns.to_list() == ["row", "name", "z0", "z1"]
    assert codes["name"].to_list() == FRAME["who"].to_list()
    np.testing.assert_allclose(codes["z1"], arrays["codes_z"][np.argsort(arrays["rows"]), 1], rtol=1e-4, atol=1e-6)
    assert arrays["feature_names"].tolist() == ["tall", "<b>short", "odd", "even"]
    both = pd.read_csv(two.path / "codes.csv")
    assert both.columns.to_list() == ["set", "row", "name", "s0", "s1", "z0"]
    assert both["name"].to_list() == FRAME["who"].to_list()
    assert both["set"].to_list() == ["target"] * 50 + ["background"] * 30


def test_the_table_of_effects_is_that_of_the_model(plain: Run, two: Run, folder: Path) -> None:
    for run, x in ((plain, FRAME), (two, FRAME[:50])):
        model = unbraid.load_run(run.path)
        wanted = model.effects(x.drop(columns=["who", "kind"]))
        found = pd.read_csv(run.path / "effects.csv")
        keys = ["latent", "feature"]
        found, wanted = (table.sort_values(keys, ignore_index=True) for table in (found, wanted))
        pd.testing.assert_frame_equal(found, wanted, rtol=1e-3, atol=1e-3)
    found = pd.read_csv(plain.path / "effects.csv")
    strongest = found.loc[found["standardised"].abs().idxmax()]
    of = found[found["latent"] == strongest["latent"]].set_index("feature")["effect"]
    assert of["tall"] * of["<b>short"] < 0 and abs(of["tall"]) > 100 > 3 * abs(of["odd"])  # 100 is one deviation


def test_the_report_shows_the_largest_effects(plain: Run) -> None:
    page = (plain.path / "report.html").read_text()
    section = page[page.index("What each latent moves") :].partition("</section>")[0]
    found = pd.read_csv(plain.path / "effects.csv")
    found = found[found["standardised"].abs() >= LEAST]
    first = found.loc[found["standardised"].abs().idxmax()]
    assert section.index("&lt;b&gt;short") < section.index("</table>") and "<b>short" not in page
    assert f"<td>{first['latent']}</td>" in section and f"{first['standardised']:+.2f}" in section
    assert section.count("<tr>") == 1 + len(found)
    assert "codes of 80" in page


def test_a_block_shows_the_effects_of_its_own_latents() -> None:
    """z0 is the first latent of z, and the slice whose first latent is z00."""
    effect = {"z": 1.0, "z0": 2.0, "z1": 3.0}
    blocks = {name: Block(np.zeros((4, 2 if name == "z" else 1))) for name in effect}
    extra = {f"effects_{name}": np.full((blocks[name].width, 1, 4), size) for name, size in effect.items()}
    codes = Codes(blocks, np.arange(4), np.zeros((4, 0)), (), features=("tall",), extra=extra)
    (section,) = Features().sections(Page(codes, {}, {}, []))
    first, _, folded = section.parts
    assert isinstance(first, Table) and isinstance(folded, Folded)
    assert [row[0] for row in first.rows] == ["z0", "z1"]
    assert [[row[0] for row in part.rows] for part in folded.parts if isinstance(part, Table)] == [["z00"], ["z10"]]


def test_a_run_on_images_has_neither(tmp_path: Path) -> None:
    x = RNG.integers(0, 256, (20, 16, 16), dtype=np.uint8)
    data = unbraid.from_arrays(x)
    method = unbraid.build("beta_vae", data, width=2, latents=2)
    run = unbraid.fit(method, data, steps=2, out=str(tmp_path), show=False)
    unbraid.represent(run, method, data)
    assert not list(run.path.glob("*.csv")) or {p.name for p in run.path.glob("*.csv")} == {"history.csv"}
    assert "What each latent moves" not in unbraid.report(run).read_text()


def test_effects_as_an_earlier_version_kept_them_are_left_out(plain: Run, tmp_path: Path) -> None:
    old = Run(shutil.copytree(plain.path, tmp_path / "old"))
    arrays = old.arrays("codes.npz")
    old.write_arrays("codes.npz", **{n: a[..., :3] if n.startswith("effects_") else a for n, a in arrays.items()})
    assert "What each latent moves" in unbraid.report(plain).read_text()
    assert "What each latent moves" not in unbraid.report(old).read_text()
