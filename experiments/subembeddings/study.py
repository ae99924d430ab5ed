"""Sub-embeddings on digits over photographs: "Unsupervised disentanglement without autoencoding" (Burns et al. 2021).

Plans the runs, trains what has not been trained, probes each once, and writes subembeddings.md and subembeddings.json.
MNIST and CIFAR-10 are taken from the data root (UNBRAID_DATA).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from unbraid.metrics.sub_embeddings import compare_slices
from unbraid.reproduce.results import publish
from unbraid.reproduce.runs import commits, gather, need_mnist
from unbraid.reproduce.subembeddings_claims import record

from unbraid import api
from unbraid.data.io.paths import data_root
from unbraid.data.table import Table
from unbraid.encode import encode
from unbraid.methods.contract import Method
from unbraid.train import history
from unbraid.train.run import Run

STEPS, BATCH, WIDTH = 1200, 128, 24
LONGER = "supervised, longer"  # four times as many steps
PROBE_ROWS, TEST_ROWS = 10_000, 5_000
LATE = 200  # steps at the end over which logged terms are averaged
WAIT: dict[str, Any] = {"warm_up": 300}  # with 0.1 from the first step the digit is never learned
DATA: dict[str, Any] = {"size": 32, "backgrounds": "cifar10", "brightness": 0.6}
SETTINGS: dict[str, dict[str, Any]] = {
    "supervised": {},
    LONGER: {},
    "control": {},
    "one head": {"heads": "one"},
    "InfoMin 0.001": {"infomin": 0.001},
    "InfoMin 0.005": {"infomin": 0.005},
    "InfoMin 0.1": {"infomin": 0.1, **WAIT},
    "Ortho 0.001": {"orthogonality": 0.001},
    "Ortho 0.1": {"orthogonality": 0.1, **WAIT},
    "P-Ortho 0.001": {"permuted_orthogonality": 0.001},
    "P-Ortho 0.1": {"permuted_orthogonality": 0.1, **WAIT},
    "Hess 0.001": {"hessian": 0.001, **WAIT},
    "Hess 0.01": {"hessian": 0.01, **WAIT},
    "Hess 0.1": {"hessian": 0.1, **WAIT},
    "Ortho + Hess 0.1": {"orthogonality": 0.1, "hessian": 0.1, **WAIT},
    "InfoMin 0.1, as printed": {"infomin": 0.1, "literal_infomin": True, **WAIT},
    "Hess 0.1, per sample": {"hessian": 0.1, "hessian_per_sample": True, **WAIT},
    "InfoMin 0.1 at once": {"infomin": 0.1},
    "Ortho 0.1 at once": {"orthogonality": 0.1},
    "P-Ortho 0.1 at once": {"permuted_orthogonality": 0.1},
    "Hess 0.1 at once": {"hessian": 0.1},
}
SEEDS: dict[str, dict[str, int]] = {  # how many, by variant of the data and label
    "dc-bc": {
        "supervised": 3,
        LONGER: 1,
        "control": 4,
        "one head": 5,
        "InfoMin 0.001": 4,
        "InfoMin 0.005": 4,
        "InfoMin 0.1": 4,
        "Ortho 0.001": 1,
        "Ortho 0.1": 4,
        "P-Ortho 0.001": 1,
        "P-Ortho 0.1": 5,
        "Hess 0.001": 1,
        "Hess 0.01": 3,
        "Hess 0.1": 5,
        "Ortho + Hess 0.1": 1,
        "InfoMin 0.1, as printed": 1,
        "Hess 0.1, per sample": 1,
        "InfoMin 0.1 at once": 1,
        "Ortho 0.1 at once": 1,
        "P-Ortho 0.1 at once": 1,
        "Hess 0.1 at once": 1,
    },
    "dc-dl": {
        "supervised": 1,
        "control": 3,
        "one head": 3,
        "InfoMin 0.001": 1,
        "InfoMin 0.1": 3,
        "InfoMin 0.1 at once": 1,
        "Ortho 0.001": 1,
        "Ortho 0.1": 3,
        "P-Ortho 0.001": 1,
        "P-Ortho 0.1": 1,
        "Hess 0.001": 1,
        "Hess 0.1": 3,
    },
}


@dataclass(frozen=True)
class Setting:
    """One run of the experiment."""

    label: str
    variant: str
    seed: int

    @property
    def method(self) -> str:
        return "sub_supervised" if self.label in ("supervised", LONGER) else "sub_infomax"


def settings() -> Iterator[Setting]:
    """All runs, one seed after the other."""
    for seed in range(max(count for counts in SEEDS.values() for count in counts.values())):
        for variant, counts in SEEDS.items():
            yield from (Setting(label, variant, seed) for label, count in counts.items() if seed < count)


def work(setting: Setting, runs: Path) -> dict[str, Any]:
    """Trains and probes a run, or reads what an earlier call found."""
    torch.set_num_threads(1)
    start = time.process_time()
    data = api.load_data("mnist_stl10", variant=setting.variant, **DATA)
    method = api.build(setting.method, data, seed=setting.seed, width=WIDTH, **SETTINGS[setting.label])
    steps = 4 * STEPS if setting.label == LONGER else STEPS
    run = api.fit(method, data, steps=steps, batch=BATCH, seed=setting.seed, out=str(runs), threads=1, show=False)
    found = run.path / "subembeddings.json"
    if not found.exists():
        facts = {"probes": probes(run, method, data), "terms": late(run)}
        run.write_json(found.name, facts | {"seconds": time.process_time() - start})
    own = {"label": setting.label, "data": setting.variant, "seed": setting.seed, "path": str(run.path)}
    return {**json.loads(found.read_text()), **own}


def probes(run: Run, method: Method[Any], data: Table) -> dict[str, Any]:
    """The scores of all slices: probes learn from rows that were trained on and are tested on held-out ones."""
    assert data.test is not None
    rng = np.random.default_rng(0)
    rows = [rng.choice(len(table), n, replace=False) for table, n in ((data, PROBE_ROWS), (data.test, TEST_ROWS))]
    parts = [encode(method, table, r) for table, r in zip((data, data.test), rows, strict=True)]
    blocks: dict[str, NDArray[Any]] = {
        name.removeprefix("codes_"): np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    columns = [data.column(name) for name in data.shared]
    tasks = np.concatenate([data.values(rows[0]), data.test.values(rows[1])])[:, columns]
    scores = compare_slices(blocks, tasks, data.shared, train=PROBE_ROWS, jobs=1)
    return {name: score.as_dict() for name, score in scores.items()}


def late(run: Run) -> dict[str, float]:
    """The loss and its terms, averaged over the last steps."""
    rows = [row for row in history.read(run.path / "history.csv") if row["step"] > run.plan.steps - LATE]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name != "step"}


def main(out: Path, runs: Path, *, workers: int = 2) -> None:
    """Trains and probes what is missing, then writes subembeddings.md and subembeddings.json."""
    need_mnist(data_root())
    for variant in SEEDS:  # what is missing is said before anything is trained
        api.load_data("mnist_stl10", variant=variant, **DATA)
    found = gather(work, list(settings()), runs, workers=workers)
    publish(record(found, out, steps=STEPS, width=WIDTH), out, "subembeddings", commits(found))
