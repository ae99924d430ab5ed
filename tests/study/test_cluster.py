"""A real cluster of two nodes on this machine, one of which dies in the middle of a study."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.study.toys import SMALL, quiet_view
from unbraid.study import Study, product
from unbraid.study.cluster import run_all
from unbraid.study.execute import states, task
from unbraid.study.store import Folder

LOOPBACK = "127.0.0.1"
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning",
    "ignore::DeprecationWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


class Nodes:
    """A head without room for runs, and two nodes with room for one each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        head = {
            "num_cpus": 0,
            "node_ip_address": LOOPBACK,
            "include_dashboard": False,
            "object_store_memory": 80_000_000,
        }
        self.cluster: Any = Cluster(initialize_head=True, head_node_args=head)
        self.nodes = [self.add(), self.add()]

    def add(self) -> Any:
        return self.cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK, object_store_memory=80_000_000)

    def kill(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    ray: Any = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:  # Ray would turn the loopback address into the machine's other one
        patch.setattr("ray._private.services.get_node_ip_address", lambda address=None: LOOPBACK)
        nodes = Nodes()
        ray.init(address=nodes.cluster.address, _node_ip_address=LOOPBACK, log_to_driver=False, logging_level="error")
        yield nodes
        ray.shutdown()
        nodes.cluster.shutdown()


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
