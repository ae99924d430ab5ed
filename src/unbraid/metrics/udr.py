"""Unsupervised disentanglement ranking: how well the latents of a run agree with those of other runs.

Duan, Matthey, Saraiva, Watters, Burgess, Lerchner and Higgins, "Unsupervised model selection for variational
disentangled representation learning" (ICLR 2020). For two runs, R[a, b] is how strongly latents a and b of the two are
related: the absolute weight of a lasso or the absolute rank correlation. Their score is the mean over the informative
latents of both of (largest entry)^2 / (sum of the entries); a run's score is the median over the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata, t

from unbraid.config import Count, Rate, Weight
from unbraid.errors import UserError
from unbraid.metrics.arrays import Bools, Floats, check_codes, standardised, varies
from unbraid.metrics.contract import Codes, Score, metric
from unbraid.metrics.fitting import no_convergence_warnings, parallel


@metric
def udr(
    runs: Sequence[Codes],
    rng: np.random.Generator,
    *,
    kl: Sequence[Sequence[float]] | None = None,
    least_kl: Weight = 0.01,
    method: Literal["lasso", "spearman"] = "lasso",
    alpha: Rate = 0.1,
    reference: bool = False,
    resamplings: Count = 10,
    jobs: Count = 0,
) -> Score:
    """How well each run's latents agree with those of the other runs; the value is the mean over runs.

    The first argument holds the codes of the same samples by each of several runs.

    Args:
        kl: mean KL divergence of each latent of each run from the prior; None: every latent that varies is informative
        least_kl: latents with a smaller KL divergence are not informative
        method: weights of a lasso, or rank correlations
        alpha: strength of the lasso
        reference: average over the latents of each run first and then over the two, as disentanglement_lib does; the
            paper takes the mean over the latents of both together
        resamplings: of the rows, for the interval
        jobs: threads; 0 uses one for each available core
    """
    codes = _checked(runs, kl)
    masks = [varies(run) if kl is None else (np.asarray(kl[i]) > least_kl) & varies(run) for i, run in enumerate(codes)]
    scores = partial(_pairwise, masks=masks, method=method, alpha=alpha, reference=reference, jobs=jobs)
    pairwise, mixed = scores(codes), scores([rng.permutation(run) for run in codes])
    draws = [rng.integers(len(codes[0]), size=len(codes[0])) for _ in range(resamplings)]
    again = [_per_run(scores([run[rows] for run in codes])).mean() for rows in draws]
    reach = float(np.std(again, ddof=1) * t.ppf(0.975, len(again) - 1)) if len(again) > 1 else None
    params: dict[str, Any] = {"method": method, "alpha": alpha if method == "lasso" else None, "runs": len(codes)}
    params |= {"reference": reference, "interval": f"{resamplings} bootstrap samples of the rows, Student's t"}
    found = Score(float(_per_run(pairwise).mean()), null=float(_per_run(mixed).mean()), n=len(codes[0]), params=params)
    parts = {"per_run": _per_run(pairwise).tolist(), "pairwise": pairwise.tolist()}
    low, high = (None, None) if reach is None else (max(found.value - reach, 0.0), min(found.value + reach, 1.0))
    return replace(found, parts=parts, low=low, high=high, warnings=_warnings(masks))


def _warnings(masks: list[Bools]) -> tuple[str, ...]:
    dead = [i for i, mask in enumerate(masks) if not mask.any()]
    return (f"runs {dead} have no informative latent and score 0",) if dead else ()


def _per_run(pairwise: Floats) -> Floats:  # [runs, runs] -> [runs]
    return np.array([np.median(np.delete(pairwise[:, j], j)) for j in range(len(pairwise))])


def _pairwise(
    codes: list[Floats], *, masks: list[Bools], method: str, alpha: float, reference: bool, jobs: int
) -> Floats:  # [runs, runs]
    ranks = method == "spearman"  # symmetric: half of the pairs are enough
    scaled = [_standardised_ranks(run) if ranks else standardised(run) for run in codes]
    pairs = [(i, j) for i in range(len(codes)) for j in range(len(codes)) if i < j or (i != j and not ranks)]

    def relate(pair: tuple[int, int]) -> float:
        i, j = pair
        relation = _relation(scaled[i], scaled[j], method, alpha)[masks[i]][:, masks[j]]
        return relation_score(relation, reference=reference)

    scores = np.zeros((len(codes), len(codes)))
    with no_convergence_warnings():
        scores[tuple(np.transpose(pairs))] = parallel(relate, pairs, jobs)
    return scores + scores.T if ranks else scores


def _checked(runs: Sequence[Codes], kl: Sequence[Sequence[float]] | None) -> list[Floats]:
    codes = [check_codes(run, f"codes of run {i}") for i, run in enumerate(runs)]
    if len(codes) < 2:
        raise UserError(f"UDR compares runs and needs at least two, not {len(codes)}")
    if len({len(run) for run in codes}) > 1:
        raise UserError("the runs have different numbers of samples: the codes of all runs must be of the same samples")
    if kl is not None and [len(k) for k in kl] != [run.shape[1] for run in codes]:
        raise UserError("kl must hold one number for each latent of each run")
    return codes


def relation_score(relation: Floats, *, reference: bool = False) -> float:  # [a, b]
    """The mean over the latents of both runs of (largest)^2 / sum; of the two runs' own means for `reference`."""
    if not relation.size:
        return 0.0
    sides = [(relation.max(axis) ** 2, relation.sum(axis)) for axis in (0, 1)]
    each = [top / np.where(total > 0, total, 1.0) for top, total in sides]
    return float(np.mean([one.mean() for one in each]) if reference else np.concatenate(each).mean())


def _relation(a: Floats, b: Floats, method: str, alpha: float) -> Floats:  # [n, a], [n, b] -> [a, b]
    from sklearn.linear_model import Lasso

    if method == "spearman":
        return np.asarray(np.abs(a.T @ b) / len(a))
    return np.asarray(np.abs(np.atleast_2d(Lasso(alpha=alpha, tol=1e-4, max_iter=1000).fit(a, b).coef_)).T)


def _standardised_ranks(codes: Floats) -> Floats:
    return np.where(varies(codes), standardised(rankdata(codes, axis=0)), 0.0)
