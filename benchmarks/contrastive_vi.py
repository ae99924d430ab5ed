"""`salient_vae` on counts beside contrastiveVI of scvi-tools: the same cells, latent sizes, epochs and one core.

    python -m venv venv && venv/bin/pip install scvi-tools==1.4.2 .
    venv/bin/python benchmarks/contrastive_vi.py [seeds]

scvi-tools is not needed by unbraid for anything else. The cells are those of examples/count_table.py, where the truth
is known. Each model keeps the learning rate that it comes with. contrastiveVI has one hidden layer of 128 units and no
Wasserstein penalty unless others are given, which is how it is taken here; salient_vae has hidden layers of 128 and 64
units. A batch is 64 cells of each set, and an epoch ten batches.
"""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scvi
import torch
from anndata import AnnData
from numpy.typing import NDArray

import unbraid

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from count_table import CELLS, Experiment, make_cells, report  # type: ignore[import-not-found]

SALIENT, COMMON, EPOCHS, BATCH = 4, 4, 150, 64
Blocks = dict[str, NDArray[np.float32]]


def ours(cells: Experiment, seed: int) -> Blocks:
    data = unbraid.from_arrays(cells.treated, background=cells.untreated, counts=True)
    options = {"likelihood": "negative_binomial", "salient": SALIENT, "common": COMMON, "beta": 1.0, "width": 8}
    method = unbraid.build("salient_vae", data, seed=seed, **options)
    steps = EPOCHS * -(-CELLS // BATCH)
    with tempfile.TemporaryDirectory() as folder:
        run = unbraid.fit(method, data, steps=steps, batch=BATCH, seed=seed, out=folder, show=False)
        return unbraid.load_run(run.path).encode(cells.treated)


def contrastive_vi(cells: Experiment, seed: int) -> Blocks:
    scvi.settings.seed = seed
    table = AnnData(np.concatenate([cells.treated, cells.untreated]).astype(np.float32))
    scvi.external.ContrastiveVI.setup_anndata(table)
    model = scvi.external.ContrastiveVI(table, n_salient_latent=SALIENT, n_background_latent=COMMON)
    treated, untreated = np.arange(CELLS), np.arange(CELLS, 2 * CELLS)
    model.train(
        background_indices=untreated,
        target_indices=treated,
        max_epochs=EPOCHS,
        batch_size=BATCH,
        train_size=1.0,
        accelerator="cpu",
        enable_progress_bar=False,
    )
    kinds = {"s": "salient", "z": "background"}
    return {
        block: np.asarray(model.get_latent_representation(table, treated, representation_kind=kind))
        for block, kind in kinds.items()
    }


def main(seeds: int) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    cells = make_cells()
    methods: dict[str, Callable[[Experiment, int], Blocks]] = {"salient_vae": ours, "contrastiveVI": contrastive_vi}
    for name, fitted in methods.items():
        found, seconds = [], []
        for seed in range(seeds):
            begun = time.process_time()
            codes = fitted(cells, seed)
            seconds.append(time.process_time() - begun)
            found.append(report(codes, cells))
        print(f"\n{name}: mean and range of {seeds} seeds, {np.mean(seconds):.0f} s of processor time each")
        for score in found[0]:
            values = [one[score] for one in found]
            print(f"  {score}: {np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
