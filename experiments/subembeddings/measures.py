"""What is measured of each run besides the engine's scores: two kinds of linear probes, learned on two sets of rows.

usual        softmax regression by stochastic gradient descent on codes as they are, up to one factor for all of a
             block: the usual linear evaluation of contrastive learning. It reads what has a share of the variance
converged    logistic regression by L-BFGS on standardised codes: it reads whatever is left, however small
own          rows that the encoder was trained on
fresh        other combinations of the training digits and photographs

Both are tested on held-out digits and photographs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from unbraid.codes import Codes
from unbraid.data.table import Product
from unbraid.encode import encode_rows
from unbraid.methods.contract import Method
from unbraid.metrics.probe_table import diagonal
from unbraid.problems.slices import compare_slices, slices_of
from unbraid.train import history
from unbraid.train.run import Run

PROBE_ROWS = 1  # rows that probes learn from, for each that they are tested on
LATE = 200  # steps at the end over which logged terms are averaged
EPOCHS, BATCH, RATE, MOMENTUM = 50, 256, 0.1, 0.9  # of the usual evaluation; the rate falls as a cosine to 0
RESAMPLINGS = 200
SHUFFLES = 50
Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]


def probes(run: Run, method: Method[Any], data: Product, codes: Codes) -> dict[str, Any]:
    """Accuracies of every kind of probe by block and task, and how the slices are related."""
    rng, tasks = np.random.default_rng(0), list(data.shared)
    sizes = [data.factors[data.column(task)].size for task in tasks]
    count = min(PROBE_ROWS * len(codes), len(data))
    learned = {
        "own": encode_rows(method, data, rng.choice(len(data), count, replace=False)),
        "fresh": encode_rows(method, fresh(data, count, rng), np.arange(count)),
    }
    truth = np.stack([codes.factor(task) for task in tasks], 1)
    found: dict[str, Any] = {"accuracy": {}, "share": {}, "copies": {}}
    counts = {task: np.bincount(column) for task, column in zip(tasks, truth.T, strict=True)}
    found["chance"] = {task: float(count.max() / count.sum()) for task, count in counts.items()}
    for name, rows in learned.items():
        labels = np.stack([rows.factor(task) for task in tasks], 1)
        right = {b: usual(z, labels, codes.means()[b], sizes) == truth for b, z in rows.means().items()}
        found["accuracy"][f"usual {name}"] = {
            block: dict(zip(tasks, hits.mean(0).tolist(), strict=True)) for block, hits in right.items()
        }
        if name == "own" and "z" in right:
            found["diagonal_share"] = diagonal_share(np.stack([right["z0"], right["z1"]]), rng)
        found["accuracy"][f"converged {name}"] = converged(rows, codes, labels, truth, tasks, found)
    return found


def converged(
    learned: Codes, test: Codes, labels: Labels, truth: Labels, tasks: list[str], found: dict[str, Any]
) -> dict[str, dict[str, float]]:
    """The accuracies of converged probes; the first call also keeps the shares of variance, and how slices relate."""
    blocks = {name: np.concatenate([code, test.means()[name]]) for name, code in learned.means().items()}
    accuracy: dict[str, dict[str, float]] = {}
    for whole in slices_of(blocks):
        both = np.concatenate([labels, truth])
        table, copies = compare_slices(blocks, whole, both, tasks, train=len(labels), jobs=1)
        accuracy |= table.parts.get("accuracy", {})
        for block, share in table.parts.get("share", {}).items():
            found["share"].setdefault(block, share)
        found["copies"].setdefault(whole, {"r2": copies.as_dict()["value"], **copies.parts})
    return accuracy


def usual(learned: Floats, labels: Labels, test: Floats, sizes: list[int]) -> Labels:
    """The classes that a linear layer predicts of test rows, [n, tasks], for all tasks at once.

    Args:
        learned: codes to learn from, [m, d]
        labels: their classes, [m, tasks]
        test: codes, [n, d]
        sizes: number of classes of each task
    """
    length = max(float(np.square(learned).sum(1).mean() ** 0.5), 1e-12)

    def seen(codes: Floats) -> Tensor:
        return torch.cat([torch.as_tensor(codes, dtype=torch.float32) / length, torch.ones(len(codes), 1)], 1)

    x, generator = seen(learned), torch.Generator().manual_seed(0)
    y = torch.cat([F.one_hot(torch.as_tensor(one), size) for one, size in zip(labels.T, sizes, strict=True)], 1)
    weight, velocity = torch.zeros(2, x.shape[1], y.shape[1])
    batch = min(BATCH, len(x))
    orders = (torch.randperm(len(x), generator=generator) for _ in range(EPOCHS))
    batches = [rows for order in orders for rows in order[: len(x) // batch * batch].view(-1, batch)]
    for step, rows in enumerate(batches):
        predicted = torch.cat([one.softmax(1) for one in (x[rows] @ weight).split(sizes, 1)], 1)
        velocity = MOMENTUM * velocity + x[rows].T @ (predicted - y[rows]) / batch  # cross-entropies' gradient
        weight -= RATE * (1 + math.cos(math.pi * step / len(batches))) / 2 * velocity
    return torch.stack([one.argmax(1) for one in (seen(test) @ weight).split(sizes, 1)], 1).numpy()


def diagonal_share(right: NDArray[np.bool_], rng: np.random.Generator) -> float:
    """In how many resamplings of the test rows each half is the better one at a task. [halves, rows, tasks]"""
    count = right.shape[1]
    drawn = (right[:, rng.integers(count, size=count)].mean(1) for _ in range(RESAMPLINGS))
    return float(np.mean([diagonal(accuracy) for accuracy in drawn]))


def fresh(data: Product, count: int, rng: np.random.Generator) -> Product:
    """Rows that were drawn as those of the training set were."""
    other = data.copy()
    other.chosen = rng.integers(0, math.prod(data.axes), count)
    other.drop_cached()
    return other


def signs(run: Run, method: Method[Any], data: Product, codes: Codes) -> dict[str, float]:
    """Mean cosine of z0 and z1 of test rows, with its sign, and mean |cosine| with the coordinates of z0 shuffled."""
    means = codes.means()
    if "z0" not in means:
        return {}
    one, other = (z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12) for z in (means["z0"], means["z1"]))
    rng = np.random.default_rng(0)
    shuffled = [np.abs((one[:, rng.permutation(one.shape[1])] * other).sum(1)).mean() for _ in range(SHUFFLES)]
    return {"cosine": float((one * other).sum(1).mean()), "shuffled": float(np.mean(shuffled))}


def late(run: Run, method: Method[Any], data: Product, codes: Codes) -> dict[str, float]:
    """The loss and its terms, averaged over the last steps, and InfoMax in the first and the last window of steps."""
    rows = history.read(run.path / "history.csv")
    last = [row for row in rows if row["step"] > run.plan.steps - LATE]
    found = {name: float(np.mean([row[name] for row in last])) for name in last[0] if name != "step"}
    first, end = (float(row.get("infomax", row["loss"])) for row in (rows[0], rows[-1]))
    return found | {"infomax at first": first, "infomax at last": end}
