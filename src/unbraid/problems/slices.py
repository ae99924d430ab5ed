"""A code that is cut into slices, such as z into z0 and z1: do they share the tasks out, or is the solution degenerate?

    probes_z    accuracies of linear probes on z and its slices, the gaps and the diagonal (metrics/probe_table.py)
    copies_z    R2 of the linear prediction of a slice from another, and the name of a degenerate solution, if it is one

The degenerate solutions are those of Burns et al. 2021 (section 4.2 and table 7), which orthogonality does not forbid:

    random          no slice tells any task
    random slice    a slice tells no task, though another does
    rotated copy    slices at right angles of which each predicts the other, and which tell the tasks equally well
    repeated task   every slice tells some task as well as the whole code does, so that it is not shared out
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.codes import Codes
from unbraid.errors import UserError
from unbraid.figures.charts import together
from unbraid.figures.parts import Cell, Charts, Note, Section, Table
from unbraid.metrics.contract import Aim, Factors, Score
from unbraid.metrics.linear_probe import explained_variance
from unbraid.metrics.probe_table import probe_table
from unbraid.problems.contract import Page, Problem, Task

Blocks = Mapping[str, NDArray[Any]]
BY_CHANCE = 0.05  # accuracy above the most frequent class up to which a slice tells nothing
EQUAL = 0.02  # difference of accuracies up to which two slices tell a task equally well
COPY = 0.8  # R2 from which a slice is a linear image of another
RIGHT_ANGLE = 0.5  # mean |cosine| up to which slices are orthogonal, as a share of that of unrelated directions
NOTES = {
    "random": "no slice of {0} tells any task: training has not begun, or the regulariser is too strong",
    "random slice": "{1} tell no task, and the rest of {0} does",
    "rotated copy": "{1} are orthogonal, yet each predicts the other: they are rotated copies",
    "repeated task": "every slice of {0} tells {1} as well as all of {0}: it is not shared out",
}
BALANCE = ("infomax", "infomin")


class Slices(Problem):
    name = "slices"
    scores = MappingProxyType({"probes_": "probe_table", "copies_": "probe_table"})
    metrics = ("probe_table",)
    headlines = ("probes_z", "copies_z")
    aims = MappingProxyType({"copies_z": Aim("low", COPY), "copies_r": Aim("low", COPY)})
    needs = "a code with several blocks: a run of sub_infomax or sub_supervised, or of a method with the blocks p and n"

    def applies(self, codes: Codes) -> bool:
        return bool(slices_of(codes.blocks))

    def tasks(self, codes: Codes, *, seed: int, jobs: int = 0) -> dict[str, Task]:
        """The tasks of the probes are what views share, or all factors."""
        names = list(codes.shared or codes.factor_names)
        values = codes.factors[:, [codes.factor_names.index(name) for name in names]]

        taken: dict[str, tuple[Score, Score]] = {}

        def both(whole: str, options: dict[str, Any]) -> tuple[Score, Score]:
            key = f"{whole} {sorted(options.items())}"
            if key not in taken:
                given = (codes.means(), whole, values, names)
                taken[key] = compare_slices(*given, seed=seed, jobs=jobs, options=options)
            return taken[key]

        found = {}
        for whole in slices_of(codes.blocks):
            for place, kind in enumerate(("probes", "copies")):
                found[f"{kind}_{whole}"] = Task(
                    "probe_table",
                    lambda place=place, whole=whole, **o: both(whole, o)[place],
                )
        return found

    def sections(self, page: Page) -> list[Section]:
        probes = {n.removeprefix("probes_"): s["parts"] for n, s in page.scores.items() if n.startswith("probes_")}
        tables = [
            _table(whole, parts, page.scores.get(f"copies_{whole}"))
            for whole, parts in probes.items()
            if "accuracy" in parts
        ]
        return tables + ([_balance(page.history)] if any(BALANCE[1] in row for row in page.history) else [])


def compare_slices(
    blocks: Blocks,
    whole: str,
    factors: Factors,
    names: Sequence[str],
    *,
    seed: int = 0,
    train: int | None = None,
    jobs: int = 0,
    options: Mapping[str, Any] | None = None,
) -> tuple[Score, Score]:
    """The probes of one block and its slices, and how far slices are copies; the factors are the tasks.

    Args:
        seed: of whatever is drawn
        train: how many leading rows train the probes, the others test; None draws two thirds
        jobs: threads; 0 uses every core
        options: others of the table of probes, or in place of these
    """
    parts = slices_of(blocks)[whole]
    rng = np.random.default_rng((seed, *whole.encode()))
    code = {name: blocks[name] for name in (whole, *parts)}
    given: dict[str, Any] = {"pair": parts, "names": names, "train": train, "jobs": jobs}
    try:
        probes = probe_table(code, factors, rng, **{**given, **(options or {})})
        copies = degenerate(code, probes, rng)
    except (UserError, ValueError) as error:  # too few rows, or tasks without classes
        probes = copies = Score(float("nan"), warnings=(f"slices of {whole}: {error}",))
    gap = f"mean gap between {' and '.join(parts)} in telling {' and '.join(names)}; 0 unless each is best at one"
    copy = f"R2 of predicting a slice of {whole} from another; near 1 they are copies"
    return (
        replace(probes, params={**probes.params, "meaning": gap}),
        replace(copies, params={**copies.params, "meaning": copy}),
    )


def slices_of(blocks: Iterable[str]) -> dict[str, list[str]]:
    """The blocks that are cut into slices, and the names of those: z has z0, z1, ..."""
    names, found = list(blocks), {}
    for name in names:
        if name[-1:].isdigit():  # z10 is a slice of z, not of z1
            continue
        parts = [f"{name}{k}" for k in range(len(names)) if f"{name}{k}" in names]
        if len(parts) > 1:
            found[name] = parts
    return found


def degenerate(code: Blocks, probes: Score, rng: np.random.Generator) -> Score:
    """R2 between slices, least over pairs; its parts hold the mean |cosine| and `solution`, one of NOTES or nothing.

    Slices are brought to length one, since that is how the losses see them: a copy may have lengths of its own.
    """
    whole, *parts = code
    units = {part: code[part] / np.maximum(np.linalg.norm(code[part], axis=1, keepdims=True), 1e-12) for part in parts}
    r2 = {(a, b): explained_variance(units[a], units[b], rng) for a, b in permutations(parts, 2)}
    cosine = {(a, b): float(np.abs((units[a] * units[b]).sum(1)).mean()) for a, b in combinations(parts, 2)}
    unrelated = (2 / (np.pi * code[parts[0]].shape[1])) ** 0.5  # of two random directions, for many dimensions
    copies = [
        pair
        for pair in cosine
        if min(r2[pair].value, r2[pair[::-1]].value) >= COPY and cosine[pair] <= RIGHT_ANGLE * unrelated
    ]
    solution, which = _solution(whole, parts, probes.parts, copies)
    notes = (NOTES[solution].format(whole, ", ".join(which)),) if solution else ()
    least = min(r2.values(), key=lambda score: score.value)
    return replace(least, parts={"cosine": float(np.mean(list(cosine.values()))), "solution": solution}, warnings=notes)


def _solution(
    whole: str, parts: list[str], found: Mapping[str, Any], copies: Sequence[tuple[str, str]]
) -> tuple[str | None, list[str]]:
    """The name of the solution and the slices or tasks that show it; `copies` are the candidates for rotated ones."""
    accuracy, chance = found["accuracy"], found["chance"]

    def idle(block: str) -> bool:
        return all(accuracy[block][task] <= chance[task] + BY_CHANCE for task in chance)

    def alike(a: str, b: str, task: str) -> bool:
        return bool(abs(accuracy[a][task] - accuracy[b][task]) <= EQUAL)

    if all(map(idle, parts)):
        return "random", parts
    if any(map(idle, parts)):
        return "random slice", [part for part in parts if idle(part)]
    for pair in copies:
        if all(alike(*pair, task) for task in chance):
            return "rotated copy", list(pair)
    repeated = [
        task
        for task in chance
        if all(alike(part, whole, task) for part in parts) and accuracy[whole][task] > chance[task] + BY_CHANCE
    ]
    return ("repeated task", repeated) if repeated else (None, [])


def _balance(rows: Sequence[dict[str, float]]) -> Section:
    note = Note(
        "infomax falls as views of one thing are told from others; infomin, the loss of telling one slice from "
        "another, rises as slices say less of each other, whether it was asked for or not. Where one falls and takes "
        "the other along, what views share is learned by both slices."
    )
    return Section("InfoMax against InfoMin", [note, Charts([together(rows, BALANCE)])], "Balance")


def _table(whole: str, found: dict[str, Any], copies: dict[str, Any] | None) -> Section:
    accuracy, tasks = found["accuracy"], list(found["chance"])

    def row(name: str, values: dict[str, float], best: bool = False) -> list[str | Cell]:
        bold = {task: best and _is_best(accuracy, whole, name, task) for task in tasks}
        return [name, *(Cell(f"{100 * values[task]:.1f}", bold=bold[task]) for task in tasks)]

    rows = [row(block, values, best=True) for block, values in accuracy.items()]
    rows += [row("gap", found["gap"]), row("by chance", found["chance"])]
    note = (
        f"Accuracy in per cent on held-out rows; the better slice is bold. {_shares(found)}{_verdict(found)}"
        f"{_degenerate(copies)}"
    )
    table = Table(["linear probe on", *tasks], rows)
    return Section(f"What each slice of {whole} tells", [table, Note(note)], f"Slices of {whole}")


def _shares(found: dict[str, Any]) -> str:
    """Of runs that were scored before there were shares, nothing."""
    told = [
        f"{block} {', '.join(f'{task} {value:.0%}' for task, value in tasks.items())}"
        for block, tasks in found.get("share", {}).items()
    ]
    return f"Share of the variance that lies between classes: {'; '.join(told)}. " if told else ""


def _is_best(accuracy: dict[str, dict[str, float]], whole: str, block: str, task: str) -> bool:
    slices = [name for name in accuracy if name != whole]
    return block in slices and accuracy[block][task] == max(accuracy[name][task] for name in slices)


def _verdict(found: dict[str, Any]) -> str:
    share = found["diagonal_share"]
    again = "" if share is None else f" (so it is in {share:.0%} of resamplings of the test rows)"
    if found["diagonal"]:
        return f"Diagonal: each of two slices is the better one at some task{again}."
    return f"Not diagonal: one slice is the better one at every task, or they are equal{again}."


def _degenerate(copies: dict[str, Any] | None) -> str:
    if copies is None or copies["value"] is None:
        return ""
    solution = copies["parts"]["solution"]
    text = (
        f" A slice predicts another with R2 {copies['value']:.2f}; the mean |cosine| between slices is "
        f"{copies['parts']['cosine']:.2f}."
    )
    return text + (f" Degenerate: {solution} ({copies['warnings'][0]})." if solution else "")
