"""`unbraid compare`: scores side by side, what differs, the leaderboard of a folder, traversals of one image."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.reports.test_unusual import leave
from unbraid.cli import main
from unbraid.errors import UserError
from unbraid.reports import compare
from unbraid.train.run import Run


def scored(run: Run, **values: float) -> Run:
    scores = run.scores()
    for name, value in values.items():
        low, high = value - 0.01, value + 0.01
        scores[name] = {**scores["mig"], "value": value, "low": low, "high": high, "null": 0.0, "parts": {}}
    run.write_json("scores.json", scores)
    return run


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    values = [(0.2, 0.1), (0.5, 0.9), (0.3, 0.4)]
    return [scored(leave(tmp_path, seed=i), mig=a, z_from_s=b) for i, (a, b) in enumerate(values)]


def test_two_runs_stand_side_by_side(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(runs[0].path), str(runs[1].path)]) == 0
    told = capsys.readouterr().out
    assert "beta_vae seed=0" in told and "beta_vae seed=1" in told
    assert re.search(r"mig +0\.200 \(0\.190 to 0\.210\) +0\.500 \(0\.490 to 0\.510\) +high", told)
    assert re.search(r"seed +0 +1 ", told.partition("what differs")[2])
    assert "beta " not in told.partition("what differs")[2]  # the same in both
    found = compare.compare([runs[0].path, runs[1].path])
    assert found.best("mig") == {1} and found.best("z_from_s") == {0}  # of which 0 is wanted


def test_a_folder_is_sorted_by_a_metric_the_best_first(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    folder = runs[0].path.parent
    assert [run.plan.seed for run in compare.compare([folder], "mig").runs] == [1, 2, 0]
    assert [run.plan.seed for run in compare.compare([folder]).runs] == [0, 2, 1]  # by z_from_s, a low one is best
    (runs[1].path / "scores.json").unlink()
    assert [run.plan.seed for run in compare.compare([folder], "mig").runs] == [2, 0, 1]
    assert main(["compare", str(folder), "--by", "mog"]) == 1
    assert "mig" in capsys.readouterr().err


def test_the_page_has_curves_of_all_and_traversals_of_one_image(runs: list[Run], tmp_path: Path) -> None:
    same = runs[0].arrays("pictures.npz")["originals"]
    for run in runs[1:]:
        run.write_arrays("pictures.npz", **{**run.arrays("pictures.npz"), "originals": same})
    (runs[1].path / "report.html").write_text("")
    out = tmp_path / "compared.html"
    assert main(["compare", str(runs[0].path.parent), "--by", "mig", "--html", str(out)]) == 0
    page = out.read_text()
    assert "All of the same image" in page
    assert page.count('alt="strong latent') == 3 * 4
    names = re.findall(r'data-name="([^"]*)"', page)
    assert names == ["beta_vae seed=1", "beta_vae seed=2", "beta_vae seed=0"]
    assert re.findall(r'<a href="([^"#]+)">', page) == [f"{runs[1].path.name}/report.html"]


def test_runs_on_other_images_are_drawn_again_or_named(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = runs[0].arrays("pictures.npz")
    monkeypatch.setattr(compare, "_redrawn", lambda run, page, row: drawn)
    pages, notes = compare._on_one_image(runs)
    assert notes == ["All of the same image."]
    np.testing.assert_array_equal(pages[runs[2].path].pictures["originals"], drawn["originals"])

    def fails(*_: object) -> None:
        raise UserError("the data are not here")

    monkeypatch.setattr(compare, "_redrawn", lambda run, page, row: page.pictures)  # of another image
    assert compare._on_one_image(runs)[1] == [f"On an image of its own: {runs[1].path.name}, {runs[2].path.name}."]
    monkeypatch.setattr(compare, "_redrawn", fails)
    pages, notes = compare._on_one_image(runs)
    assert notes == [f"On an image of its own: {runs[1].path.name}, {runs[2].path.name}."]


def test_others_are_drawn_again_on_the_image_that_the_first_was_asked_for(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `unbraid report RUN --image 5`; a run without a decoder has no image, wherever it stands."""
    drawn, asked = {**runs[1].arrays("pictures.npz"), "original_rows": np.array([5, 1, 2])}, list[int]()
    runs[1].write_arrays("pictures.npz", **drawn)
    runs[0].write_arrays("pictures.npz", retrieval=np.zeros(1))

    def redrawn(run: Run, page: object, row: int) -> dict[str, np.ndarray]:
        asked.append(row)
        return drawn

    monkeypatch.setattr(compare, "_redrawn", redrawn)
    assert compare._on_one_image(runs)[1] == ["All of the same image."]
    assert asked == [5]


@pytest.mark.parametrize(
    ("words", "told"), [(["{run}"], "nothing to compare with"), (["{run}", "{none}"], "neither a run nor a folder")]
)
def test_what_cannot_be_compared_gets_a_sentence(
    words: list[str], told: str, runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"run": runs[0].path, "none": tmp_path / "none"}
    assert main(["compare", *(word.format(**places) for word in words)]) == 1
    assert told in capsys.readouterr().err
    with pytest.raises(UserError, match="cannot be written"):
        compare.report(compare.compare([run.path for run in runs]), tmp_path / "no" / "x.html")


def test_a_folder_without_scores_cannot_be_sorted(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    for run in runs:
        run.write_json("scores.json", {})
    assert main(["compare", str(runs[0].path.parent)]) == 1
    assert "has scores: give it some with 'unbraid score RUN'" in capsys.readouterr().err
    assert main(["compare", *(str(run.path) for run in runs)]) == 0  # what differs can be told all the same


def test_the_run_that_another_starts_from_is_a_difference(tmp_path: Path) -> None:
    plan = leave(tmp_path).plan
    warm = Run.create(tmp_path, replace(plan, start_from="vae-dsprites-1"))
    found = compare.compare([tmp_path / plan.name, warm.path])
    assert found.differences == {"start_from": ["", "vae-dsprites-1"]}
    assert found.names == ["beta_vae", "beta_vae start_from=vae-dsprites-1"]


def test_the_first_runs_are_not_called_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "SHOWN", 1)
    monkeypatch.setattr(compare, "_traversals", lambda found: [])
    runs = [leave(tmp_path, seed=seed).path for seed in range(2)]
    page = compare.report(compare.compare(runs), tmp_path / "page.html").read_text()
    assert "those of the first 1." in page
    page = compare.report(compare.compare(runs, "mig"), tmp_path / "page.html").read_text()
    assert "those of the best 1." in page
