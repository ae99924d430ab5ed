"""The explorer in Chromium: what one does there, and whether it shows what torch computes."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from tests.explorer.conftest import Opened, alone, settle, trained
from tests.toys import Squares
from unbraid.explorer.page import explore
from unbraid.methods.contract import Method
from unbraid.train.load import load_method
from unbraid.train.run import Run

Picture = NDArray[np.uint8]


def content_of(path: Path) -> dict[str, Any]:
    """What a page carries."""
    found = re.search(r'id="content">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found
    carried: dict[str, Any] = json.loads(found[1])
    return carried


def drawn(page: Any, selector: str) -> Picture:
    """The pixels of a canvas, [h, w]."""
    text = page.eval_on_selector(selector, "(canvas) => canvas.toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text.split(",")[1]))).convert("L"))


def code_of(page: Any, run: Run, rows: list[int]) -> torch.Tensor:
    """The code that the page's address says, with three digits after the point. [1, d]"""
    settle(page)
    words = parse_qs(page.evaluate("location.hash.slice(1)"))
    if "code" in words:
        code = torch.tensor([[float(value) for value in words["code"][0].split()]])
    else:
        code = torch.from_numpy(encoded(run, [rows[int(words["start"][0])]]))
    for name, (value,) in words.items():
        if re.fullmatch(r"z\d+", name):
            code[0, int(name[1:])] = float(value)
    return code


def encoded(run: Run, rows: list[int]) -> NDArray[np.float32]:
    with torch.no_grad():
        x = torch.from_numpy(Squares().images(np.array(rows))).float() / 255
        return load_method(run.path).encode(x)["z"].numpy()


def torchs(method: Method[Any], **blocks: torch.Tensor) -> Picture:
    """What torch decodes a code to, [h, w]."""
    with torch.no_grad():
        picture = method.decode(blocks)
    assert picture is not None
    return (picture[0, 0] * 255).round().to(torch.uint8).numpy()


def close(found: Picture, expected: Picture, tolerance: int = 1) -> None:
    assert np.ptp(expected) > 20, "there is nothing to see"
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= tolerance


@pytest.fixture(scope="module")
def rows(run: Run) -> list[int]:
    """The rows of the sample, in the order of the page."""
    return run.arrays("codes.npz")["rows"][:80].tolist()  # type: ignore[no-any-return]


def strongest(run: Run) -> list[int]:
    return np.argsort(-run.arrays("codes.npz")["kl_z"]).tolist()  # type: ignore[no-any-return]


def test_a_slider_that_is_dragged_draws_what_torch_decodes(
    opened: Opened, written: Path, run: Run, rows: list[int]
) -> None:
    page, method = opened(written), load_method(run.path)
    close(drawn(page, "#picture"), torchs(method, z=torch.from_numpy(encoded(run, rows[:1]))))
    before = drawn(page, "#picture")
    slider = page.locator(".slider input").first
    assert slider.get_attribute("aria-label").startswith(f"z{strongest(run)[0]}")
    box = slider.bounding_box()
    here, least, most = (float(slider.evaluate(f"slider => slider.{of}")) for of in ("value", "min", "max"))
    end = 0.1 if 2 * here > least + most else 0.9  # the farther one
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    code = code_of(page, run, rows)
    after = drawn(page, "#picture")
    close(after, torchs(method, z=code), tolerance=2)
    assert np.abs(after.astype(int) - before.astype(int)).max() > 40
    slider.dblclick()
    settle(page)
    np.testing.assert_array_equal(drawn(page, "#picture"), before)


def test_keys_move_latents_and_images(opened: Opened, written: Path, run: Run, rows: list[int]) -> None:
    page, first = opened(written), strongest(run)[0]
    latent = next(part for part in content_of(written)["runs"][0]["latents"] if part["column"] == first)
    start = float(encoded(run, rows[:1])[0, first])
    slider = page.locator(".slider input").first
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    step = (latent["high"] - latent["low"]) / 40
    assert float(code_of(page, run, rows)[0, first]) == pytest.approx(min(start + 3 * step, latent["high"]), abs=1e-3)
    page.keyboard.press("Home")
    assert float(code_of(page, run, rows)[0, first]) == pytest.approx(latent["low"], abs=1e-3)
    page.keyboard.press("0")
    assert float(code_of(page, run, rows)[0, first]) == pytest.approx(start, abs=1e-3)
    page.keyboard.press("ArrowDown")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith(f"z{strongest(run)[1]}")
    page.keyboard.press("End")
    page.keyboard.press("r")
    assert torch.equal(code_of(page, run, rows), torch.from_numpy(encoded(run, rows[:1])))
    page.keyboard.press("n")
    close(drawn_settled(page), torchs(load_method(run.path), z=torch.from_numpy(encoded(run, rows[1:2]))))
    page.keyboard.press("p")
    page.keyboard.press("p")
    settle(page)
    assert page.evaluate("location.hash") == "#start=79"


def drawn_settled(page: Any) -> Picture:
    settle(page)
    return drawn(page, "#picture")


def test_a_sweep_moves_a_latent_and_brings_it_back(opened: Opened, written: Path) -> None:
    page = opened(written)
    before = drawn(page, "#picture")
    page.locator(".slider input").first.focus()
    page.keyboard.press(" ")
    seen = []
    for _ in range(6):
        page.wait_for_timeout(250)
        seen.append(drawn(page, "#picture").astype(int))
    assert max(np.abs(one - seen[0]).max() for one in seen) > 40
    page.keyboard.press("Escape")
    np.testing.assert_array_equal(drawn_settled(page), before)


def test_the_grid_moves_two_latents(opened: Opened, written: Path, run: Run, rows: list[int]) -> None:
    page, method = opened(written), load_method(run.path)
    page.get_by_role("button", name="Grid of two").click()
    settle(page)
    sheet = drawn(page, "#grid")
    assert sheet.shape == (84, 84)
    across, down = strongest(run)[:2]
    latents = {part["column"]: part for part in content_of(written)["runs"][0]["latents"]}
    code = torch.from_numpy(encoded(run, rows[:1]))
    for row, column in ((0, 0), (2, 5), (6, 6)):
        moved = code.clone()
        for axis, place in ((across, column), (down, row)):
            low, high = latents[axis]["low"], latents[axis]["high"]
            moved[0, axis] = low + (high - low) * place / 6
        found = sheet[12 * row : 12 * row + 12, 12 * column : 12 * column + 12]
        assert np.abs(found.astype(int) - torchs(method, z=moved).astype(int)).max() <= 1
    box = page.locator("#grid").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 5.5 / 7, box["y"] + box["height"] * 2.5 / 7)
    code = code_of(page, run, rows)
    assert float(code[0, across]) == pytest.approx(
        latents[across]["low"] * 1 / 6 + latents[across]["high"] * 5 / 6, abs=1e-3
    )


GIVE = """([text, kind]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], "own.png", { type: "image/png" }));
  const event = kind === "drop"
    ? new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true })
    : new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true });
  document.body.dispatchEvent(event);
}"""


def test_an_image_of_ones_own_is_encoded_as_torch_does(
    opened: Opened, written: Path, run: Run, rows: list[int], tmp_path: Path
) -> None:
    page, method = opened(written), load_method(run.path)
    picture = Squares().images(np.array([700]))[0, 0]
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    expected = torch.from_numpy(encoded(run, [700]))
    for kind in ("drop", "paste", "choose"):
        if kind == "choose":
            (tmp_path / "own.png").write_bytes(file.getvalue())
            page.set_input_files("input[type=file]", tmp_path / "own.png")
        else:
            page.evaluate(GIVE, [base64.b64encode(file.getvalue()).decode(), kind])
        found = code_of(page, run, rows)
        assert (found - expected).abs().max() < 6e-4, kind  # the address has three digits
        close(drawn(page, "#picture"), torchs(method, z=expected))
        page.keyboard.press("n")
        away = code_of(page, run, rows)
        assert away.shape == expected.shape and (away - expected).abs().max() > 0.01, kind


def test_a_large_picture_is_cut_to_a_square_and_made_small(opened: Opened, written: Path, run: Run) -> None:
    page = opened(written)
    small = np.zeros((12, 12), np.uint8)
    small[3:9, 3:9] = 200
    large = np.pad(np.kron(small, np.ones((8, 8), np.uint8)), ((0, 0), (40, 40)), constant_values=255)
    file = io.BytesIO()
    Image.fromarray(np.stack([large] * 3, -1)).save(file, "PNG")
    page.evaluate(GIVE, [base64.b64encode(file.getvalue()).decode(), "drop"])
    settle(page)
    found = drawn(page, ".slot canvas").astype(int)
    assert np.abs(found - small).max() <= 3
    page.evaluate(GIVE, [base64.b64encode(b"no picture").decode(), "drop"])
    settle(page)
    assert "no picture" in page.locator(".gallery [role=status]").inner_text()


def test_the_map_shows_an_image_and_starts_from_it(opened: Opened, written: Path, rows: list[int]) -> None:
    page = opened(written)
    page.locator("#map").scroll_into_view_if_needed()
    x, y = page.evaluate("document.getElementById('map').place(7)")
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    card = page.locator(".tip")
    assert card.is_visible()
    values = Squares().values(np.array([rows[7]]))[0]
    assert f"row {rows[7]}" in card.inner_text()
    for factor, value in zip(Squares.factors, values, strict=True):
        assert re.search(rf"{factor.name}\s+{value}\b", card.inner_text())
    page.mouse.click(box["x"] + x, box["y"] + y)
    settle(page)
    assert "start=7" in page.evaluate("location.hash")
    page.mouse.move(box["x"] + 1, box["y"] - 30)
    assert not card.is_visible()


def test_each_plane_can_be_chosen(opened: Opened, written: Path, run: Run, rows: list[int]) -> None:
    page = opened(written)
    places = {}
    for plane in ("PCA of z", "two latents", "t-SNE of z"):
        page.get_by_label("plane").select_option(plane)
        page.get_by_label("colour").select_option("side")
        settle(page)
        assert page.locator(".legend span").count() == 3
        place = "[...Array(80).keys()].map((i) => document.getElementById('map').place(i))"
        places[plane] = np.array(page.evaluate(place))
    codes = encoded(run, rows)[:, strongest(run)[:2]] * [1, -1]  # up is less on a screen
    for axis in (0, 1):
        assert np.corrcoef(places["two latents"][:, axis], codes[:, axis])[0, 1] == pytest.approx(1, abs=1e-6)
    codes = encoded(run, rows).astype(float)
    first = np.linalg.svd(codes - codes.mean(0))[2][0]
    assert abs(np.corrcoef(places["PCA of z"][:, 0], codes @ first)[0, 1]) == pytest.approx(1, abs=1e-5)
    assert not any(np.allclose(places["t-SNE of z"], places[plane]) for plane in ("PCA of z", "two latents"))


def test_neighbours_are_the_nearest_in_one_latent(opened: Opened, written: Path, run: Run, rows: list[int]) -> None:
    page, latent = opened(written), strongest(run)[1]
    codes = encoded(run, rows)
    for space, columns in (("z", list(range(10))), (f"z{latent}", [latent])):
        page.get_by_label("alike in").select_option(space)
        settle(page)
        found = page.eval_on_selector_all("#neighbours button", "(all) => all.map((each) => +each.dataset.index)")
        distance = ((codes[:, columns] - codes[0, columns]) ** 2).sum(1)
        expected = [i for i in np.argsort(distance, kind="stable") if i][:12]
        assert found == expected


def test_the_heat_map_is_that_of_the_scores(opened: Opened, written: Path, run: Run) -> None:
    page = opened(written)
    nats = np.array(run.scores()["mig"]["parts"]["mutual_information"])
    sizes = np.array([8, 8, 3, 4])
    values = run.arrays("codes.npz")["factors"]
    entropies = [-(p := np.bincount(column) / len(column)) @ np.log(p) for column in values.T]
    latent = strongest(run)[0]
    for k in range(len(sizes)):
        cell = page.locator(f'#heat td[data-cell="z{latent} {k}"]')
        assert int(cell.inner_text() or 0) == pytest.approx(100 * nats[latent, k] / entropies[k], abs=0.51)
    page.locator(f'#heat td[data-cell="z{latent} 3"]').hover()
    assert page.locator("#scatter").get_attribute("data-shows") == f"z{latent} light"


def test_scores_have_intervals_and_chance(opened: Opened, written: Path, run: Run) -> None:
    text = opened(written).locator("#scores").inner_text()
    score = run.scores()["mig"]
    assert f"{score['value']:.2f}" in text
    assert f"{score['low']:.2f} to {score['high']:.2f}" in text
    assert f"chance {score['null']:.2f}" in text


def test_a_link_brings_back_what_was_shown(opened: Opened, written: Path, run: Run, rows: list[int]) -> None:
    latent = strongest(run)[0]
    page = opened(written, f"#start=5&z{latent}=0.25&_plane=two&_color=light")
    code = torch.from_numpy(encoded(run, rows[5:6]))
    code[0, latent] = 0.25
    close(drawn(page, "#picture"), torchs(load_method(run.path), z=code))
    assert page.get_by_label("plane").input_value() == "two"
    assert page.get_by_label("colour").input_value() == "light"


@pytest.mark.parametrize(
    "fragment", ["#start=9999", "#code=1,2", "#run=7&start=-1&view=x", "#z0=NaN&_plane=%3Cb%3E", "#%"]
)
def test_a_link_that_does_not_fit_is_left_out(opened: Opened, written: Path, run: Run, fragment: str) -> None:
    page = opened(written, fragment)
    assert np.ptp(drawn(page, "#picture")) > 20


def test_the_picture_and_the_sweep_can_be_saved(opened: Opened, written: Path, tmp_path: Path) -> None:
    page = opened(written)
    shown = drawn(page, "#picture")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save PNG").click()
    saving.value.save_as(tmp_path / "saved.png")
    saved = np.asarray(Image.open(tmp_path / "saved.png").convert("L"))
    np.testing.assert_array_equal(saved, np.kron(shown, np.ones((42, 42), np.uint8)))
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save GIF").click()
    saving.value.save_as(tmp_path / "saved.gif")
    with Image.open(tmp_path / "saved.gif") as file:
        assert file.n_frames == 24  # type: ignore[attr-defined]
        first = np.asarray(file.convert("L")).astype(int)
        file.seek(12)
        assert np.abs(np.asarray(file.convert("L")) - first).max() > 40


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_need_not_scroll_sideways(opened: Opened, written: Path, dark: bool) -> None:
    page = opened(written, width=400, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (np.mean([int(value) for value in re.findall(r"\d+", light)]) < 60) == dark


@pytest.fixture(scope="module")
def two_sets(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return trained(tmp_path_factory.mktemp("runs"), "salient_vae", Squares(), width=8, lr=3e-3)


def test_blocks_are_drawn_apart_and_exchanged(opened: Opened, two_sets: Run) -> None:
    table, method = Squares(), load_method(two_sets.path)
    page = opened(explore(two_sets, data=table, images=50, bits=32))
    arrays = two_sets.arrays("codes.npz")
    target, other = arrays["rows"][0], arrays["rows"][1]
    with torch.no_grad():
        ours, theirs = (
            method.encode(torch.from_numpy(table.images(np.array([r]))).float() / 255) for r in (target, other)
        )
    nothing = {name: torch.zeros_like(part) for name, part in ours.items()}
    for head, blocks in {
        "[s, z]": ours,
        "[0, z]": ours | {"s": nothing["s"]},
        "[s, 0]": ours | {"z": nothing["z"]},
        "s exchanged": ours | {"s": theirs["s"]},
        "z exchanged": ours | {"z": theirs["z"]},
    }.items():
        found = drawn(page, f'.column[data-head="{head}"] canvas')
        assert np.abs(found.astype(int) - torchs(method, **blocks).astype(int)).max() <= 1, head
    text = page.locator(".controls").inner_text()
    assert "salient" in text and "common" in text
    assert page.locator(".legend span").count() > 0
    page.get_by_label("colour").select_option("set")
    assert page.locator(".legend").inner_text().split() == ["target", "background"]


def test_runs_are_shown_side_by_side(opened: Opened, run: Run, tmp_path: Path) -> None:
    second = trained(tmp_path, "beta_vae", alone(), width=8, lr=3e-3)
    path = explore(run, second, data=alone(), images=40, bits=32, out=tmp_path / "two.html")
    page, rows = opened(path, "#start=3"), run.arrays("codes.npz")["rows"]
    assert page.locator(".card").count() == 2
    x = torch.from_numpy(Squares().images(rows[3:4])).float() / 255
    for place, each in enumerate((run, second)):
        method = load_method(each.path)
        with torch.no_grad():
            code = method.encode(x)["z"]
        found = drawn(page, f".card:nth-child({place + 1}) canvas[aria-label$=reconstruction]")
        assert np.abs(found.astype(int) - torchs(method, z=code).astype(int)).max() <= 1
    page.get_by_role("navigation").get_by_role("button", name="beta_vae").click()
    settle(page)
    assert page.locator("h1").inner_text() == "beta_vae on Squares"
    with torch.no_grad():
        code = load_method(second.path).encode(x)["z"]
    assert np.abs(drawn(page, "#picture").astype(int) - torchs(load_method(second.path), z=code).astype(int)).max() <= 1
    page.get_by_label("factor").select_option("light")
    settle(page)
    assert page.locator(".card").first.inner_text().count("of light") == 1


def test_features_of_several_dimensions_are_exchanged_as_one(opened: Opened, tmp_path: Path) -> None:
    run = trained(tmp_path, "intervention_ae", alone(), steps=20, features=3, dims=2, width=4, inner_steps=2)
    table, method = alone(), load_method(run.path)
    page = opened(explore(run, data=table, images=20, bits=32))
    rows = run.arrays("codes.npz")["rows"][:2]
    with torch.no_grad():
        code = method.encode(torch.from_numpy(table.images(rows)).float() / 255)["z"]
    mixed = code[:1].clone()
    mixed[0, 2:4] = code[1, 2:4]
    found = drawn(page, '.column[data-head="z1 exchanged"] canvas')
    assert np.abs(found.astype(int) - torchs(method, z=mixed).astype(int)).max() <= 1
    assert page.locator(".slider b").first.inner_text() in {f"z{i}.{j}" for i in range(3) for j in range(2)}


def test_the_page_is_one_file(written: Path) -> None:
    carried = content_of(written)
    assert carried["count"] == 80 and len(carried["names"]) == 80
    text = written.read_text()
    assert not re.findall(r'(?:src|href)\s*=\s*"(?!data:)', text)
