"""A real cluster of two nodes on this machine, one of which dies in the middle of a study."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from torture.nodes import Nodes, cluster

from tests.study.toys import SMALL, quiet_view
from unbraid.study import Study, product
from unbraid.study import cluster as clusters
from unbraid.study.cluster import at_once, run_all
from unbraid.study.execute import states, task
from unbraid.study.store import Folder

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning",
    "ignore::DeprecationWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    pytest.importorskip("ray")
    with cluster() as found:
        yield found


def test_the_time_left_is_that_of_the_workers_that_the_cluster_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are done where they are sent to, and with each of them the cluster, empty at first, grows by eight cores."""
    cores = iter([0.0, 8.0, 16.0])
    here = SimpleNamespace(remote=lambda target, task: task["name"])
    ray = SimpleNamespace(
        is_initialized=lambda: True,
        remote=lambda **_: lambda function: here,
        wait=lambda sent, **_: (sent[:1], sent[1:]),
        get=lambda name: {"status": "finished", "seconds": 10.0},
        cluster_resources=lambda: {"CPU": next(cores), "memory": 1e9},
        exceptions=SimpleNamespace(TaskCancelledError=KeyError, RayError=OSError),
    )
    monkeypatch.setattr(clusters, "_ray", lambda: ray)
    view, left = quiet_view(4), list[float | None]()
    monkeypatch.setattr(view, "refresh", lambda: left.append(view.time_left()))
    tasks = [{"name": name, "steps": 100} for name in "ab"]
    run_all(tasks, address="auto", cpus=2.0, view=view, failed=lambda *_: None)
    assert left == [pytest.approx(3 * 10 / 4), pytest.approx(2 * 10 / 8)]  # runs left, seconds of each, workers


def test_as_many_runs_at_a_time_as_the_scarcest_resource_has_room_for() -> None:
    assert at_once({"CPU": 10.0, "GPU": 1.0}, cpus=1.0, gpus=0.1) == 10
    assert at_once({"CPU": 10.0, "GPU": 1.0}, cpus=0.0, gpus=0.5) == 2
    assert at_once({"CPU": 10.0}, cpus=4.0, gpus=0.0) == 2
    assert at_once({"memory": 1.0}, cpus=1.0, gpus=0.0) == 1  # nodes are still to come


@pytest.mark.slow
def test_a_node_that_dies_costs_nothing_but_time(nodes: Nodes, tmp_path: Path) -> None:
    jobs = Study(runs=product(SMALL, method="vae", steps=600, seed=range(4)), metrics=["mig"], points=300).jobs()
    view, failures = quiet_view(len(jobs)), []

    def kill() -> None:
        while len(list(tmp_path.glob("*/lock"))) < 2:
            time.sleep(0.05)
        time.sleep(0.5)
        assert not list(tmp_path.glob("*/evaluation.json"))
        nodes.kill(nodes.nodes.pop())

    killer = Thread(target=kill)
    killer.start()
    tasks = [task(job, str(tmp_path)) for job in jobs]
    run_all(tasks, address="auto", view=view, failed=lambda name, reason: failures.append(name))
    killer.join()
    assert sorted(view.finished) == sorted(job.name for job in jobs)
    assert not failures
    assert set(states(Folder(tmp_path), jobs).values()) == {"finished"}
    assert sorted(p.parent.name for p in tmp_path.glob("*/evaluation.json")) == sorted(view.finished)
