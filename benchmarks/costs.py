"""What things cost here, and how that grows: `python benchmarks/costs.py [--page docs/speed.md]`.

Prints tables; with --page they are put into that page, between its marks, and the picture beside it is drawn. Processor
seconds on one thread unless a row says otherwise. Variants take turns and the fastest of their rounds counts, so that
what else the machine does matters little; stop it all the same. Set GOMP_SPINCOUNT=1000000, as `unbraid train` does on
a quiet machine: threads then wait for each other without going to sleep.
"""

from __future__ import annotations

import argparse
import io
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch

from metrics import world  # type: ignore[import-not-found]
from unbraid import build, load_data, machine
from unbraid.data.samplers import sampler
from unbraid.figures.pictures import new_figure
from unbraid.metrics.model.translation import translation
from unbraid.metrics.suite import DEFAULT, score
from unbraid.study import Study, product
from unbraid.study.run import Resources, run_jobs
from unbraid.train.trainer import Trainer

ROUNDS, STEPS = 5, 4
BEGIN, END = "<!-- measured -->", "<!-- end -->"
Points = list[tuple[float, float]]


def processor_seconds(act: Callable[[], Any]) -> float:
    begin = time.process_time()
    act()
    return time.process_time() - begin


def clock_seconds(act: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def in_turns(acts: Sequence[Callable[[], Any]], seconds: Callable[..., float] = processor_seconds) -> list[float]:
    """The least time of each over rounds in which they take turns."""
    return [min(times) for times in zip(*([seconds(act) for act in acts] for _ in range(ROUNDS)), strict=True)]


def step_of(method: str, size: int, batch: int = 64, **arguments: Any) -> Callable[[], None]:
    """A few steps of training, on batches that are drawn before."""
    table = load_data("dsprites", size=size)
    network = build(method, table, seed=0, **arguments)
    trainer, draw = Trainer(network), sampler(table, network.batch_kind, batch=batch, seed=0)
    batches = [draw(step).on("cpu") for step in range(STEPS)]

    def act() -> None:
        for step, images in enumerate(batches):
            trainer.step(images, step)

    act()
    return act


def arithmetic(size: int, width: int, latents: int = 10) -> float:
    """Floating-point operations of a step on 64 images: three times those of the forward pass."""
    network = build("beta_vae", load_data("dsprites", size=size), width=width, latents=latents)
    total = 0

    def count(layer: Any, given: Any, out: Any) -> None:
        nonlocal total
        if isinstance(layer, torch.nn.Linear):
            total += layer.weight.numel() * len(out)
        elif isinstance(layer, torch.nn.ConvTranspose2d):
            total += layer.weight.numel() * given[0][:, 0].numel()
        elif isinstance(layer, torch.nn.Conv2d):
            total += layer.weight.numel() * out[:, 0].numel()

    for layer in network.modules():
        layer.register_forward_hook(count)
    with torch.no_grad():
        network.decoder(network.encoder(torch.rand(64, 1, size, size)).chunk(2, -1)[0])
    return 3 * 2 * total


def training() -> Points:
    print("A step of `beta_vae` on 64 grey images; sgemm is the product of two matrices of 1024 x 1024.\n")
    print("| images | width | GFLOP | one thread: ms | images/s | of sgemm | all cores: ms | images/s | of sgemm |")
    print(f"|---|{'---:|' * 8}")
    matrix = torch.rand(1024, 1024)
    kinds = [(16, 16), (32, 16), (32, 32), (64, 16), (64, 32), (64, 64)]
    acts = [*(step_of("beta_vae", size, width=width) for size, width in kinds), lambda: matrix @ matrix]
    alone = in_turns(acts)
    torch.set_num_threads(machine.cores())
    together = in_turns(acts, clock_seconds)
    torch.set_num_threads(1)
    points: Points = []
    for (size, width), *both in zip(kinds, alone[:-1], together[:-1], strict=True):
        work, told = arithmetic(size, width), ""
        for seconds, gemm in zip(both, (alone[-1], together[-1]), strict=True):
            one = seconds / STEPS
            told += f" {1e3 * one:.1f} | {64 / one:,.0f} | {work / one * gemm / (2 * 1024**3):.0%} |"
        print(f"| {size}x{size} | {width} | {work / 1e9:.2f} |{told}")
        points += [(size, 1e3 * both[0] / STEPS)] if width == 16 else []
    return points


def latents() -> dict[str, Points]:
    print("\nThe same at 32x32, width 16, with more latents: ms of a step.\n")
    counts, methods = (5, 10, 50, 200), ("beta_vae", "beta_tcvae", "dip_vae", "factor_vae")
    print(f"| method | {' | '.join(map(str, counts))} |\n|---|{'---:|' * len(counts)}")
    kinds = [(method, count) for method in methods for count in counts]
    found = in_turns([step_of(method, 32, width=16, latents=count) for method, count in kinds])
    curves: dict[str, Points] = {method: [] for method in methods}
    for (method, count), seconds in zip(kinds, found, strict=True):
        curves[method].append((count, 1e3 * seconds / STEPS))
    for method, points in curves.items():
        print(f"| `{method}` | {' | '.join(f'{ms:.1f}' for _, ms in points)} |")
    return curves


def metrics(sizes: Sequence[int]) -> dict[str, Points]:
    print("\nScores of ten latents against the five factors of dSprites, with intervals and chance levels: seconds.\n")
    curves = {}
    print(f"| metric | {' | '.join(f'{n:,}' for n in sizes)} |\n|---|{'---:|' * len(sizes)}")
    for name in DEFAULT:
        found = [processor_seconds(lambda n=n, m=name: score(*world(n), metrics=[m], jobs=1)) for n in sizes]  # type: ignore[misc]
        curves[name] = list(zip(map(float, sizes), found, strict=True))
        print(f"| `{name}` | {' | '.join(f'{seconds:.2f}' for seconds in found)} |", flush=True)
    return curves


def workers() -> Points:
    print("\nA study of 8 runs (`beta_vae`, 32x32, width 16, 100 steps) by the clock, one thread for each worker.\n")
    print("| workers | seconds |\n|---:|---:|")
    study = Study(
        runs=product(method="beta_vae", data="dsprites", size=32, width=16, steps=100, seed=range(8)),
        metrics=["mig"],
        points=1000,
    )
    points = []
    for count in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            run_jobs(study.jobs(), study.jobs(), folder, title="", resources=Resources(workers=count))
            points.append((float(count), time.monotonic() - begin))
        print(f"| {count} | {points[-1][1]:.1f} |", flush=True)
    return points


def others() -> None:
    print("\n| what | processor seconds |\n|---|---:|")
    first = "import unbraid; unbraid.score_arrays"
    for what, words in ((f"`{first}`", ["-c", first]), ("`unbraid --help`", ["-m", "unbraid", "--help"])):
        print(f"| {what} | {min(child(words) for _ in range(3)):.2f} |")
    codes, factors = world(1_000_000)
    found = processor_seconds(lambda: score(codes, factors, metrics=["mig", "modularity"], jobs=1))
    print(f"| `mig` and `modularity` of 1,000,000 codes | {found:.1f} |")
    table = load_data("dsprites", size=64)
    method, rng = build("beta_vae", table, seed=0), np.random.default_rng(0)
    found = processor_seconds(lambda: translation(method, table, rng, steps=10))
    print(f"| `translation` at 64x64, ten features, 10 steps | {found:.1f} |")
    codes, factors = world(10_000)
    found = clock_seconds(lambda: score(codes, factors))
    print(f"| the default suite on 10,000 codes, all cores: by the clock | {found:.1f} |", flush=True)


def child(words: list[str]) -> float:
    """Processor seconds of a program of Python."""
    before = os.times()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def draw(curves: dict[str, dict[str, Points]], path: str) -> None:
    figure = new_figure(11, 2.9)
    for axes, (what, lines) in zip(figure.subplots(1, len(curves)), curves.items(), strict=True):
        for name, points in lines.items():
            axes.plot(*zip(*points, strict=True), "o-", ms=3, lw=1.2, label=name)
        x, y = what.split(": ")
        axes.set(xlabel=x, title=y, xscale="log", ylim=(0, None))
        marks = sorted({at for points in lines.values() for at, _ in points})
        axes.set_xticks(marks, [f"{mark:,.0f}" for mark in marks])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
        if len(lines) > 1:
            axes.legend(frameon=False, fontsize=7)
    figure.savefig(path, dpi=130)


def measure(sizes: Sequence[int]) -> dict[str, dict[str, Points]]:
    """Prints all tables; gives the curves."""
    versions = f"torch {torch.__version__.partition('+')[0]}, numpy {np.__version__}"
    print(f"{platform.machine()}, {os.cpu_count()} cores, no GPU, {versions}.\n")
    pixels, of_latents = training(), latents()
    scores, of_workers = metrics(sizes), workers()
    others()
    strongest = sorted(scores, key=lambda name: -scores[name][-1][1])[:5]
    return {
        "side of an image in pixels: ms of a step, width 16": {"beta_vae": pixels},
        "latents: ms of a step, 32x32": of_latents,
        "codes: seconds of a score": {name: scores[name] for name in strongest},
        "workers: seconds of 8 runs": {"": of_workers},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="put the tables into this page, and draw its picture")
    parser.add_argument("--sizes", default="1000,3000,10000", help="numbers of codes to score")
    arguments = parser.parse_args()
    machine.prepare_memory()
    torch.set_num_threads(1)
    printed = io.StringIO()
    with redirect_stdout(printed if arguments.page else sys.stdout):
        curves = measure([int(size) for size in arguments.sizes.split(",")])
    if arguments.page:
        before, _, rest = arguments.page.read_text().partition(BEGIN)
        arguments.page.write_text(f"{before}{BEGIN}\n{printed.getvalue()}{END}{rest.partition(END)[2]}")
        draw(curves, str(arguments.page.parent / "pictures" / "costs.png"))


if __name__ == "__main__":
    main()
