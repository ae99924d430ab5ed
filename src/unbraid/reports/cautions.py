"""What a reader of a run should beware of, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid import catalogue
from unbraid.problems.contract import Page, Pictures
from unbraid.problems.latents import DEAD, KNOWN, block_of, information, uncertainty
from unbraid.problems.scores import aim_of
from unbraid.train.run import Run, versions

Score = dict[str, Any]  # as it stands in scores.json
FALLING = 0.1  # share of a loss's fall since its first tenth from which the last fifth is still falling
BLURRED = 0.5  # share of the differences between images below which reconstructions lose much


@dataclass(frozen=True)
class Caution:
    text: str
    bad: bool = True  # else it is good to know


def cautions(run: Run, page: Page) -> list[Caution]:
    """What is wrong with a run or its scores, the worst first."""
    found = [
        *_training(run, page.history),
        *_likelihood(run, page),
        *_latents(page),
        *_reconstructions(page.pictures),
        *_unknown(page),
        *(Caution(text) for name, score in page.scores.items() if (text := fault(name, score))),
        *_version(run),
    ]
    return sorted(found, key=lambda caution: not caution.bad)


def fault(name: str, score: Score) -> str:
    """What is bad about a score, in a sentence; empty where nothing is."""
    aim, value, null = aim_of(name), score["value"], score["null"]
    if value is None:
        return ""
    if aim.best == "high":
        if null is not None and score["low"] is not None and score["low"] <= null:
            return f"{name} {value:.2f} is no better than chance ({null:.2f})"
    elif aim.best == "chance" and aim.bad is not None and null is not None and null < 1:
        if (value - null) / (1 - null) >= aim.bad:
            return f"{name} {value:.2f} where chance ({null:.2f}) is wanted"
    elif aim.best == "low" and aim.bad is not None:
        scale = score["parts"].get(aim.of) if aim.of else 1.0
        if scale is not None and value >= aim.bad * scale:
            beside = f" ({aim.of} {scale:.2f})" if aim.of else ""
            return f"{name} {value:.2f} where {'a low value' if aim.of else '0'} is wanted{beside}"
    return ""


def still_falling(history: Sequence[dict[str, float]]) -> bool:
    """Whether the loss went on falling in the last fifth of the training, beyond its noise."""
    loss = np.array([row["loss"] for row in history if "loss" in row])
    if len(loss) < 10:
        return False
    parts = [loss[int(a * len(loss)) : int(b * len(loss))] for a, b in ((0.1, 0.2), (0.6, 0.8), (0.8, 1.0))]
    early, before, last = (float(part.mean()) for part in parts)
    noise = float(np.diff(loss[len(loss) // 2 :]).std()) / (len(parts[2]) ** 0.5)
    fall = before - last
    return fall > 2 * noise and fall > FALLING * (early - last)


def explained(originals: NDArray[Any], reconstructions: NDArray[Any]) -> float | None:
    """The share of the differences between images that their reconstructions have, by squared error."""
    x, y = originals.astype(np.float64), reconstructions.astype(np.float64)
    spread = ((x - x.mean(0)) ** 2).sum()
    return None if len(x) < 2 or spread == 0 else float(1 - ((x - y) ** 2).sum() / spread)


def _training(run: Run, history: Sequence[dict[str, float]]) -> list[Caution]:
    if not run.finished:
        reached = f"it is at step {history[-1]['step']:,.0f}" if history else "it has just begun"
        return [Caution(f"The training has not reached its {run.plan.steps:,} steps: {reached}")]
    known = catalogue.entries("methods").get(run.plan.method)
    if not (known and known.traits.get("game")) and still_falling(history):
        return [Caution("Undertrained: the loss was still falling at the end; more steps will change the numbers")]
    return []


def _likelihood(run: Run, page: Page) -> list[Caution]:
    if not page.codes.features or run.plan.arguments.get("likelihood") != "bernoulli":
        return []
    return [
        Caution("The features were taken for pixels (likelihood bernoulli): --likelihood gaussian is made for numbers")
    ]


def _latents(page: Page) -> list[Caution]:
    found = []
    for name, block in page.codes.blocks.items():
        idle, count = int((block.carried < DEAD).sum()), len(block.carried)
        if idle == count:
            found.append(Caution(f"No latent of {name} carries anything: the code is empty"))
        elif idle:
            found.append(Caution(f"{idle} of {count} latents of {name} carry nothing", bad=False))
    return found


def _reconstructions(pictures: Pictures) -> list[Caution]:
    if "originals" not in pictures or "reconstructions" not in pictures:
        return []
    share = explained(pictures["originals"], pictures["reconstructions"])
    if share is None or share >= BLURRED:
        return []
    told = f"have {share:.0%} of the differences between images" if share > 0 else "are no better than a mean image"
    return [Caution(f"Much is lost in reconstructions: they {told}")]


def _unknown(page: Page) -> list[Caution]:
    """Factors that no latent knows."""
    matrix, factors = information(page.scores, page.codes)
    if matrix is None or not page.codes.factor_names or matrix.ndim != 2 or not len(matrix):
        return []
    lost = []
    for column, name in enumerate(factors):
        if name not in page.codes.factor_names:
            continue
        if float(matrix[:, column].max()) < KNOWN * uncertainty(page.codes, name):
            lost.append(name)
    whole = "the code" if len(page.codes.blocks) == 1 else f"block {block_of(page.scores['mig'], page.codes)}"
    return [Caution(f"Lost: no latent of {whole} knows {_listed(lost)}")] if lost else []


def _version(run: Run) -> list[Caution]:
    made, here = run.config.get("versions", {}).get("unbraid"), versions()["unbraid"]
    if made in (None, here):
        return []
    return [Caution(f"The run was made by unbraid {made}, and this page by {here}", bad=False)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
