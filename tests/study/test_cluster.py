"""A real cluster of two nodes on this machine, one of which dies in the middle of a study."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from torture.nodes import Nodes, cluster

from tests.study.toys import SMALL, quiet_view
from unbraid.study import Study, product
from unbraid.study.cluster import run_all
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
