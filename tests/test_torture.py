"""Short forms of `make torture`, and what it found."""

from __future__ import annotations

import errno
import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

if sys.platform != "linux":
    pytest.skip("asks Linux for memory, children and mounts", allow_module_level=True)

from torture import bad_files, files, formats, kills, load, mutations, odd_numbers, table
from torture.child import fork
from torture.faults import Faults, faulty

from tests.study.test_execute import do, one
from tests.toys import Squares
from unbraid import build, evaluate, fit, load_data, represent
from unbraid.codes import read_codes
from unbraid.data.io import h5ad_files
from unbraid.errors import UserError
from unbraid.metrics.suite import score
from unbraid.study.execute import states
from unbraid.study.store import Folder
from unbraid.train import run as runs
from unbraid.train.run import Run

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    method = build("vae", Squares(), net="dense", width=4)
    run = fit(method, Squares(), steps=3, batch=4, out=str(tmp_path_factory.mktemp("runs")), show=False)
    represent(run, method, Squares(), points=60)
    return run


# faults of files


def test_some_faults_of_a_run_are_survived(tmp_path: Path) -> None:
    count, wrong = files.every_fault(files.images(tmp_path), every=40, first=7)
    assert count > 3
    assert not wrong


def test_some_faults_of_tables_are_survived(tmp_path: Path) -> None:
    count, wrong = files.every_fault(files.tables(tmp_path), every=60)
    assert count > 2
    assert not wrong


def test_a_file_that_is_written_in_place_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless() -> int:
        place = tmp_path / "out" / "file"
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.write_bytes(b"whole")
        except OSError as error:
            print(f"unbraid: {error}", file=sys.stderr)
            return 1
        return 0

    count, wrong = files.every_fault(files.World("careless", tmp_path, careless))
    assert count > len(wrong) > 0
    assert any("is torn" in line for line in wrong)


def test_each_operation_is_counted_and_the_chosen_one_fails(tmp_path: Path) -> None:
    with faulty(Faults([tmp_path])) as faults:
        runs.write(tmp_path / "file", b"content")
        assert (tmp_path / "file").read_bytes() == b"content"
    assert [kind for kind, _ in faults.seen][:4] == ["create", "write", "fsync", "replace"]
    assert {kind for kind, _ in faults.seen[4:]} == {"open", "read"}
    for at, error in enumerate((errno.ENOSPC, errno.EIO, errno.EIO, errno.EACCES)):
        with faulty(Faults([tmp_path], at, error)), pytest.raises(UserError, match="cannot write"):
            runs.write(tmp_path / "file", b"other")
        assert (tmp_path / "file").read_bytes() == b"content"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk(tmp_path: Path) -> None:
    said = files.full_disk(tmp_path)
    if said.startswith("skipped"):
        pytest.skip(said)
    assert not said


def test_the_last_rows_of_the_history_are_written_though_the_disk_was_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train: Any = sys.modules["unbraid.train.fit"]

    def go() -> Run:
        method = build("vae", Squares(), net="dense", width=4)
        return fit(method, Squares(), steps=55, batch=4, out=str(tmp_path), show=False)

    real = train.write

    def full(path: Path, data: bytes) -> None:
        if path.name == "history.csv":
            raise UserError("cannot write history.csv")
        real(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(train, "write", full)
        with pytest.raises(UserError):
            go()
    assert (go().path / "history.csv").read_text().splitlines()[-1].startswith("55,")


def test_scores_of_other_codes_do_not_stay_when_encoding_is_killed(
    trained: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = build("vae", Squares(), net="dense", width=4)
    trained.write_json("scores.json", {})
    real = evaluate.represent

    def killed(*given: Any, **named: Any) -> None:
        real(*given, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluate, "represent", killed)
    with pytest.raises(KeyboardInterrupt):
        evaluate.complete(trained, lambda: (method, Squares()), 70)
    assert not (trained.path / "scores.json").exists()
    assert len(read_codes(trained)) == 70


def test_scores_that_cannot_be_written_are_no_note_but_an_error(trained: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (trained.path / "scores.json").unlink(missing_ok=True)
    method = build("vae", Squares(), net="dense", width=4)
    monkeypatch.setattr(evaluate, "all_scores", lambda *given, **named: {})
    monkeypatch.setattr(Run, "write_json", _no_space)
    with pytest.raises(UserError, match="No space left"):
        evaluate.complete(trained, lambda: (method, Squares()), None)


def _no_space(self: Run, name: str, content: Any) -> None:
    raise UserError("cannot write: No space left") from OSError(errno.ENOSPC, "No space left")


def test_a_run_of_a_study_that_met_a_full_disk_is_not_failed_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = one(["mig"])
    with monkeypatch.context() as patch:
        patch.setattr(Run, "write_json", _no_space)
        assert "No space left" in str(do(job, str(tmp_path))["reason"])
    assert states(Folder(tmp_path), [job]) == {job.name: "begun"}
    assert do(job, str(tmp_path))["status"] == "finished"


def test_what_a_killed_process_left_of_its_writing_is_removed(trained: Run) -> None:
    ended = fork(lambda: 0)
    assert ended.code == 0
    torn, other = trained.path / ".state.pt.999999999", trained.path / ".state.pt.1"
    for path in (torn, other):
        path.touch()
    with trained.lock():
        assert not torn.exists()
        assert other.exists()  # process 1 runs
    other.unlink()


# kills


def test_a_run_killed_at_random_moments_ends_with_the_same_files(tmp_path: Path) -> None:
    stages, wrong = kills.killed_again_and_again(kills.world_of("factor_vae", tmp_path), 3, np.random.default_rng(0))
    assert stages.total() >= 3
    assert not wrong


# damaged files


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> dict[str, formats.Format]:
    return {format.name: format for format in formats.all_formats(tmp_path_factory.mktemp("formats"))}


NAMES = [make.__name__ for make in formats.FILES]
NAMES += ["weights.safetensors", "state.pt", "codes.npz", "pictures.npz", "run.json", "scores.json", "history.csv"]
NAMES += ["arrays in codes.npz", "arrays in pictures.npz", "evaluation.json"]


@pytest.mark.parametrize("name", NAMES)
def test_damaged_copies_are_refused_or_whole(
    name: str, some: dict[str, formats.Format], monkeypatch: pytest.MonkeyPatch
) -> None:
    format = some[name]
    monkeypatch.setattr(h5ad_files, "SECONDS", 5.0)
    first, last = (10, 20) if format.slow else (0, 40)  # copy 14 of h5ad keeps the HDF5 library busy for ever
    assert not bad_files.attack(format, last, format.folder, first)


def test_all_formats_are_tried(some: dict[str, formats.Format]) -> None:
    assert set(NAMES) == some.keys()


def test_a_reader_that_fails_otherwise_would_be_noticed(tmp_path: Path) -> None:
    def read(path: Path) -> Any:
        content = path.read_bytes()
        if len(content) < 20:
            raise KeyError("a bug")
        return len(content)

    careless = formats.Format("careless", tmp_path, "x", bytes(range(40)), read)
    wrong = bad_files.attack(careless, 60, tmp_path)
    assert any("KeyError" in line for line in wrong)
    assert any("as if it were whole" in line for line in wrong)
    greedy = formats.Format("greedy", tmp_path, "x", bytes(40), lambda path: bytes(2 * bad_files.MEMORY))
    monster = bad_files._some(greedy, 0, 1, tmp_path, found := list[str]())
    assert monster == 1
    assert "more than 200 MB" in found[0]


def test_a_process_that_dies_or_hangs_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import signal
    import time

    monkeypatch.setattr(bad_files, "SECONDS", 0.5)
    dead = formats.Format("dead", tmp_path, "x", bytes(40), lambda path: os.kill(os.getpid(), signal.SIGKILL))
    hangs = formats.Format("hangs", tmp_path, "x", bytes(40), lambda path: time.sleep(60))
    found = list[str]()
    for format in (dead, hangs):
        assert bad_files._some(format, 0, 1, tmp_path, found) == 1
    assert "the process died" in found[0]
    assert "took more than" in found[1]


def test_mutations_repeat_and_differ() -> None:
    seed = json.dumps({"a": [1, 2, {"b": "c"}], "d": 1.5}).encode()
    for kind in ("binary", "text", "json"):
        found = [mutations.mutated(seed, np.random.default_rng(i), kind) for i in range(50)]
        assert found == [mutations.mutated(seed, np.random.default_rng(i), kind) for i in range(50)]
        assert len({content for _, content in found}) > 40
        assert len({how for how, _ in found}) >= 4


def test_a_parquet_file_that_claims_more_rows_is_refused(tmp_path: Path) -> None:
    from unbraid.data.io.column_files import Source, gathered

    source = Source(["a"], ["a"], 5, lambda _: np.float64, lambda _: None, lambda _: [np.zeros((3, 1))])
    with pytest.raises(UserError, match="has 3 rows and says that there are 5"):
        gathered(tmp_path / "x.parquet", source, ["a"])


# numbers


CASES = {what: (codes, factors) for what, codes, factors in odd_numbers.cases()}


@pytest.mark.parametrize("case", CASES)
def test_odd_numbers_in_quick_metrics(case: str) -> None:
    for name in ("mig", "modularity", "mcc", "gaussian_total_correlation", "irs", "sap"):
        assert not odd_numbers.wrong_score(odd_numbers.metrics()[name], *CASES[case]), name


@pytest.mark.parametrize("name", odd_numbers.metrics())
def test_few_rows_in_every_metric(name: str) -> None:
    for case in ("1 rows", "2 rows", "3 rows", "all latents dead"):
        assert not odd_numbers.wrong_score(odd_numbers.metrics()[name], *CASES[case]), case


@pytest.mark.parametrize("name", ["mig", "modularity", "mcc", "gaussian_total_correlation"])
def test_names_of_labels_precision_and_scale_change_no_score(name: str) -> None:
    assert not list(odd_numbers.wrong_numbers(name, odd_numbers.metrics()[name]))


def test_labels_of_1e300_are_labels() -> None:
    codes, factors = odd_numbers.plain()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd = score(codes, (factors + 1) * 1e300, metrics=["mig"], bootstrap=0, chance=False)["mig"]
    assert odd.value == score(codes, factors, metrics=["mig"], bootstrap=0, chance=False)["mig"].value


@pytest.mark.parametrize("method", ["vae", "salient_vae", "cpca"])
def test_odd_data_in_a_fit(method: str) -> None:
    for what, make in odd_numbers.tables():
        assert not odd_numbers.wrong_fit(method, make), what


def test_a_name_with_an_end_of_line_is_one_sentence(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a\nb\x1b[31m.png", b"no picture")
    with pytest.raises(UserError, match=r"a b\ufffd\[31m\.png in .*x\.zip") as error:
        load_data("images", path=str(tmp_path / "x.zip"))
    assert str(error.value).isprintable()


def test_text_of_a_parquet_file_that_is_no_text(tmp_path: Path) -> None:
    words = [pa.py_buffer(content) for content in (np.array([0, 1, 2], np.int32).tobytes(), b"a\xff")]
    kind = pa.StringArray.from_buffers(2, *words)
    parquet.write_table(pa.table({"x": [1.0, 2.0], "kind": kind}), tmp_path / "x.parquet")
    with pytest.raises(UserError, match=r"x\.parquet is corrupt: expected a parquet file"):
        load_data("table", path=str(tmp_path / "x.parquet"), label="kind")


def test_codes_that_cannot_be_read_give_no_report_without_scores(trained: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(run: Run) -> None:
        raise runs.Damaged("codes.npz is no zip file")

    read = [read_codes, broken]  # at first to see what is there, then to score it
    monkeypatch.setattr("unbraid.evaluate.read_codes", lambda run: read.pop(0)(run))
    with pytest.raises(UserError, match="no zip file"):
        evaluate.complete(trained, lambda: (build("vae", Squares()), Squares()), None)


# load, and the table


@pytest.mark.parametrize("part", ["rows", "images"])
def test_many_rows_and_images_in_small(part: str) -> None:
    row = load.measured(part, 0.001)
    assert row.good, row.said
    assert "MB in a process" in row.said


def test_the_table_keeps_one_line_for_each_thing_and_goes_into_the_page(tmp_path: Path) -> None:
    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    old, new = (table.Row("files", "fault", 3, n, "more", 1.0) for n in (1, 3))
    other = table.Row("files", "full disk", 1, 1, "more", 1.0)
    table.keep([old, other], kept)
    table.keep([new], kept)
    assert table.kept(kept) == [other, new]
    assert new.good and not old.good
    page.write_text(f"above\n{table.BEGIN}\nold\n{table.END}\nbelow\n")
    for _ in range(2):
        table.write_page([new], page)
    text = page.read_text()
    assert text.count("| fault | 3 | 3 | 1 | more |") == text.count("`python -m torture.files`") == 1
    assert text.startswith("above\n") and text.endswith("below\n") and "old" not in text
