"""What is measured of the runs of a growing capacity."""

from __future__ import annotations

from typing import Any

import numpy as np

from unbraid.codes import Codes
from unbraid.metrics.mig import mig
from unbraid.train.run import Run

ACTIVE = 0.1  # nats; a latent with less tells nothing


def nats(run: Run, method: Any, data: Any, codes: Codes) -> dict[str, float]:
    """What the best active latent tells of each factor."""
    block = codes.blocks["z"]
    assert block.kl is not None
    known = mig(block.codes, codes.factors, np.random.default_rng(0))
    matrix = np.array(known.parts["mutual_information"]) * (block.kl > ACTIVE)[:, None]  # [d, k]
    return dict(zip(codes.factor_names, matrix.max(0).tolist(), strict=True))
