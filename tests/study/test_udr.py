"""UDR over the runs of a study, from codes whose relations are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unbraid.metrics.udr import udr
from unbraid.study import Study, product
from unbraid.study.udr import with_udr


def folder_of_codes(tmp_path: Path) -> pd.DataFrame:
    """beta 1: three seeds find the same latents; beta 4: each a rotation of its own; beta 8: one seed."""
    rng = np.random.default_rng(0)
    latents = rng.standard_normal((500, 4))
    rows = []
    for job in Study(runs=product(method="beta_vae", data="dsprites", beta=[1, 4, 8], seed=range(3))).jobs():
        beta, seed = job.plan.arguments["beta"], job.plan.seed
        if beta == 8 and seed > 0:
            continue
        turn = np.linalg.qr(rng.standard_normal((4, 4)))[0] if beta == 4 else np.eye(4)[rng.permutation(4)]
        path = tmp_path / job.name
        path.mkdir()
        (path / "run.json").write_text(json.dumps(vars(job.plan)))
        np.savez(path / "codes.npz", codes_z=latents @ turn, kl_z=np.ones(4), rows=np.arange(500))
        rows.append({"run": job.name, "data": "dsprites", "objective": "beta_vae", "setting": beta, "seed": seed})
    return pd.DataFrame(rows)


def test_runs_that_find_the_same_latents_rank_first(tmp_path: Path) -> None:
    table = folder_of_codes(tmp_path)
    found = with_udr(table, tmp_path).set_index(["setting", "seed"])["udr"]
    same, turned, alone = found.loc[1.0], found.loc[4.0], found.loc[8.0]
    assert same.min() > 0.8 > turned.max() + 0.2
    assert alone.isna().all()
    names = table.loc[table["setting"] == 4, "run"]
    codes = [np.load(tmp_path / name / "codes.npz")["codes_z"] for name in names]
    expected = udr(codes, np.random.default_rng(5), method="spearman").parts["per_run"]
    assert turned.tolist() == pytest.approx(expected)


def test_runs_whose_codes_are_missing_or_of_other_rows_are_left_out(tmp_path: Path) -> None:
    table = folder_of_codes(tmp_path)
    first, second, third = table.loc[table["setting"] == 1, "run"]
    (tmp_path / third / "codes.npz").unlink()
    found = with_udr(table, tmp_path).set_index("run")["udr"]
    assert np.isnan(found[third]) and found[first] > 0.8
    np.savez(tmp_path / second / "codes.npz", codes_z=np.zeros((9, 4)), kl_z=np.ones(4), rows=np.arange(9))
    found = with_udr(table, tmp_path).set_index("run")["udr"]
    assert found[[first, second, third]].isna().all()
