"""A real Ray cluster of two nodes on this machine, whose nodes can be killed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

LOOPBACK = "127.0.0.1"


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


@contextmanager
def cluster() -> Iterator[Nodes]:
    """The nodes, with this process connected to them."""
    ray: Any = importlib.import_module("ray")
    os.environ.setdefault("RAY_worker_niceness", "0")  # else runs wait for all that a busy machine does
    with patch("ray._private.services.get_node_ip_address", lambda address=None: LOOPBACK):
        nodes = Nodes()  # Ray would turn the loopback address into the machine's other one
        ray.init(address=nodes.cluster.address, _node_ip_address=LOOPBACK, log_to_driver=False, logging_level="error")
        try:
            yield nodes
        finally:
            ray.shutdown()
            nodes.cluster.shutdown()
