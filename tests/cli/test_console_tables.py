"""Tables are printed as they are."""

from __future__ import annotations

import pytest

from unbraid.cli.console_tables import print_table


def test_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["a [red] title", "the [bold] column", "/data/[old]/x", "[/old]", ":smile:"]
    print_table(words[0], [words[1], "other"], [[words[2], words[3]], [words[4], ""]])
    shown = capsys.readouterr().out
    assert [word for word in words if word not in shown] == []
