from __future__ import annotations

import pytest

from unbraid.train.progress import Stages


def test_stages_name_what_took_longest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 0.0, 1.0, 31.0, 36.0, 36.5])
    monkeypatch.setattr("unbraid.train.progress.time.monotonic", lambda: next(clock))
    with Stages(show=True) as tell:
        for what in ("encoding 10 samples", "scoring mig", "scoring dci", "drawing pictures"):
            tell(what)
    told = capsys.readouterr().err.splitlines()
    assert told == ["scoring dci", "encoded, scored and drawn in 36 s: scoring mig 30 s, scoring dci 5 s"]


def test_stages_are_quiet_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with Stages(show=False) as tell:
        tell("scoring mig")
    assert capsys.readouterr() == ("", "")
