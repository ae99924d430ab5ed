"""The only training loop."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from unbraid import catalogue, machine
from unbraid.config import Share
from unbraid.data.batch import Batch
from unbraid.data.samplers import resolved, sampler
from unbraid.data.table import Table
from unbraid.errors import UserError
from unbraid.maths.schedule import falling
from unbraid.methods.contract import Method
from unbraid.methods.requirements import require_likelihood
from unbraid.train.checkpoint import load_state, load_weights, save_state, save_weights
from unbraid.train.compiled import check_compiler, compiled
from unbraid.train.history import History
from unbraid.train.hooks import Hook, Watch, as_hook
from unbraid.train.interrupts import interrupts
from unbraid.train.progress import Progress
from unbraid.train.run import SCALING, Plan, Run, write
from unbraid.train.trainer import Trainer

WINDOW = 50  # steps between two rows of the history; each row is the mean over its window


def fit(
    method: Method[Any],
    data: Table,
    *,
    steps: int = 10_000,
    batch: int = 64,
    seed: int = 0,
    decay: Share = 0.0,
    sampling: dict[str, Any] | None = None,
    start_from: str | None = None,
    out: str = "runs",
    device: str = "cpu",
    threads: int | None = None,
    compile: bool = False,
    save_every: float = 30.0,
    show: bool = True,
    hooks: Sequence[Hook | Watch] = (),
) -> Run:
    """Trains a method on a data set, or continues where an earlier call with the same arguments stopped.

    A batch and the noise of a step are pure functions of (seed, step), so that a run which was killed at any moment
    ends with the same weights as one which was not.

    Args:
        steps: number of batches drawn
        batch: samples in a batch
        seed: of batches and noise; that of the initial weights, which `build` has drawn, must be the same
        decay: share of the steps, at the end, over which every learning rate falls linearly to 1 % of it
        sampling: keyword arguments of the batch kind's sampler
        start_from: directory of a finished run of the same method, whose weights it begins with instead of random ones
        out: folder for the run's directory
        device: cpu, cuda, or any other that torch knows
        threads: cores to use; all of them unless given
        compile: compile the networks with torch.compile first; the same numbers but for rounding
        save_every: seconds between checkpoints
        show: show a progress bar
        hooks: called while it is trained (train/hooks.py); a plain function gets the steps done and the loss terms
    """
    steps, batch, seed, decay = int(steps), int(batch), int(seed), float(decay)  # they may be numpy's
    _check_arguments(steps, decay, threads, out)
    draw = sampler(data, method.batch_kind, batch=batch, seed=seed, **(sampling or {}))
    sampling = resolved(data, method.batch_kind, sampling or {})
    _check_weights_are_of(method, seed, start_from)
    where = usable_device(device)
    if compile and not method.solved:
        check_compiler(where)
    require_likelihood(method, data.spec)
    draw(0)  # what cannot be drawn is refused before anything is written
    if start_from is not None:
        load_weights(method, _started(start_from, out).path)
    start = None if start_from is None else Path(start_from).name
    name, of = catalogue.name_of(type(method)), catalogue.name_of_table(data)
    plan = Plan(name, method.arguments, of, data.arguments, sampling, steps, batch, seed, start_from=start, decay=decay)
    run = _created(out, plan, method, data)
    machine.prepare_memory()
    method.to(where)
    called = [as_hook(hook) for hook in hooks]
    with machine.torch_threads(threads), ExitStack() as ending:
        for hook in called:
            ending.callback(hook.on_close)
        with run.lock():
            for hook in called:
                hook.on_begin(run)
            method.trained = str(run.path)
            if run.finished:
                load_weights(method, run.path)
            elif method.solved:
                _solve(method, data, run)
            else:
                networks = compiled(method) if compile else nullcontext()
                with machine.forked_rng(where), Progress(run.path.name, steps, show) as progress, networks:
                    _train(method, draw, run, plan, save_every, [progress, *called])
        method.eval()
        for hook in called:
            hook.on_end(run)
    return run


def _solve(method: Method[Any], data: Table, run: Run) -> None:
    method.solve(data)
    save_weights(method, run.path)
    run.finish()


def _check_arguments(steps: int, decay: float, threads: int | None, out: str) -> None:
    if not str(out):
        raise UserError("the folder for the run has an empty name: leave --out out for 'runs'")
    if steps < 1:
        raise UserError(f"training needs at least one step, not {steps}")
    if not 0 <= decay <= 1:
        raise UserError(f"decay is the share of the steps over which learning rates fall, from 0 to 1, not {decay}")
    if threads is not None and threads < 1:
        raise UserError(f"training needs at least one thread, not {threads}")


def _check_weights_are_of(method: Method[Any], seed: int, start_from: str | None) -> None:
    """A run says where its first weights are from; they must be from there."""
    if start_from is not None:
        return
    if method.trained:
        raise UserError(
            f"this method was trained already, in {method.trained}: build it anew (then the same call continues a run "
            f"that was stopped), or go on from a finished one by start_from='{method.trained}'"
        )
    if method.seed not in (None, seed):
        raise UserError(f"the method was built with seed {method.seed} and is to be trained with {seed}: give both one")


def _created(out: str, plan: Plan, method: Method[Any], data: Table) -> Run:
    """The run's directory; what it holds must be of the same data and of the same first weights."""
    sources = {place: catalogue.source_digest(place) for place in plan.places}
    kept: dict[str, Any] = {"sources": sources} if sources else {}
    kept |= {"content": data.content()} if data.of_files else {}
    run = Run.create(out, plan, spec=asdict(data.spec), start=_digest(method), **kept)
    run.trusted = True
    for place, digest in run.config.get("sources", {}).items():
        if sources.get(place) != digest:
            raise _changed(run, f"{place} has changed")
    begun, now = run.config["spec"], json.loads(json.dumps(asdict(data.spec)))
    if any(now[name] != value for name, value in begun.items() if name in now):
        rows = f"{begun['n_train']} rows of {begun['shape']}, now {now['n_train']} of {now['shape']}"
        raise _changed(run, f"the data have changed ({rows})")
    if run.config.get("content") not in (None, kept.get("content")):
        raise _changed(run, "the files of the data have changed")
    if data.scaling is not None and not (run.path / SCALING).exists():
        run.write_arrays(SCALING, **{name: np.array(value) for name, value in asdict(data.scaling).items()})
    if run.config["start"] != _digest(method):
        raise UserError(
            f"{run.path} began from other weights than this method has: build the method anew, "
            "with the seed of the run, or choose another folder"
        )
    return run


def _started(start_from: str, out: str) -> Run:
    """The run of this directory, or of this name beside the new one."""
    beside = Path(out) / start_from
    found = Run(start_from if (Path(start_from) / "run.json").exists() or not beside.exists() else beside)
    if not found.finished:
        raise UserError(f"the training of {found.path} has not finished: its weights are not there to start from")
    return found


def _changed(run: Run, what: str) -> UserError:
    return UserError(f"{what} since {run.path} was begun: choose another folder (--out), or remove that run")


def _train(
    method: Method[Any], draw: Callable[[int], Batch], run: Run, plan: Plan, save_every: float, hooks: Sequence[Hook]
) -> None:
    device = next(method.parameters()).device
    trainer = Trainer(method)
    history = History()
    start = load_state(run.path, method, trainer.optimisers, history)
    method.train()
    saved, saved_at = start, time.monotonic()
    with interrupts() as interrupted:
        for step, batch in batches(draw, start, plan.steps, ahead=device.type != "cpu"):
            machine.seed_torch(noise_seed(plan.seed, step), device)
            trainer.scale_rates(falling(step, plan.steps, plan.decay), step)
            history.add(step, trainer.step(batch.on(device), step))
            done = step + 1
            if done % WINDOW == 0 or done == plan.steps:
                terms = history.close_window(f"the last good checkpoint, of step {saved}, is kept")
                for hook in hooks:
                    hook.on_window(done, terms)
            due = done % WINDOW == 0 and time.monotonic() - saved_at > save_every
            if due or done == plan.steps or interrupted.is_set():
                _check_weights(method, done, saved)
                save_state(run.path, method, trainer.optimisers, history, done)
                write(run.path / "history.csv", history.csv())
                saved, saved_at = done, time.monotonic()
            if interrupted.is_set() and done < plan.steps:
                raise KeyboardInterrupt(f"stopped at step {done} of {plan.steps}")
    if start == plan.steps:  # it was stopped between the state of the last step and its history
        write(run.path / "history.csv", history.csv())
    save_weights(method, run.path)
    run.finish()


def batches(draw: Callable[[int], Batch], start: int, end: int, *, ahead: bool) -> Iterator[tuple[int, Batch]]:
    """The batch of each step; drawn one `ahead` in a thread where a device computes while the processor is idle."""
    if not ahead:
        for step in range(start, end):
            yield step, draw(step)
        return
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(draw, start)
        for step in range(start, end):
            batch = following.result()
            if step + 1 < end:
                following = pool.submit(draw, step + 1)
            yield step, batch


def noise_seed(seed: int, step: int) -> int:
    """The seed of torch's generator at a step; another stream than that of the batch."""
    return int(np.random.SeedSequence((seed, step, 1)).generate_state(1, np.uint64)[0])


def _check_weights(method: Method[Any], step: int, saved: int) -> None:
    for name, value in method.state_dict().items():
        if value.is_floating_point() and not torch.isfinite(value).all():
            raise UserError(
                f"the weights '{name}' are no longer finite at step {step}; "
                f"the last good checkpoint, of step {saved}, is kept; a lower learning rate may help"
            )


def _digest(method: Method[Any]) -> str:
    digest = hashlib.sha256()
    for value in method.state_dict().values():
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def usable_device(name: str) -> torch.device:
    """A device by name, refused where it is not here."""
    try:
        torch.empty(1, device=name)
        return torch.device(name)
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise UserError(f"the device '{name}' cannot be used here: {reason}") from error
