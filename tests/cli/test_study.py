from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.cli import main

FILE = """
from unbraid.study import Study, product
runs = product(method="vae", data="dsprites", size=16, width=4, batch=16, steps=20, lr=[1e-3, 1e30], seed=range(2))
study = Study(runs=runs, metrics=["mig"], points=200)
"""


@pytest.mark.slow
def test_a_failing_run_does_not_stop_the_others_and_finished_ones_are_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "two.py", tmp_path / "out"
    file.write_text(FILE)
    words = ["study", str(file), "--out", str(out), "--workers", "1", "--quiet"]
    assert main([*words, "--only", "lr=0.001", "--limit", "1"]) == 0
    assert "1 runs finished, 0 failed, 1 to do" in capsys.readouterr().out
    (first,) = out.glob("*/weights.safetensors")
    stamp = first.stat().st_mtime_ns
    assert main(words) == 1
    assert "2 runs finished, 2 failed, 0 to do" in capsys.readouterr().out
    assert first.stat().st_mtime_ns == stamp
    failures = {path: path.stat().st_mtime_ns for path in out.glob("*/failed.json")}
    assert main(words) == 1
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in failures.items())
    assert main([*words, "--retry-failed"]) == 1
    assert all(path.stat().st_mtime_ns > stamp for path, stamp in failures.items())
    assert (out / "table.parquet").exists()


def test_options_of_a_cluster_need_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", str(tmp_path / "none.py"), "--gpus", "0.5"]) == 1
    assert "give --ray ADDRESS" in capsys.readouterr().err
    assert main(["study", str(tmp_path / "none.py")]) == 1
    assert "there is no study file" in capsys.readouterr().err
