"""The page of data sets is what the script writes today, and names every set of the catalogue once."""

from __future__ import annotations

import re

from docs.make_data_page import FAMILIES, PAGE, PICTURES, page

from unbraid import catalogue


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "python -m docs.make_data_page --text"


def test_every_set_is_there_once_with_what_one_needs_to_know() -> None:
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    assert sorted(section.partition("\n")[0] for section in sections) == sorted(catalogue.entries("data"))
    for section in sections:
        assert all(f"- **{head}**: " in section for head in ("size", "batches", "licence", "get it")), section
    known = {name: fact for family in FAMILIES.values() for name, fact in family.items()}
    for entry in catalogue.entries("data").values():
        sizes = [argument.default for argument in entry.arguments if argument.name == "size"]
        shown = re.findall(r"\d+ x (\d+) x \d+", known[entry.name].images)
        assert not (sizes and shown) or sizes == [int(shown[0])], entry.name


def test_sets_that_need_no_file_have_a_contact_sheet() -> None:
    drawn = {path.stem for path in PICTURES.glob("*.png")}
    assert drawn >= FAMILIES["Rendered here"].keys() | FAMILIES["Composed of digits and photographs"].keys()
    assert all(path.stat().st_size < 200_000 for path in PICTURES.glob("*.png"))
