"""One run of a study: its numbers, its failures, and what is left of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem

import unbraid
from tests.study.toys import SMALL
from unbraid.data.table import Table
from unbraid.errors import UserError
from unbraid.metrics.model.quantities import image_nll
from unbraid.nets.autoencoders import decoder
from unbraid.study import Study, execute, product
from unbraid.study.execute import states, task, work
from unbraid.study.plan import Job
from unbraid.study.store import Bucket, Folder, open_store


def one(metrics: list[str], **arguments: object) -> Job:
    (job,) = Study(runs=product(SMALL, method="vae", steps=60, **arguments), metrics=metrics, points=300).jobs()
    return job


def do(job: Job, out: str) -> dict[str, object]:
    return work(task(job, out), lambda step, loss: None)


def test_a_run_of_a_study_is_the_run_that_python_would_make(tmp_path: Path) -> None:
    job = one(["mig"])
    assert do(job, str(tmp_path))["status"] == "finished"
    table = unbraid.load_data("dsprites", size=16)
    method = unbraid.build("vae", table, width=4)
    run = unbraid.fit(method, table, steps=60, batch=16, out=str(tmp_path / "python"), show=False)
    assert run.path.name == job.name
    weights = [p.read_bytes() for p in tmp_path.rglob("weights.safetensors")]
    assert weights[0] == weights[1]
    found = json.loads((tmp_path / job.name / "evaluation.json").read_text())["quantities"]
    with np.load(tmp_path / job.name / "codes.npz") as arrays:
        codes, kl = arrays["codes_z"].astype(float), arrays["kl_z"]
    _, determinant = np.linalg.slogdet(np.corrcoef(codes.T))
    assert found["kl"] == pytest.approx(kl.sum(), rel=1e-4)
    assert found["total_correlation.mean"] == pytest.approx(-determinant / 2, rel=1e-4)
    assert found["elbo"] == pytest.approx(-(found["reconstruction"] + found["kl"]))


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_likelihood_of_pictures_is_the_decoders(likelihood: str) -> None:
    torch.manual_seed(0)
    net = decoder("mlp", (1, 8, 8), 3, width=4, likelihood=likelihood)
    z, x = 5 * torch.randn(6, 3), torch.rand(6, 1, 8, 8)
    torch.testing.assert_close(image_nll(net.mean(z), x, likelihood), net.nll(z, x), rtol=1e-4, atol=1e-3)


def test_neighbours_share_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, load = list[str](), unbraid.load_data

    def counted(name: str, **arguments: Any) -> Table:
        loaded.append(name)
        return load(name, **arguments)

    monkeypatch.setattr("unbraid.train.load.load_data", counted)
    execute._table.cache_clear()
    for data, seed in (("dsprites", 0), ("dsprites", 1), ("shapes3d", 0), ("dsprites", 2)):
        point = {**SMALL[0], "data": data, "seed": seed, "method": "vae", "steps": 1}
        (job,) = Study(runs=[point], metrics=[], points=300).jobs()
        assert do(job, str(tmp_path))["status"] == "finished"
    assert loaded == ["dsprites", "shapes3d", "dsprites"]


def test_a_new_metric_trains_nothing_and_keeps_the_other_scores(tmp_path: Path) -> None:
    do(one(["mig"]), str(tmp_path))
    job = one(["modularity"])
    assert states(Folder(tmp_path), [job]) == {job.name: "begun"}
    stamp = (tmp_path / job.name / "weights.safetensors").stat().st_mtime_ns
    do(job, str(tmp_path))
    assert (tmp_path / job.name / "weights.safetensors").stat().st_mtime_ns == stamp
    assert json.loads((tmp_path / job.name / "scores.json").read_text()).keys() == {"mig", "modularity"}
    assert states(Folder(tmp_path), [job, one(["mig"])]) == {job.name: "finished"}


@pytest.mark.filterwarnings("ignore:MNIST is not in")
def test_scores_of_a_problem_are_kept_when_a_metric_is_added(tmp_path: Path) -> None:
    """Asked for as 'classes', they have other names in the file."""
    runs = product(method="swap_vae", data="colored_mnist", width=2, batch=8, steps=2)
    for metrics in (["classes"], ["classes", "mig"]):
        (job,) = Study(runs=runs, metrics=metrics, points=120).jobs()
        assert do(job, str(tmp_path)).get("reason") is None
    found = json.loads((tmp_path / job.name / "scores.json").read_text())
    assert {"leakage", "group_accuracy", "mig"} <= found.keys()


def test_a_failure_is_recorded_with_its_reason(tmp_path: Path) -> None:
    job = one(["mig"], lr=1e30)
    outcome = do(job, str(tmp_path))
    assert outcome["status"] == "failed"
    assert states(Folder(tmp_path), [job]) == {job.name: "failed"}
    record = json.loads((tmp_path / job.name / "failed.json").read_text())
    assert record["reason"] == outcome["reason"]
    assert "became" in record["reason"]


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_a_url_gets_the_finished_directory(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}://{tmp_path}/far"
    job = one(["mig"])
    assert do(job, url)["status"] == "finished"
    store = Bucket(url)
    assert states(store, [job]) == {job.name: "finished"}
    assert store.read_all("weights.safetensors")[job.name]
    assert not store.read_all("state.pt")
    assert not store.read_all("lock")


@pytest.mark.parametrize("scheme", ["", "memory://"])
def test_a_run_looks_only_at_the_one_that_it_waits_for(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [*product(SMALL, method="vae", steps=1), *product(SMALL, method="vae", steps=2, start_from={"steps": 1})]
    _, job = Study(runs=runs, metrics=[], points=300).jobs()
    store, start = open_store(f"{scheme}{tmp_path}"), job.plan.start_from
    assert start is not None
    monkeypatch.setattr(type(store), "read_all", None)
    assert not execute._may_begin(job, store)
    store.write(start, "failed.json", {})
    with pytest.raises(UserError, match=f"it begins with the weights of {start}, which has failed"):
        execute._may_begin(job, store)
    store.write(start, "evaluation.json", {})
    assert execute._may_begin(job, store)


class Remembering(MemoryFileSystem):  # type: ignore[misc]
    """Keeps what it has listed, as file systems of buckets do."""

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        if path not in self.dircache:
            self.dircache[path] = super().ls(path, detail=True)
        return self.dircache[path] if detail else [entry["name"] for entry in self.dircache[path]]

    def invalidate_cache(self, path: str | None = None) -> None:
        self.dircache.clear()


def test_a_url_is_looked_at_anew_for_the_runs_of_other_machines(tmp_path: Path) -> None:
    here, other = Bucket(f"memory://{tmp_path}/far"), Bucket(f"memory://{tmp_path}/far")
    here.files = Remembering()
    other.write("first", "evaluation.json", {})
    assert here.names() == ["first"]
    other.write("second", "evaluation.json", {})
    assert here.names() == ["first", "second"]
    assert here.read_all("evaluation.json").keys() == {"first", "second"}
    with here.workspace("first") as folder:
        other.write("second", "weights", 1)
        here._bring("second", folder / "second")
        assert {path.name for path in (folder / "second").iterdir()} == {"evaluation.json", "weights"}


def test_what_cannot_be_read_is_not_taken_for_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Bucket(f"memory://{tmp_path}/far")
    for name in ("first", "second"):
        store.write(name, "run.json", {})
    store.write("first", "evaluation.json", {})
    assert store.read_all("evaluation.json").keys() == {"first"}
    read = MemoryFileSystem.cat_file

    def fails(self: MemoryFileSystem, path: str, **range: Any) -> bytes:
        if "first" in path:
            raise ConnectionError("no route to host")
        return bytes(read(self, path, **range))

    monkeypatch.setattr(MemoryFileSystem, "cat_file", fails)
    with pytest.raises(UserError, match=r"first/evaluation.json cannot be read \(no route to host\)"):
        store.read_all("evaluation.json")
