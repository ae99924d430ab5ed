"""`unbraid study`: all runs of a study file, here or on a cluster; `unbraid collect`: their scores as one table."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.cli.console_tables import print_table
from unbraid.cli.parser import Parser
from unbraid.errors import UserError

if TYPE_CHECKING:
    from unbraid.study.estimate import Cost
    from unbraid.study.plan import Job


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser("study", help="do all runs of a study file; the same command again continues")
    parser.add_argument("file", metavar="FILE", help="a Python file that defines 'study = Study(...)', or file.py:name")
    parser.add_argument("--out", metavar="DIR", help="folder or fsspec URL of the runs (default: runs/NAME OF FILE)")
    parser.add_argument("--list", action="store_true", help="show the plan with an estimate of time; run nothing")
    parser.add_argument("--calibrate", action="store_true", help="train each kind of run shortly for the estimate")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N of the runs that are still to do")
    parser.add_argument("--only", action="append", default=[], metavar="KEY=VALUE[,..]", help="only runs with these")
    parser.add_argument("--retry-failed", action="store_true", help="also try again what has failed before")
    parser.add_argument("--workers", type=int, metavar="N", help="runs at a time (default: cores / threads)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each run (default: 1)")
    parser.add_argument("--device", help="cpu, cuda, ... (default: cpu, or cuda with --gpus)")
    parser.add_argument("--quiet", action="store_true", help="show nothing while runs go on")
    cluster = parser.add_argument_group("on a cluster")
    cluster.add_argument("--ray", metavar="ADDRESS", help="of a Ray cluster: auto, HOST:PORT, or local to start one")
    cluster.add_argument("--cpus", type=float, default=1.0, metavar="F", help="cores of each run (default: 1)")
    cluster.add_argument("--gpus", type=float, default=0.0, metavar="F", help="GPUs of each run, such as 0.25")
    parser.set_defaults(main=main)
    table = commands.add_parser("collect", help="put the scores of all runs in a folder into one table")
    table.add_argument("path", metavar="DIR", help="folder or fsspec URL of runs")
    table.add_argument("--to", type=Path, metavar="PATH", help="PATH.parquet and PATH.csv (default: DIR/table)")
    table.set_defaults(main=main_collect)


def main(arguments: argparse.Namespace) -> int:
    from unbraid.study import estimate, plan
    from unbraid.study.execute import states
    from unbraid.study.run import Resources, pending, run_jobs
    from unbraid.study.store import open_store

    given = {name: getattr(arguments, name) for name in ("workers", "threads", "device", "ray", "cpus", "gpus")}
    resources = Resources(**given)
    jobs = plan.select(plan.load(arguments.file), arguments.only)
    file, _, name = Path(arguments.file).name.partition(".py:")
    title = f"{file}-{name}" if name else Path(file).stem
    out = arguments.out or str(Path("runs") / title)
    store = open_store(out)
    left = pending(jobs, out, retry_failed=arguments.retry_failed, limit=arguments.limit)
    if arguments.calibrate:
        estimate.calibrate(left, out, device=resources.of_runs, threads=resources.threads, show=not arguments.quiet)
    if arguments.list:
        known = estimate.costs(store, jobs)
        _print_plan(jobs, states(store, jobs), known, left)
        _print_estimate(left, known, resources.at_once)
        return 0
    failures = run_jobs(left, jobs, out, title=title, resources=resources, show=not arguments.quiet)
    return _end(out, Counter(states(store, jobs).values()), failures)


def _end(out: str, count: Counter[str], failures: dict[str, str]) -> int:
    for name, reason in failures.items():
        print(f"failed: {name}: {reason}")
    left = count["new"] + count["begun"]
    print(f"{count['finished']} runs finished, {count['failed']} failed, {left} to do, in {out}")
    if count["failed"]:
        print("failed.json in a run's directory says why; --retry-failed tries again")
    if count["finished"] and "://" not in out:
        _collect(out, Path(out) / "table")
        print(f"'unbraid report {out}' makes a page of it")
    return 1 if count["failed"] or failures else 0


def main_collect(arguments: argparse.Namespace) -> int:
    if "://" in arguments.path and not arguments.to:
        raise UserError("say with --to where the table of runs at a URL is to be written")
    _collect(arguments.path, arguments.to or Path(arguments.path) / "table")
    return 0


def _collect(out: str, to: Path) -> None:
    from unbraid.study.collect import collect, write_table

    table = collect(out)
    files = " and ".join(map(str, write_table(table, to)))
    print(f"{len(table)} values of {table['run'].nunique()} runs: {files}")


def _print_plan(jobs: Sequence[Job], state: dict[str, str], known: dict[str, Cost], pending: Sequence[Job]) -> None:
    """One line for each combination of everything but the seed."""
    from unbraid.study.execute import kind
    from unbraid.study.view import duration

    varying = _varying(jobs)
    columns = ["method", "data", *dict.fromkeys(name for names in varying.values() for name in names)]
    wanted = {job.name for job in pending}
    groups: dict[tuple[str, ...], list[Job]] = {}
    for job in jobs:
        shown = ("method", "data", *varying[job.plan.method, job.plan.data])
        groups.setdefault(tuple(str(job.arguments[c]) if c in shown else "" for c in columns), []).append(job)
    rows = []
    for values, group in groups.items():
        count = Counter(state[job.name] for job in group)
        each = known[kind(group[0].plan)].of(group[0])
        to_do = sum(job.name in wanted for job in group)
        counts = [str(len(group)), str(count["finished"]), str(count["failed"]), str(to_do)]
        rows.append([*values, *counts, "unknown" if each is None else duration(each)])
    more = ["runs", "finished", "failed", "to do", "time of one"]
    print_table("", [*columns, *more], rows, tuple(range(2, len(columns) + len(more))))


def _varying(jobs: Sequence[Job]) -> dict[tuple[str, str], list[str]]:
    """For each method on each data set, the arguments but the seed that take several values there."""
    seen: dict[tuple[str, str], dict[str, set[str]]] = {}
    for job in jobs:
        values = seen.setdefault((job.plan.method, job.plan.data), {})
        for name, value in job.arguments.items():
            values.setdefault(name, set()).add(str(value))
    return {key: [n for n, v in values.items() if len(v) > 1 and n != "seed"] for key, values in seen.items()}


def _print_estimate(pending: Sequence[Job], known: dict[str, Cost], workers: int) -> None:
    from unbraid.study.estimate import total
    from unbraid.study.view import duration

    seconds, strangers = total(pending, known)
    text = f"{len(pending)} runs to do, {sum(job.plan.steps for job in pending):,} steps"
    if strangers < len(pending):
        text += f": {duration(seconds)} of one worker, about {duration(seconds / workers)} with {workers}"
    if strangers:
        text += f"; the time of {strangers} is unknown: --calibrate measures it"
    print(text)
