"""Annotations mean the same as text and as objects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from unbraid import load_data
from unbraid.config import AtLeast, FilePath, Rate, Share, Size, Within, arguments_of
from unbraid.errors import UserError

KINDS: list[tuple[Any, str]] = [
    (int, "int"),
    (float | None, "float | None"),
    (Size, "Size"),
    (Rate, "Rate"),
    (Share, "Share"),
    (FilePath, "FilePath"),
    (Literal["a", "b"], "Literal['a', 'b']"),
    (Annotated[int, Within(1, 178)], "Annotated[int, Within(1, 178)]"),
    (Annotated[float, AtLeast(2)], "Annotated[float, AtLeast(2)]"),
]


@pytest.mark.parametrize(("annotation", "text"), KINDS, ids=[text for _, text in KINDS])
def test_an_annotation_that_is_an_object_is_read_like_its_text(annotation: Any, text: str) -> None:
    def function(*, x: Any = 1) -> None: ...

    function.__annotations__["x"] = annotation
    (argument,) = arguments_of(function)
    assert argument.annotation == text


def test_its_limits_hold() -> None:
    def function(*, x: Any = 1) -> None: ...

    function.__annotations__["x"] = Annotated[int, Within(1, 178)]
    with pytest.raises(UserError, match="x of f must be from 1 to 178, not 200"):
        arguments_of(function)[0].check(200, "f")


def test_what_is_required_cannot_be_none() -> None:
    with pytest.raises(UserError, match="path of images must be given: folder, zip file"):
        load_data("images", path=None)


def test_without_an_annotation_the_default_says_what_it_is() -> None:
    def function(*, width=5, share=0.5, flag=True, name="a", sizes=(3, 4), needed, rest=None): ...  # type: ignore[no-untyped-def]

    kinds = {argument.name: argument.annotation for argument in arguments_of(function)}
    plain = {"width": "int", "share": "float", "flag": "bool", "name": "str"}
    assert kinds == plain | dict.fromkeys(("sizes", "needed", "rest"), "Any")
    for argument in arguments_of(function)[-3:]:
        assert argument.converted([1, 2], "f") == [1, 2] and argument.converted("x", "f") == "x"
