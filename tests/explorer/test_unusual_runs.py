"""Runs that lack something, or have too much of it: a page or one sentence, never a broken page."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.explorer.conftest import Opened, alone, settle, trained
from tests.explorer.test_page import content_of, drawn
from tests.toys import Squares
from unbraid import build, explore, fit, load_data, represent
from unbraid.cli import main
from unbraid.data.table import Bytes, Rows, Table
from unbraid.errors import UserError
from unbraid.explorer import network, sheet
from unbraid.explorer import page as page_module
from unbraid.reports.page import title
from unbraid.train.load import load_method
from unbraid.train.run import Run

NASTY = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


class Rounded(nn.Module):
    """A layer that the page does not know."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.round(x, decimals=1)


def test_a_run_without_decoder_has_map_and_neighbours(opened: Opened, tmp_path: Path) -> None:
    run = trained(tmp_path, "sub_infomax", Squares(), steps=5, net="conv4", width=4)
    page = opened(explore(run, data=alone(), images=60))
    assert "no decoder" in page.locator(".notes").inner_text()
    assert not page.locator(".controls").is_visible() and not page.locator("#exchange").is_visible()
    assert page.locator("#neighbours button").count() == 12
    options = page.get_by_label("plane").locator("option").all_inner_texts()
    assert {"t-SNE of z", "t-SNE of z0", "PCA of r1"} <= set(options)
    first = page.locator("#neighbours button").first
    index = first.get_attribute("data-index")
    first.click()
    settle(page)
    assert f"start={index}" in page.evaluate("location.hash")


def test_a_decoder_with_an_unknown_layer_has_its_traversals_drawn_in_advance(
    opened: Opened, run: Run, tmp_path: Path
) -> None:
    method = load_method(run.path)
    method.decoder.net = nn.Sequential(method.decoder.net, Rounded())
    path = explore(run, method=method, data=alone(), images=20, out=tmp_path / "drawn.html")
    page = opened(path)
    assert "'round'" in page.locator(".notes").inner_text()
    tile = page.locator(".frame .thumb")
    assert tile.get_attribute("data-frame") == "0"
    page.locator(".slider input").nth(1).focus()
    page.keyboard.press("End")
    settle(page)
    frame = int(page.locator(".frame .thumb").get_attribute("data-frame"))
    assert frame == 1 + 2 * 11 - 1  # the last of the second latent's
    assert not page.get_by_role("button", name="Save PNG").is_visible()


def test_an_encoder_with_an_unknown_layer_takes_no_pictures(opened: Opened, run: Run, tmp_path: Path) -> None:
    method = load_method(run.path)
    method.encoder = nn.Sequential(Rounded(), method.encoder)
    page = opened(explore(run, method=method, data=alone(), images=20, out=tmp_path / "page.html"))
    assert "encoder" in page.locator(".notes").inner_text()
    file = {"name": "own.png", "mimeType": "image/png", "buffer": b""}
    page.set_input_files("input[type=file]", file)
    assert "cannot" in page.locator(".gallery [role=status]").inner_text()
    assert np.ptp(drawn(page, "#picture")) > 20


class Pictures(Table):
    """The squares, of which nothing is known."""

    name, shape = "squares", Squares.shape

    def __len__(self) -> int:
        return len(alone())

    def images(self, rows: Rows) -> Bytes:
        return alone().images(rows)


def test_without_factors_there_is_no_heat_map(opened: Opened, run: Run, tmp_path: Path) -> None:
    copy = Run(shutil.copytree(run.path, tmp_path / "copy"))
    (copy.path / "scores.json").write_text("{}")
    arrays = copy.arrays("codes.npz")
    copy.write_arrays(
        "codes.npz",
        **arrays
        | {"factors": arrays["factors"][:, :0], "factor_names": np.array([], str)}
        | {"kinds": np.array([], str)},
    )
    page = opened(explore(copy, data=Pictures(), images=20))
    assert not page.locator("#heat").is_visible() and not page.locator("#scores").is_visible()
    assert page.locator("#map").is_visible()
    assert np.ptp(drawn(page, "#picture")) > 20


@pytest.mark.parametrize("count", [1, 2])
def test_one_image_is_enough(opened: Opened, run: Run, tmp_path: Path, count: int) -> None:
    page = opened(explore(run, data=alone(), images=count, out=tmp_path / "few.html"))
    assert page.locator(".strip button").count() == count
    assert np.ptp(drawn(page, "#picture")) > 20
    assert page.locator("#exchange").is_visible() == (count > 1)
    page.keyboard.press("n")
    settle(page)
    assert page.locator("#neighbours button").count() == count - 1


def test_200_latents_do_not_fill_the_page(opened: Opened, tmp_path: Path) -> None:
    run = trained(tmp_path, "beta_vae", alone(), steps=5, latents=200, width=4)
    page = opened(explore(run, data=alone(), images=30))
    assert 0 < page.locator(".slider").count() <= 12
    page.get_by_role("button", name="more").last.click()
    assert page.locator(".slider").count() == 200
    assert page.locator("#heat tbody tr").count() <= 14


def test_names_are_never_read_as_html(opened: Opened, run: Run, tmp_path: Path) -> None:
    table = alone()
    table.factors = tuple(replace(factor, name=f"{factor.name}{NASTY}") for factor in table.factors)  # type: ignore[assignment]
    table.label = table.factors[2].name
    table.class_names = (f"0{NASTY}", f"1{NASTY}", f"2{NASTY}")
    table.files = tuple(f"{i}{NASTY}" for i in range(len(table)))
    copy = Run(shutil.copytree(run.path, tmp_path / "<img src=x onerror='window.hacked = 1'>"))
    arrays = copy.arrays("codes.npz")
    names = np.array([factor.name for factor in table.factors])
    copy.write_arrays(
        "codes.npz", **arrays | {"factor_names": names, "label": np.array(table.label)} | {"kinds": names[[2]]}
    )
    scores = copy.scores()
    scores["mig"] = scores["mig"] | {"warnings": [NASTY]}
    copy.write_json("scores.json", scores | {NASTY: scores["mig"]})
    config = json.loads((copy.path / "run.json").read_text())
    (copy.path / "run.json").write_text(json.dumps(config | {"data": NASTY}))
    other = Run(shutil.copytree(copy.path, tmp_path / "<b>other"))
    page = opened(explore(Run(copy.path), other, data=table, images=30))
    page.get_by_label("colour").select_option(table.label)
    x, y = page.evaluate("document.getElementById('map').place(3)")
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.locator("#heat td").first.hover()
    settle(page)
    for place in (".tip", ".legend", "#heat", "#scores", "h1", ".sliders"):
        assert "<script>" in page.locator(place).text_content().replace("\u200b", ""), place
    assert "<img" in page.locator(".card").first.text_content()
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Any]:
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    kinds = rng.integers(0, 3, 300)
    common = rng.normal(size=(600, 2)) @ rng.normal(size=(2, 20))
    cases = common[:300] + 4 * np.eye(20)[kinds + 5] + 0.1 * rng.normal(size=(300, 20))
    np.savez(folder / "cases.npz", features=cases, labels=kinds)
    np.save(folder / "controls.npy", common[300:] + 0.1 * rng.normal(size=(300, 20)))
    table = load_data("two_folders", target=str(folder / "cases.npz"), background=str(folder / "controls.npy"))
    method = build("salient_vae", table, common=3, salient=3, width=4, lr=3e-3)
    run = fit(method, table, steps=100, batch=32, out=str(folder), show=False)
    represent(run, method, table, points=200)
    return run, table


def test_rows_of_features_have_bars(opened: Opened, features: tuple[Run, Any]) -> None:
    run, table = features
    page = opened(explore(run, images=100, bits=32))
    folder = str(run.path.resolve().parent.parent)
    assert folder in json.dumps(run.config) and folder not in (run.path / "explorer.html").read_text()
    assert page.locator("h1").inner_text() == title(run.plan)
    page.locator(".slider input").first.focus()
    page.keyboard.press("End")
    settle(page)
    carried, method = content_of(run.path / "explorer.html"), load_method(run.path)
    latent = next(
        part for part in carried["runs"][0]["latents"] if part["name"] == page.locator(".slider b").first.inner_text()
    )
    x = torch.from_numpy(table.images(run.arrays("codes.npz")["rows"][:1]))
    with torch.no_grad():
        code = method.encode(x)
        before = method.decode(code)
        code[latent["block"]][0, int(latent["name"][1:])] = latent["high"]
        after = method.decode(code)
    assert before is not None and after is not None
    change = (after - before).flatten().numpy()
    shown = page.eval_on_selector_all(".bar", "(all) => all.map((bar) => +bar.dataset.feature)")
    names = page.eval_on_selector_all(".bar .name", "(all) => all.map((name) => name.textContent)")
    assert names == [table.scaling.labels[i] for i in shown]
    assert shown[:5] == np.argsort(-np.abs(change))[:5].tolist()
    text = page.locator(".bar .number").first.inner_text().replace("−", "-").removesuffix(" sd")
    assert float(text) == pytest.approx(10 * change[shown[0]], abs=0.006)


def test_features_whose_decoder_is_unknown_have_map_and_neighbours(
    opened: Opened, features: tuple[Run, Any], tmp_path: Path
) -> None:
    method = load_method(features[0].path)
    method.decoder.net = nn.Sequential(method.decoder.net, Rounded())
    page = opened(explore(features[0], method=method, images=30, out=tmp_path / "page.html"))
    assert "no sliders" in page.locator(".notes").inner_text()
    assert not page.locator(".controls").is_visible()
    assert page.locator("#neighbours button").count() == 12


def test_the_command_writes_and_opens_the_page(
    features: tuple[Run, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    out = tmp_path / "page.html"
    words = ["explore", str(features[0].path), "--images", "30", "--out", str(out)]
    assert main([*words, "--no-open"]) == 0
    assert not seen and str(out) in capsys.readouterr().out
    assert content_of(out)["count"] == 30
    assert main(words) == 0
    assert seen == [out.as_uri()]


def test_a_row_of_features_of_ones_own(opened: Opened, features: tuple[Run, Any]) -> None:
    run, table = features
    page = opened(explore(run, images=30, bits=32))
    row = table.images(np.array([7]))[0, 0, 0]
    text = ", ".join(f"{value:.6f}" for value in row).encode()
    page.set_input_files("input[type=file]", {"name": "row.csv", "mimeType": "text/csv", "buffer": text})
    settle(page)
    with torch.no_grad():
        code = load_method(run.path).encode(torch.from_numpy(row)[None, None, None])
    expected = torch.cat([code["s"], code["z"]], -1)[0]
    found = page.evaluate("new URLSearchParams(location.hash.slice(1)).get('code')")
    np.testing.assert_allclose([float(word) for word in found.split()], expected, atol=6e-4)
    page.set_input_files("input[type=file]", {"name": "row.csv", "mimeType": "text/csv", "buffer": b"1, 2"})
    settle(page)
    assert "20 numbers" in page.locator(".gallery [role=status]").inner_text()


def test_what_cannot_be_explored_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run"):
        explore(tmp_path)
    with pytest.raises(UserError, match="at least one image"):
        explore(run, data=alone(), images=0)
    with pytest.raises(UserError, match="16 or 32 bits"):
        explore(run, data=alone(), bits=8)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="folder that exists"):
        explore(run, data=alone(), images=5, out=tmp_path / "nowhere" / "page.html")
    copy = shutil.copytree(run.path, tmp_path / "copy")
    config = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(config | {"arguments": {"gamma": 3}}))
    with pytest.raises(UserError, match="another version"):
        explore(copy, data=alone())
    (copy / "run.json").write_text(json.dumps(config | {"data": "others"}))
    with pytest.raises(UserError, match=r"differ in the data set: tests\.toys:Squares and others"):
        explore(run, copy, data=alone())


def test_a_network_of_too_many_weights_is_not_carried(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "LARGEST", 100)
    carried = content_of(explore(run, data=alone(), images=5, out=tmp_path / "page.html"))["runs"][0]
    assert carried["networks"] == {} and carried["frames"]["images"] == 4
    assert "weights, and a page carries 100 at most" in carried["notes"][0]


def test_a_page_of_64x64_images_has_3_mb_at_most(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (500, 64, 64, 3), dtype=np.uint8)  # as large as can be
    np.save(tmp_path / "noise.npy", noise)
    table = load_data("images", path=str(tmp_path / "noise.npy"))
    method = build("beta_vae", table)
    run = fit(method, table, steps=1, batch=2, out=str(tmp_path), show=False)
    represent(run, method, table, points=500)
    run.write_json("scores.json", {})
    assert explore(run, images=500).stat().st_size < 3_000_000


def test_pictures_of_a_sheet_shrink_until_it_fits() -> None:
    images = np.random.default_rng(0).integers(0, 255, (10, 3, 64, 64), dtype=np.uint8)
    assert sheet.sheet(images)["width"] == 64
    small = sheet.sheet(images, largest=40_000)
    assert small["width"] == 32
    assert len(small["address"]) < 60_000


def test_runs_on_other_images_of_the_same_set_are_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the same number of rows was drawn anew."""
    other = Run(shutil.copytree(run.path, tmp_path / "other"))
    turned = alone()
    turned.render = lambda values: 255 - Squares.render(turned, values)  # type: ignore[method-assign]
    tables = {str(run.path): alone(), str(other.path): turned}
    monkeypatch.setattr(page_module, "load_table", lambda run, **_: tables[str(run.path)])
    with pytest.raises(UserError, match="are different images: their data have other arguments"):
        explore(run, other, images=20, out=tmp_path / "page.html")
