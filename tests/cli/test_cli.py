from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch

import unbraid
from unbraid import evaluate
from unbraid.cli import main
from unbraid.metrics import suite

RUN = ["run", "beta_vae", "--size", "16", "--width", "4", "--batch", "16", "--points", "300", "--quiet"]
WHOLE = suite.DEFAULT


@pytest.fixture(scope="module", autouse=True)
def few_metrics() -> Iterator[None]:
    """What a command does with the scores is the same for three metrics as for twelve; one test below takes all."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (suite, evaluate):
            patch.setattr(module, "DEFAULT", ("mig", "modularity", "mcc"))
        yield


@pytest.fixture(scope="module")
def trained(few_metrics: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    assert main([*RUN, "--beta", "2", "--steps", "20", "--out", str(out)]) == 0
    (run,) = out.iterdir()
    return run


def test_a_run_leaves_everything_in_its_directory(trained: Path) -> None:
    names = {path.name for path in trained.iterdir()}
    assert names == {
        "run.json", "history.csv", "state.pt", "weights.safetensors", "codes.npz", "pictures.npz", "scores.json",
        "report.html", "done", "lock",
    }  # fmt: skip
    config = json.loads((trained / "run.json").read_text())
    assert config["arguments"] == {
        "beta": 2.0, "latents": 10, "net": "conv", "width": 4, "likelihood": "bernoulli", "sigma": 0.1,
        "learn_sigma": False, "lr": 1e-4,
    }  # fmt: skip
    assert config["data_arguments"]["size"] == 16
    assert (config["steps"], config["batch"], config["seed"]) == (20, 16, 0)
    assert config["versions"]["torch"] == version("torch")


def test_a_finished_run_is_not_repeated(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stamp = (trained / "weights.safetensors").stat().st_mtime_ns
    assert main([*RUN, "--beta", "2", "--steps", "20", "--out", str(trained.parent)]) == 0
    assert (trained / "weights.safetensors").stat().st_mtime_ns == stamp
    assert "mig" in capsys.readouterr().out


def test_the_codes_are_those_of_the_loaded_method(trained: Path) -> None:
    method = unbraid.load_run(trained).method
    with np.load(trained / "codes.npz") as arrays:
        rows, codes, factors = arrays["rows"], arrays["codes_z"], arrays["factors"]
    table = unbraid.load_data("dsprites", size=16)
    x = torch.from_numpy(table.images(rows)).float() / 255
    with torch.no_grad():
        torch.testing.assert_close(method.encode(x)["z"], torch.from_numpy(codes), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(factors, table.values(rows))


def test_scores_of_a_file_of_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (suite, evaluate):
        monkeypatch.setattr(module, "DEFAULT", WHOLE)
    rng = np.random.default_rng(0)
    factors = rng.integers(0, [4, 5, 3], (3000, 3))
    np.savez(tmp_path / "perfect.npz", codes=factors.astype(float), factors=factors)
    assert main(["score", str(tmp_path / "perfect.npz"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["mig"]["value"] > 0.99
    assert scores["mig"]["null"] < 0.05
    assert {"value", "low", "high", "null", "parts", "warnings"} <= scores["mig"].keys()
    assert scores.keys() == set(WHOLE)
    assert main(["score", str(tmp_path / "perfect.npz"), "--metrics", "mig"]) == 0
    text = capsys.readouterr().out
    assert "mig" in text
    assert "dci" not in text


def test_scores_of_a_run_are_written_again(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.loads((trained / "scores.json").read_text())
    assert main(["score", str(trained), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == before == json.loads((trained / "scores.json").read_text())


def test_few_samples_cost_the_metrics_that_need_more_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "few.npz", codes=rng.random((10, 2)), factors=np.arange(20).reshape(10, 2) % 3)
    assert main(["score", str(tmp_path / "few.npz"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["mig"]["value"] is None and "10 samples" in scores["mig"]["warnings"][0]
    assert 0 <= scores["mcc"]["value"] <= 1
    assert main(["score", str(tmp_path / "few.npz"), "--metrics", "mig"]) == 1
    assert "10 samples" in capsys.readouterr().err


def test_as_many_images_are_encoded_as_asked_for(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def encoded() -> int:
        with np.load(trained / "codes.npz") as arrays:
            return len(arrays["rows"])

    before = json.loads((trained / "scores.json").read_text())
    assert main(["report", str(trained), "--points", "200"]) == 0
    assert encoded() == 200 and json.loads((trained / "scores.json").read_text())["mig"]["n"] == 200
    assert main(["report", str(trained), "--image", "3"]) == 0
    assert encoded() == 200
    with np.load(trained / "pictures.npz") as pictures:
        assert pictures["original_rows"][0] == 3
    assert main(["report", str(trained), "--points", "0"]) == 1
    assert "at least one image" in capsys.readouterr().err
    assert main([*RUN, "--beta", "2", "--steps", "20", "--out", str(trained.parent)]) == 0
    assert encoded() == 300 and json.loads((trained / "scores.json").read_text()) == before


def test_a_metric_taken_first_does_not_stand_for_the_suite(trained: Path) -> None:
    before = json.loads((trained / "scores.json").read_text())
    (trained / "scores.json").write_text(json.dumps({"mig": before["mig"], "translation": before["mig"]}))
    assert main([*RUN, "--beta", "2", "--steps", "20", "--out", str(trained.parent)]) == 0
    assert json.loads((trained / "scores.json").read_text()) == {**before, "translation": before["mig"]}
    (trained / "scores.json").write_text(json.dumps(before))


@pytest.mark.filterwarnings("default")
def test_classes_that_cannot_be_scored_leave_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    for name in ("train/a/0", "train/a/1", "train/b/2", "train/b/3", "test/a/4", "test/a/5"):
        path = tmp_path / "own" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((16, 16), 10 * int(path.stem), np.uint8)).save(path)
    words = f"run vae --data images --path {tmp_path / 'own'} --size 16 --width 4 --batch 2 --steps 2 --quiet"
    assert main([*words.split(), "--out", str(tmp_path / "runs")]) == 0
    assert "note: there are no scores: every factor has a single value" in capsys.readouterr().err
    (run,) = (tmp_path / "runs").iterdir()
    assert "Traversals" in (run / "report.html").read_text()


def test_other_data_do_not_continue_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.npy"
    words = f"run vae --data images --path {path} --size 16 --width 4 --batch 2 --steps 2 --quiet --train-only"
    np.save(path, np.zeros((40, 16, 16), np.uint8))
    assert main([*words.split(), "--out", str(tmp_path / "runs")]) == 0
    np.save(path, np.zeros((30, 16, 16), np.uint8))
    assert main([*words.split(), "--out", str(tmp_path / "runs")]) == 1
    assert "the data have changed (40 rows of [1, 16, 16], now 30 of [1, 16, 16]) since" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (np.full((100, 2), np.nan), np.arange(200).reshape(100, 2) % 3, "NaN|not finite|finite"),
        (
            np.random.default_rng(0).random((100, 2)),
            np.zeros((100, 1), int),
            "one value|single value|constant|vary|varies",
        ),
        (np.random.default_rng(0).random((100, 2)), np.zeros((99, 1), int), "99"),
    ],
)
def test_bad_numbers_are_a_sentence(
    codes: object, factors: object, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    np.savez(tmp_path / "bad.npz", codes=codes, factors=factors)  # type: ignore[arg-type]
    assert main(["score", str(tmp_path / "bad.npz")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("unbraid: ")
    assert re.search(message, captured.err), captured.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run beta_vea", "no method is called 'beta_vea': did you mean 'beta_vae'?"),
        ("run beta_vae --data dsprits", "no data set is called 'dsprits': did you mean 'dsprites'?"),
        ("run beta_vae --btea 3", "no option is called '--btea': did you mean '--beta'?"),
        ("run", "say which method to run"),
        ("run beta_vae --net conf --steps 1", "no value of --net is called 'conf': did you mean 'conv'?"),
        ("run beta_vae --data images", "images needs --path"),
        ("run ada_gvae --data images --path {empty} --steps 1", "pairs|Pairs"),
        ("scoer x", "no command is called 'scoer': did you mean 'score'?"),
        ("score nothing.npz", "there is no file nothing.npz"),
        ("score {empty}", "is not a run"),
        ("report {empty}", "is not a run"),
        ("list methods --jsn", "did you mean '--json'?"),
        ("run beta_vae --points 0 --steps 1", "at least one image must be encoded, not 0"),
        ("run beta_vae --lr -1 --steps 1", "lr of beta_vae must be more than 0, not -1.0"),
        ("run beta_vae --beta nan --steps 1", "beta of beta_vae must be a finite number, not nan"),
        ("run beta_vae --threads -1 --steps 1", "at least one thread, not -1"),
        ("run beta_vae --seed 99999999999999999999999 --steps 1", "less than 64 bits"),
        ("run beta_vae --device mps --steps 1", "the device 'mps' cannot be used here: [^\n]{,99}$"),
        ("score {codes} --metrics translation", "translation needs the model, and .* has codes alone"),
        ("score {codes} --metrics mig --set mig.bins=x", "bins of mig must be a whole number, not 'x'"),
        ("score {codes} --block z", "not cut into blocks: leave out the block 'z'"),
        ("score {bare}", r"it holds one bare array, not named ones\)"),
        (
            "score x --points 5",
            "there are: --block, --codes, --factors, --help, --json, --metrics, --seed, --set, --trust, --version, -h$",
        ),
    ],
)
def test_mistakes_get_one_sentence(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "own.npy", np.zeros((5, 16, 16), np.uint8))
    np.savez(tmp_path / "codes.npz", codes=np.arange(60).reshape(30, 2), factors=np.arange(30) % 3)
    path = tmp_path / "own.npy" if "--path" in words else tmp_path
    names = {"empty": path, "codes": tmp_path / "codes.npz", "bare": tmp_path / "own.npy"}
    assert main(words.format(**names).split()) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error or re.search(message, error)
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize("words", ["run beta_vae --beta many", "run beta_vae --steps 1.5"])
def test_a_value_of_the_wrong_type_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    assert "invalid" in capsys.readouterr().err


def test_help_shows_the_arguments_of_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    for method, line in (
        ("beta_vae", "--beta BETA weight of the KL; 1 is the VAE (float, default: 4.0)"),
        ("factor_vae", "--gamma GAMMA weight of the total correlation; 0 is the VAE (float, default: 10.0)"),
    ):
        with pytest.raises(SystemExit):
            main(["run", method, "--help"])
        assert line in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["run", "ada_gvae", "--help"])
    assert "--changed" in capsys.readouterr().out


def test_list_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, name in [("methods", "beta_vae"), ("data", "dsprites"), ("metrics", "mig")]:
        assert main(["list", kind, "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)
        assert listed[name]["summary"]
    assert main(["list", "methods"]) == 0
    assert "beta_vae" in capsys.readouterr().out


def test_images_of_ones_own_without_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "own.npy", rng.integers(0, 255, (40, 16, 16), dtype=np.uint8))
    words = f"run vae --data images --path {tmp_path / 'own.npy'} --size 16 --width 4 --batch 8 --steps 3 --quiet"
    assert main([*words.split(), "--out", str(tmp_path / "runs")]) == 0
    assert "nothing to score against" in capsys.readouterr().out
    (run,) = (tmp_path / "runs").iterdir()
    assert "Traversals" in (run / "report.html").read_text()


def test_a_warning_is_one_plain_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    from unbraid.cli import listing

    def warn(*_: object) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            for _time in range(2):
                warnings.warn("the nets are\n  small", stacklevel=1)
        return 0

    monkeypatch.setattr(listing, "main", warn)
    assert main(["list", "methods"]) == 0
    assert capsys.readouterr().err == "unbraid: note: the nets are small\n"


@pytest.mark.parametrize(
    ("error", "told", "code"),
    [
        (KeyboardInterrupt(), "stopped; the same command continues", 130),
        (PermissionError(13, "Permission denied", "runs/x"), "runs/x cannot be used: Permission denied", 1),
        (MemoryError("1 TB"), "not enough memory for this: 1 TB", 1),
    ],
)
def test_what_was_not_foreseen_is_a_sentence_too(
    error: BaseException, told: str, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from unbraid.cli import listing

    def fail(*_: object) -> int:
        raise error

    monkeypatch.setattr(listing, "main", fail)
    assert main(["list", "methods"]) == code
    assert told in capsys.readouterr().err


def test_the_version_and_the_module_as_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"unbraid {unbraid.__version__}"
    assert {"fit", "load_run", "__version__"} <= set(dir(unbraid))
    words = [sys.executable, "-m", "unbraid", "list", "methods"]
    assert "beta_vae" in subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_help_of_run_names_the_methods_and_fits_two_screens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 100
    assert any("intervention_ae" in line for line in lines)


def test_a_folder_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "vae", "--size", "16", "--steps", "1", "--out", ""]) == 1
    assert "has an empty name" in capsys.readouterr().err


@pytest.mark.filterwarnings("default:the training of")
def test_an_unfinished_run_is_named_when_it_is_scored_or_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "vae", "--size", "16", "--width", "4", "--steps", "60", "--out", str(tmp_path), "--quiet"]
    assert main([*words, "--points", "400"]) == 0
    (run,) = tmp_path.iterdir()
    capsys.readouterr()
    (run / "done").unlink()
    assert main(["score", str(run), "--metrics", "mig"]) == 0
    assert "has not reached its 60 steps" in capsys.readouterr().err
    assert main(["report", str(run)]) == 0
    assert "has not reached its 60 steps" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("metrics", "sentence"),
    [
        ("", "no metric is named"),
        ("w2", "w2 needs a target and a background set"),
        ("udr", "udr needs the runs of several seeds"),
        ("group_accuracy", "group_accuracy needs predictions of classes"),
        ("probe_table", "probe_table needs a code with several blocks"),
        ("class_from_z", "class_from_z needs a target and a background set"),
        ("migg", "did you mean 'mig'"),
    ],
)
def test_what_is_listed_can_be_asked_for_or_says_what_it_needs(
    metrics: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", codes=rng.normal(size=(50, 2)), factors=rng.integers(0, 3, (50, 2)))
    assert main(["score", str(tmp_path / "a.npz"), "--metrics", metrics]) == 1
    assert sentence in capsys.readouterr().err


def test_a_negative_seed_of_score_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz", codes=np.zeros((50, 2)), factors=np.zeros((50, 2), int))
    assert main(["score", str(tmp_path / "a.npz"), "--seed", "-1"]) == 1
    assert "the seed must be 0 or more, not -1" in capsys.readouterr().err


def test_run_takes_the_metrics_that_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "vae", "--size", "16", "--width", "4", "--steps", "20", "--out", str(tmp_path), "--quiet"]
    assert main([*words, "--points", "300", "--metrics", "mig, modularity"]) == 0
    (run,) = tmp_path.iterdir()
    assert set(json.loads((run / "scores.json").read_text())) == {"mig", "modularity"}
    assert main([*words, "--metrics", "w2"]) == 1
    assert "w2 needs a target and a background set" in capsys.readouterr().err


@pytest.mark.parametrize(("metrics", "sentence"), [("mig,migg", "did you mean 'mig'"), (",", "no metric is named")])
def test_metrics_that_do_not_exist_are_refused_before_training(
    metrics: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "vae", "--size", "16", "--width", "4", "--steps", "2", "--out", str(tmp_path / "runs"), "--quiet"]
    assert main([*words, "--metrics", metrics]) == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
