"""Writes the page of all data sets, `docs/data_sets.md`, and draws a contact sheet of each whose files are there.

python -m docs.make_data_page [--text]        (`--text`: the page alone)

Names, factors, sizes and folders are those of the catalogue; what it does not know, licences and sizes of composed
sets, is below.
"""

from __future__ import annotations

import argparse
import io
import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from docs.run_pages import ROOT

PAGE = ROOT / "docs" / "data_sets.md"
PICTURES = ROOT / "docs" / "pictures" / "data"
COLUMNS, COLOURS = 8, 128
OURS = "drawn by this package (MIT)"
MNIST = "MNIST: CC BY-SA 3.0, as Keras reports it"
CIFAR = "CIFAR-10: none stated"
NONE = "none stated; the photographs belong to their owners"
RESEARCH = "for research that is not commercial"
TOP = """# Data sets

Every data set is a table of numbered samples with their factors. `unbraid data list` says which are present,
`unbraid data show NAME` draws one, and `--data NAME` trains on it. [Batches, splits and details](data.md) describes
how batches are drawn, how the composed sets are made and how factors can be correlated; [files](data_files.md)
describes files and folders.

Samples are given as training + test. Sets whose files cannot be shown here have no picture.

This page is written by `python -m docs.make_data_page`.
"""


@dataclass(frozen=True)
class Fact:
    """What the catalogue does not know."""

    licence: str
    images: str  # channels x height x width
    rows: str = ""
    options: tuple[tuple[str, Any], ...] = ()  # with which the contact sheet is drawn


FAMILIES: dict[str, dict[str, Fact]] = {
    "Rendered here": {
        "dsprites": Fact(f"{OURS}; the original: Apache 2.0", "1 x 64 x 64, any `--size`"),
        "color_dsprites": Fact(OURS, "3 x 64 x 64, any `--size`"),
        "noisy_dsprites": Fact(OURS, "3 x 64 x 64, any `--size`"),
        "scream_dsprites": Fact(
            f"{OURS}, on your picture or one of scikit-learn's (CC BY 2.0)", "3 x 64 x 64, any `--size`"
        ),
        "shapes3d": Fact(f"{OURS}; the original: Apache 2.0", "3 x 64 x 64, any `--size`"),
    },
    "Composed of digits and photographs": {
        "cmnist": Fact(MNIST, "3 x 28 x 28", "600,000 + 100,000"),
        "colored_mnist": Fact(MNIST, "3 x 28 x 28", "1,080,000 + 180,000"),
        "rotation_colored_mnist": Fact(MNIST, "3 x 28 x 28", "5,400,000 + 720,000"),
        "mnist_stl10": Fact(
            f"{MNIST}; STL-10: none stated",
            "3 x 64 x 64",
            "100,000 + 10,000",
            (("backgrounds", "cifar10"), ("size", 32)),
        ),
        "grassy_mnist": Fact(
            f"{MNIST}; the picture is yours, or one of scikit-learn's (CC BY 2.0)",
            "1 x 28 x 28",
            "49,860 targets, 4,986 backgrounds",
        ),
        "photo_mnist": Fact(f"{MNIST}; {CIFAR}", "1 x 32 x 32", "10,000 targets, 10,000 backgrounds"),
    },
    "Published files": {
        "mnist": Fact("CC BY-SA 3.0, as Keras reports it", "1 x 28 x 28"),
        "cifar10": Fact("none stated; cite Krizhevsky 2009", "3 x 32 x 32"),
        "stl10": Fact("none stated; from ImageNet, whose photographs belong to their owners", "3 x 96 x 96"),
        "dsprites_npz": Fact("Apache 2.0", "1 x 64 x 64"),
        "shapes3d_h5": Fact("Apache 2.0", "3 x 64 x 64"),
        "mpi3d": Fact("CC BY 4.0", "3 x 64 x 64"),
        "cars3d": Fact("none stated", "3 x 64 x 64"),
        "small_norb": Fact("for research; it cannot be sold", "1 x 64 x 64"),
        "flowers102": Fact(NONE, "3 x 64 x 64"),
        "celeba": Fact(RESEARCH, "3 x 64 x 64"),
        "affectnet": Fact(f"by agreement with its authors, {RESEARCH}", "3 x 64 x 64"),
        "celeba_hats_glasses": Fact(f"CelebA: {RESEARCH}", "3 x 64 x 64", "10,000 targets, 10,000 backgrounds"),
        "affectnet_emotions": Fact(f"AffectNet: by agreement with its authors, {RESEARCH}", "3 x 96 x 96"),
    },
    "Your own": {
        "images": Fact("yours", "any, cut to a square of `--size`"),
        "table": Fact("yours", "any number of features"),
        "two_folders": Fact("yours", "images or features"),
    },
}


def draw() -> None:
    """A contact sheet of each set that can be loaded here."""
    from PIL import Image

    from unbraid import catalogue
    from unbraid.errors import UserError
    from unbraid.figures.data_sheet import contact_sheet

    for name, fact in (item for family in FAMILIES.values() for item in family.items()):
        path = PICTURES / f"{name}.png"
        try:
            table = catalogue.find("data", name).load()(**dict(fact.options))
        except (UserError, TypeError) as error:  # files or arguments are missing
            print(f"{name}: no picture, {error}")
            continue
        contact_sheet(table, path, columns=COLUMNS)
        Image.open(path).quantize(COLOURS).save(path, optimize=True)
        parts = {"rows": len(table), "test": len(table.test or ()), "background": len(table.background or ())}
        print(f"{name}: {path.stat().st_size // 1000} kB, {table.shape}, {parts}")


def page() -> str:
    """The text of the page, which does not depend on which files are there."""
    from unbraid.cli import main

    printed = io.StringIO()
    with redirect_stdout(printed):
        main(["data", "list", "--json"])
    known = {each["name"]: each for each in json.loads(printed.getvalue())}
    parts = [TOP]
    for family, sets in FAMILIES.items():
        parts.append(f"## {family}\n")
        parts += [_section(known[name], fact) for name, fact in sets.items()]
    return "\n".join(parts)


def _section(described: dict[str, Any], fact: Fact) -> str:
    name, factors = described["name"], described["factors"]
    shown = [f"{factor} ({size})" for factor, size in factors.items()]
    listed = ", ".join(shown) if len(shown) <= 8 else f"{', '.join(shown[:4])} and {len(shown) - 4} more"
    rows = fact.rows or described["rows"]
    picture = PICTURES / f"{name}.png"
    lines = [f"### {name}", "", described["summary"], ""]
    if picture.exists():
        lines += [f"![Contact sheet of {name}](pictures/data/{name}.png)", ""]
    told = {"factors (values)": listed, "samples": rows, "size": fact.images, "batches": ", ".join(described["gives"])}
    told |= {"licence": fact.licence, "get it": _get(described)}
    lines += [f"- **{head}**: {text}" for head, text in told.items() if text]
    lines.append("")
    return "\n".join(lines)


def _get(described: dict[str, Any]) -> str:
    from unbraid.data.io.downloads import SOURCES

    if described["needs"]:
        return f"it is yours: {', '.join(f'`--{need}`' for need in described['needs'])}"
    if not described["folders"]:
        return "nothing to get"
    parts = [SOURCES[part] for part in described["folders"]]
    fetched = [f"`unbraid data fetch {described['name']}`"] if all(part.downloads for part in parts) else []
    return "; ".join([*fetched, *(part.by_hand for part in parts if part.by_hand)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", action="store_true", help="do not draw")
    if not parser.parse_args().text:
        draw()
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
