"""Pictures of the experiment on sub-embeddings: InfoMax against InfoMin (Figure 5), and gaps of every run."""

from __future__ import annotations

from pathlib import Path

from unbraid.figures.pictures import new_figure
from unbraid.study.reproduce import Results
from unbraid.train import history

from .scores import TASKS, Scores, known
from .study import MAIN_SEEDS

STRENGTHS = ("control", "InfoMin 0.001", "InfoMin 0.1", "InfoMin 0.1 at once")
SHOWN = ("control", "one head", "InfoMin 0.1", "Ortho 0.1", "P-Ortho 0.1", "Hess 0.1", "Ortho + Hess 0.1")


def draw(r: Results, folder: Path) -> list[tuple[str, str]]:
    """Writes the pictures into a folder beside the page and gives captions and paths."""
    first = {result.label: result.path for result in r.done.where(seed=MAIN_SEEDS[0], variant="dc-bc")}
    _curves({label: first[label] for label in STRENGTHS if label in first}, folder / "infomin.png")
    _gaps(Scores(r), folder / "gaps.png")
    return [
        ("Figure 5: InfoMax (to fall) and InfoMin (to rise) over training, one seed", f"{folder.name}/infomin.png"),
        ("Signed gaps z0 - z1 of every run; the diagonal is above left or below right", f"{folder.name}/gaps.png"),
    ]


def _curves(runs: dict[str, Path], path: Path) -> None:
    figure = new_figure(8, 3.2)
    for place, term in enumerate(("infomax", "infomin"), 1):
        axis = figure.add_subplot(1, 2, place)
        for label, run in runs.items():
            points = [(row["step"], row[term]) for row in history.read(run / "history.csv") if term in row]
            axis.plot(*zip(*points, strict=True), label=label, linewidth=1.2)
        axis.set_title(term, loc="left", fontsize=10)
        axis.set_xlabel("steps")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _gaps(s: Scores, path: Path) -> None:
    figure = new_figure(6.4, 4.2)
    axis = figure.add_subplot()
    for marker, label in zip("osD^vPX", SHOWN, strict=True):
        across, up = (known(s.signed_gap(label, task)) for task in TASKS["dc-bc"])
        axis.scatter(across, up, s=22, marker=marker, label=label)
    axis.axhline(0, color="#c3cad1", linewidth=0.8)
    axis.axvline(0, color="#c3cad1", linewidth=0.8)
    axis.set_xlabel("digit: z0 - z1, points")
    axis.set_ylabel("background: z0 - z1, points")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7, frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
