"""SIGKILL at random moments of ten methods' runs: training, encoding, scoring, writing the report.

Each run is continued by the same command as often as it is killed, and ends with the files of an undisturbed one.

    python -m torture.kills [--kills N]
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from torture.child import commands, fork, warm
from torture.files import World
from torture.table import Row, keep, timed

DOTS = Path(__file__).with_name("dots.py")
OPTIONS = "--x 4 --y 4 --batch 8 --steps 150 --save-every 0 --points 40 --metrics mig --threads 1 --decay 0.5 --quiet"
METHODS = {  # with what it stands for, and options of its own
    "vae": ("images", "--net dense --width 4"),
    "annealed_vae": ("a schedule", "--net dense --width 4"),
    "factor_vae": ("a critic with an optimiser of its own", "--net dense --width 4 --critic-width 8"),
    "ada_gvae": ("pairs", "--net dense --width 4"),
    "slow_vae": ("transitions", "--net dense --width 4"),
    "uai": ("labels, and two players", "--net dense --width 4"),
    "vfae": ("labels and known nuisances", "--net dense --width 4"),
    "infogan": ("a generator and a discriminator", "--width 4"),
    "sub_infomax": ("views", "--width 4"),
    "salient_vae": ("a target and a background", "--net dense --width 4"),
}


def world_of(method: str, folder: Path) -> World:
    words = f"run {method} --data {DOTS}:Dots {OPTIONS} {METHODS[method][1]}".split()
    return World(method, folder, commands([[*words, "--out", str(folder / "out")]]))


def stage(world: World) -> str:
    """What was under way, by the files that are there."""
    there = {path.name for path in (world.folder / "out").rglob("*")}
    steps = (("scores.json", "the report"), ("codes.npz", "scoring"), ("done", "encoding"), ("state.pt", "training"))
    return next((name for file, name in steps if file in there), "the first steps")


def killed_again_and_again(world: World, kills: int, rng: np.random.Generator) -> tuple[Counter[str], list[str]]:
    """Kills the same run until it has been killed so often: the stages it was killed in, and what went wrong."""
    with timed() as watch:
        plain = fork(world.work)
    if plain.code:
        return Counter(), [f"{world.name} fails without any kill: {plain.errors}"]
    end, wrong, stages = world.state(), [], Counter[str]()
    world.clear()
    while True:
        enough = stages.total() >= kills
        outcome = fork(world.work) if enough else fork(world.work, after=rng.uniform(0, watch.seconds), kill=True)
        if outcome.code < 0:
            stages[stage(world)] += 1
            continue
        if outcome.code:
            wrong.append(f"{world.name} does not continue: {outcome.errors}")
        now = world.state()
        if now != end:
            differ = sorted(name for name in now.keys() | end.keys() if now.get(name) != end.get(name))
            wrong.append(f"{world.name} ends with other files after {stages.total()} kills: {', '.join(differ)}")
        if left := world.leftovers():
            wrong.append(f"{world.name} leaves {', '.join(left)}")
        if enough:
            return stages, wrong
        world.clear()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="over all methods")
    kills = parser.parse_args().kills
    rng, stages, wrong = np.random.default_rng(0), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as place, timed() as watch:
        warm(Path(place) / "warm")
        for method in METHODS:
            folder = Path(place) / method
            folder.mkdir()
            found, bad = killed_again_and_again(world_of(method, folder), max(1, kills // len(METHODS)), rng)
            stages, wrong = stages + found, wrong + bad
            print(method, dict(found), *bad, sep="\n", flush=True)
    said = f"{len(METHODS)} methods; during " + ", ".join(f"{name} {count}" for name, count in stages.most_common())
    total = stages.total()
    keep(
        [Row("kills", "SIGKILL of a run", total, total - len(wrong), f"{said}; files equal bit for bit", watch.seconds)]
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
