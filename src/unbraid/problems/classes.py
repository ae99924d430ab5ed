"""Classes in spite of nuisances: a code of the blocks p (predictive) and n (nuisance), or a classifier alone.

group_accuracy    of the predictions, over groups of class and nuisance
leakage           the gaps between blocks in a table of linear probes: class and nuisances from each block
leakage_sampled   the same of draws of the codes at their own scale, where both blocks are Gaussian
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Arrays, Codes
from unbraid.data.table import Product
from unbraid.errors import UserError
from unbraid.figures.charts import scatter
from unbraid.figures.parts import Charts, HeatMap, Note, Section, Strip, Strips
from unbraid.metrics.contract import Score
from unbraid.metrics.group_accuracy import group_accuracy
from unbraid.metrics.plane import picture_plane
from unbraid.metrics.probe_table import probe_table
from unbraid.problems.contract import Page, Pictures, Problem, Task, Trained, attempt, rng_of

if TYPE_CHECKING:
    from torch import Tensor

PAIR = ("p", "n")
CHANGED = 512  # rows of which each factor is changed
POINTS = 800  # on a plane; t-SNE of more takes long
FEWEST = 40  # rows for t-SNE
ROWS = ("pairs", "drawn", "drawn after the swap", "[random p, n]", "[p, random n]")


class Classes(Problem):
    name = "classes"
    roles = MappingProxyType({"p": "predictive", "n": "nuisance"})
    scores = MappingProxyType(
        {"group_accuracy": "group_accuracy", "leakage": "probe_table", "leakage_sampled": "probe_table"}
    )
    metrics = ("group_accuracy",)
    headlines = ("group_accuracy", "leakage")
    needs = "predictions of classes: a run of a method that classifies, such as cnn, vfae or swap_vae, on labelled data"

    def applies(self, codes: Codes) -> bool:
        return codes.label is not None and codes.background is None

    def arrays(self, trained: Trained, codes: Codes) -> Arrays:
        """moves_<block> [factors, d]: how far each latent moves when one factor alone changes."""
        return _moves(trained, codes, np.random.default_rng((trained.seed, 1))) if _has_pair(codes) else {}

    def pictures(self, trained: Trained, codes: Codes) -> Pictures:
        """swapped [5, 2, n, c, h, w]: pairs under exchange of what they share."""
        return _swapped(trained, codes, np.random.default_rng((trained.seed, 2))) if _has_pair(codes) else {}

    def tasks(self, codes: Codes, *, seed: int, jobs: int = 0) -> dict[str, Task]:
        found: dict[str, Task] = {}
        if codes.predicted is not None:
            found["group_accuracy"] = Task("group_accuracy", lambda **o: _group_accuracy(codes, seed, **o))
        if _has_pair(codes):
            meaning = (
                "what each block tells of each factor, by linear probes: the mean gap, 0 if one block is better at all"
            )
            given = {"pair": PAIR, "names": codes.factor_names, "jobs": jobs}

            def leakage(**options: Any) -> Score:
                rng = rng_of(seed, "leakage")
                take = partial(probe_table, codes.means(), codes.factors, rng, **{**given, **options})
                return attempt("leakage", meaning, take)

            def of_draws(**options: Any) -> Score:
                rng = rng_of(seed, "leakage_sampled")
                drawn = {name: block.sampled(rng) for name, block in codes.blocks.items()}
                take = partial(probe_table, drawn, codes.factors, rng, **{**given, "standardise": False, **options})
                return attempt("leakage_sampled", f"{meaning}; of draws of the codes at their own scale", take)

            found["leakage"] = Task("probe_table", leakage)
            if all(codes.blocks[name].scale is not None for name in PAIR):
                found["leakage_sampled"] = Task("probe_table", of_draws)
        return found

    def sections(self, page: Page) -> list[Section]:
        if not _has_pair(page.codes):
            return []
        return _pairs_shown(page.pictures) + _moves_shown(page.codes) + _planes(page.codes)


def _has_pair(codes: Codes) -> bool:
    return codes.blocks.keys() >= set(PAIR)


def _group_accuracy(codes: Codes, seed: int, **options: Any) -> Score:
    assert codes.predicted is not None and codes.labels is not None
    nuisances = np.zeros(len(codes), np.int64)
    if codes.groups:
        nuisances = codes.factors[:, [codes.factor_names.index(name) for name in codes.groups]]
    return group_accuracy(codes.predicted, codes.labels, nuisances, rng_of(seed, "group_accuracy"), **options)


def _moves(trained: Trained, codes: Codes, rng: np.random.Generator) -> Arrays:
    """In standard deviations of each latent.

    Where rows are digits painted in several ways a change of the digit is another digit in the same paint.
    """
    method, table, rows = trained.method, trained.table, codes.rows[:CHANGED]
    if not isinstance(table, Product):
        return {}
    before = method.encode(trained.look(rows))
    found = {block: np.zeros((len(table.axes), code.shape[1])) for block, code in before.items()}
    for axis, size in enumerate(table.axes):
        positions = table.positions(rows)
        positions[:, axis] = (positions[:, axis] + rng.integers(1, max(size, 2), len(rows))) % size
        others = table.find(positions)
        there = np.flatnonzero(others >= 0)
        if size < 2 or not len(there):
            continue
        after = method.encode(trained.look(others[there]))
        for block, code in before.items():
            spread = code.std(0).clamp(min=1e-6)
            found[block][axis] = ((after[block] - code[there]).abs() / spread).mean(0).cpu().numpy()
    return {f"moves_{block}": values for block, values in found.items()}


def _swapped(trained: Trained, codes: Codes, rng: np.random.Generator) -> Pictures:
    """Pairs that differ in one factor: as they are, drawn, drawn after the swap of all that they seem to share, from
    [random p, n], and from [p, random n]; random codes are normal, as spread as the codes."""
    import torch

    from unbraid.encode import to_bytes
    from unbraid.maths import gaussian
    from unbraid.maths.exchange import swap, unchanged

    method, table, rows = trained.method, trained.table, trained.examples
    if "Pairs" not in table.gives or table.shape[1] == 1:
        return {}
    k = np.full(len(rows), table.sampling.get("changed", 1))
    try:
        others = table.change(rows, k, rng)
    except UserError:  # a table without such pairs, of which the method need not have seen any
        return {}
    x = trained.look(np.concatenate([rows, others]))  # [2 n, c, h, w]
    blocks = method.encode(x)
    p, n = blocks["p"], blocks["n"]
    posterior = method.posterior(x).get("n", (n, torch.zeros_like(n)))
    (mu1, mu2), (log_var1, log_var2) = (part.chunk(2) for part in posterior)
    same = unchanged(gaussian.kl(mu1, log_var1, mu2, log_var2), torch.from_numpy(k).to(n.device), 1.0)
    whole = torch.ones(len(rows), p.shape[1], dtype=torch.bool, device=p.device)

    def random(block: str) -> Tensor:
        mean, spread = codes.blocks[block].codes.mean(0), codes.blocks[block].codes.std(0)
        return torch.as_tensor(mean + spread * rng.normal(size=blocks[block].shape)).to(blocks[block])

    drawn = [method.decode(code) for code in ({"p": p, "n": n}, {"p": swap(p, whole), "n": swap(n, same)})]
    drawn += [method.decode({"p": random("p"), "n": n}), method.decode({"p": p, "n": random("n")})]
    pictures = [picture for picture in drawn if picture is not None]
    if len(pictures) < len(drawn):
        return {}
    return {"swapped": to_bytes(torch.stack([x, *pictures]).reshape(5, 2, len(rows), *x.shape[1:]))}


def _pairs_shown(pictures: Pictures) -> list[Section]:
    if "swapped" not in pictures:
        return []
    rows = [Strip.of(name, first, second) for name, (first, second) in zip(ROWS, pictures["swapped"], strict=True)]
    note = Note(
        "The two pictures of a pair, one below the other, differ in one factor. Swapped: p, and all of n but the "
        "latent that differs most, come from the other picture; nothing should change. With a random p the nuisances "
        "should stay and the class be lost, with a random n the class should stay."
    )
    return [Section("Pairs, swapped", [note, Strips(rows)], "Swapped")]


def _moves_shown(codes: Codes) -> list[Section]:
    if "moves_p" not in codes.extra:
        return []
    matrix = np.concatenate([codes.extra[f"moves_{block}"] for block in PAIR], 1).T  # [latents, factors]
    latents = [f"{block}{i}" for block in PAIR for i in range(codes.blocks[block].width)]
    note = Note(
        "Mean change of each latent when that factor alone changes. The class should move p, nuisances n; latents of n "
        "that react to a known nuisance are those in which it is known."
    )
    drawn = HeatMap(matrix, latents, codes.factor_names, "standard deviations")
    return [Section("What each factor moves", [note, drawn], "Moves")]


def _planes(codes: Codes) -> list[Section]:
    """t-SNE of both blocks by class and by each nuisance that makes groups (van der Maaten and Hinton, JMLR 2008)."""
    shown = [str(codes.label), *(name for name in codes.groups if name != codes.label)]
    drawn = []
    for block in PAIR:
        space: NDArray[np.float64] = codes.blocks[block].codes[:POINTS].astype(np.float64)
        if len(space) < FEWEST or not space.std(0).max() > 0:
            continue
        plane = picture_plane(space)
        for name in shown:
            values = codes.factor(name)[: len(plane)]
            groups = {codes.named(name, value): plane[values == value] for value in np.unique(values)}
            drawn.append(scatter(f"{block} by {name}", groups))
    note = Note("t-SNE of each block. p should fall into classes and show no nuisance; n the reverse.")
    return [Section("Both blocks on a plane", [note, Charts(drawn)], "Maps")] if drawn else []
