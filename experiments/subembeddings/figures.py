"""Pictures of the experiment on sub-embeddings: InfoMax against InfoMin (Figure 5), and gaps of every run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid.train import history

STRENGTHS = ("control", "InfoMin 0.001", "InfoMin 0.005", "InfoMin 0.1")


def draw(found: Sequence[dict[str, Any]], out: Path) -> list[tuple[str, str]]:
    """Writes the pictures beside the page and gives captions and paths."""
    folder = out / "subembeddings"
    folder.mkdir(parents=True, exist_ok=True)
    first = {r["label"]: Path(r["path"]) for r in found if (r["seed"], r["data"]) == (0, "dc-bc")}
    _curves({label: first[label] for label in STRENGTHS if label in first}, folder / "infomin.png")
    _gaps([r for r in found if r["data"] == "dc-bc" and "probes_z" in r["probes"]], folder / "gaps.png")
    return [
        ("Figure 5: InfoMax (to fall) and InfoMin (to rise) over training, seed 0", "subembeddings/infomin.png"),
        ("Signed gaps z0 - z1 of every run; the diagonal is above left or below right", "subembeddings/gaps.png"),
    ]


def _curves(runs: dict[str, Path], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for place, term in enumerate(("infomax", "infomin"), 1):
        axis = figure.add_subplot(1, 2, place)
        for label, run in runs.items():
            points = [(row["step"], row[term]) for row in history.read(run / "history.csv") if term in row]
            axis.plot(*zip(*points, strict=True), label=label, linewidth=1.2)
        axis.set_title(term, loc="left", fontsize=10)
        axis.set_xlabel("steps")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _gaps(found: Sequence[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.add_subplot()
    points: dict[str, list[tuple[float, float]]] = {}
    for result in found:
        accuracy = result["probes"]["probes_z"]["parts"]["accuracy"]
        digit, background = (100 * (accuracy["z0"][t] - accuracy["z1"][t]) for t in ("digit", "background"))
        points.setdefault(result["label"], []).append((digit, background))
    for place, (label, pairs) in enumerate(points.items()):
        across, up = zip(*pairs, strict=True)
        axis.scatter(across, up, s=22, marker="osD^vPX"[place % 7], label=label)
    axis.axhline(0, color="#c3cad1", linewidth=0.8)
    axis.axvline(0, color="#c3cad1", linewidth=0.8)
    axis.set_xlabel("digit: z0 - z1, points")
    axis.set_ylabel("background: z0 - z1, points")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7, frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
