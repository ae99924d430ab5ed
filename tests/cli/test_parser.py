"""Options of methods and data sets of a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.cli import main

SOURCE = """
from unbraid.data.batch import Images
from unbraid.data.table import Table
from unbraid.methods.contract import Method

class Mine(Method[Images]):
    def __init__(self, spec, *, {argument}: bool = False):
        super().__init__(spec, lr=1e-3)

    def losses(self, batch, step):
        return {{}}

class Dots(Table):
    def __init__(self, *, count: int = 3):
        pass

    def __len__(self):
        return 3

    def images(self, rows):
        return None
"""


@pytest.mark.parametrize(
    ("argument", "sharers"),
    [
        ("batch", "of 'training' and of '{path}:Mine'"),
        ("count", "of 'data set {path}:Dots' and of '{path}:Mine'"),
        ("encoder", "of '{path}:Mine' and of 'networks'"),
    ],
)
def test_two_options_of_one_name_are_one_sentence(
    argument: str, sharers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE.format(argument=argument))
    assert main(["run", f"{path}:Mine", "--data", f"{path}:Dots"]) == 1
    said = f"unbraid: --{argument} is an option {sharers.format(path=path)}: rename that argument of the one"
    assert capsys.readouterr().err.startswith(said)
