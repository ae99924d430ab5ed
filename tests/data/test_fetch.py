"""Fetching, against a server on this machine that can break off, lie and refuse."""

from __future__ import annotations

import hashlib
import io
import random
import resource
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from unbraid.data.io import fetch
from unbraid.data.io.downloads import Download
from unbraid.data.io.fetch import fetch_file
from unbraid.errors import UserError

CONTENT = bytes(range(256)) * 4000


class Server(ThreadingHTTPServer):
    """Serves `files`; sends at most `limit` bytes an answer, without a word about it; records ranges asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.limit, self.ranges_work, self.fail = 10**9, True, 0
        self.asked: list[tuple[str, str | None]] = []

    def handle_error(self, *_: Any) -> None:
        """The client may hang up, as when its disk is full."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.asked.append((self.path, asked))
        data = self.server.files.get(self.path)
        if data is None or self.server.fail:
            self.send_error(self.server.fail or 404)
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.server.ranges_work else 0
        if start >= len(data) and start:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start : start + self.server.limit])

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path / "root"))
    monkeypatch.setattr(fetch, "WAIT", 0)
    for variable in ("UNBRAID_MIRROR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "root"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def files_in(path: Path) -> list[str]:
    return sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())


def get(download: Download, root: Path) -> tuple[bool, list[tuple[int, int]]]:
    seen: list[tuple[int, int]] = []
    return fetch_file("toy", download, root / "toy", lambda done, total: seen.append((done, total))), seen


@pytest.mark.parametrize("kind", [hashlib.md5, hashlib.sha256])
def test_fetches_once_and_tells_how_far(server: Server, root: Path, kind: Any) -> None:
    server.files["/a.bin"] = CONTENT
    download = Download(f"{server.url}/a.bin", kind(CONTENT).hexdigest())
    new, seen = get(download, root)
    assert new
    assert (root / "toy" / "a.bin").read_bytes() == CONTENT
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert files_in(root) == ["toy/a.bin"]
    assert get(download, root) == (False, [])
    assert len(server.asked) == 1


def test_continues_what_broke_off(server: Server, root: Path) -> None:
    server.files["/a.bin"], server.limit = CONTENT, 300_000
    assert get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)[0]
    assert (root / "toy" / "a.bin").read_bytes() == CONTENT
    starts = [asked for _, asked in server.asked]
    assert starts == [None, "bytes=300000-", "bytes=600000-", "bytes=900000-"]


def test_continues_after_an_earlier_command(server: Server, root: Path) -> None:
    server.files["/a.bin"], server.limit = CONTENT, 0
    part = root / "toy" / ".a.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    download = Download(f"{server.url}/a.bin", sha256(CONTENT))
    with pytest.raises(
        UserError, match=r"a\.bin broke off \(it ended after 1,000 of 1,024,000 bytes\): .* after 1,000 bytes"
    ):
        get(download, root)
    assert part.read_bytes() == CONTENT[:1000]
    server.limit = 10**9
    _, seen = get(download, root)
    assert seen[0] == (1000, len(CONTENT))
    assert server.asked[-1] == ("/a.bin", "bytes=1000-")
    assert (root / "toy" / "a.bin").read_bytes() == CONTENT
    assert not part.exists()


def test_a_part_that_is_already_whole_and_one_that_is_too_long(server: Server, root: Path) -> None:
    server.files["/a.bin"] = CONTENT
    part = root / "toy" / ".a.bin.part"
    for kept in (CONTENT, CONTENT + b"more"):
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(kept)
        assert get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)[0]
        (root / "toy" / "a.bin").unlink()
    assert [asked for _, asked in server.asked] == ["bytes=1024000-", "bytes=1024004-", None]


def test_starts_anew_where_the_server_knows_no_ranges(server: Server, root: Path) -> None:
    server.files["/a.bin"], server.ranges_work = CONTENT, False
    part = root / "toy" / ".a.bin.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"something else")
    get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)
    assert (root / "toy" / "a.bin").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing(server: Server, root: Path) -> None:
    server.files["/a.bin"] = CONTENT
    for wrong in ("0" * 64, "0" * 32):
        with pytest.raises(UserError, match=rf"a\.bin has the checksum [0-9a-f]+ instead of {wrong}: it was discarded"):
            get(Download(f"{server.url}/a.bin", wrong), root)
        assert files_in(root) == []


def test_another_file_under_the_name_is_not_overwritten(server: Server, root: Path) -> None:
    (root / "toy").mkdir(parents=True)
    (root / "toy" / "a.bin").write_bytes(b"mine")
    with pytest.raises(UserError, match=r"a\.bin is not the published file .* remove it"):
        get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)
    assert (root / "toy" / "a.bin").read_bytes() == b"mine"
    assert server.asked == []


def test_refusals_of_the_server(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        UserError, match=r"b\.bin answered 404 .*: put the file into .*toy yourself, or set UNBRAID_MIRROR"
    ):
        get(Download(f"{server.url}/b.bin", sha256(b"")), root)
    assert len(server.asked) == 1
    server.fail = 503
    with pytest.raises(UserError, match=r"b\.bin sends nothing \(503 Service Unavailable\): put the file into"):
        get(Download(f"{server.url}/b.bin", sha256(b"")), root)
    assert len(server.asked) == 1 + fetch.TRIES
    url = server.url
    server.server_close()
    with pytest.raises(UserError, match=r"sends nothing \(.*refused"):
        get(Download(f"{url}/b.bin", sha256(b"")), root)
    assert files_in(root) == []


def test_a_disk_that_cannot_be_written(server: Server, root: Path) -> None:
    server.files["/a.bin"] = CONTENT
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, before[1]))
    try:
        with pytest.raises(UserError, match=r"a\.bin\.part cannot be written: File too large"):
            get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert files_in(root) == ["toy/.a.bin.part"]
    assert get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)[0]
    (root / "file").write_bytes(b"")
    with pytest.raises(UserError, match=r"root/file/toy cannot be written"):
        fetch_file("toy", Download(f"{server.url}/b.bin", ""), root / "file" / "toy", lambda *_: None)


def test_a_disk_that_is_full(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files["/a.bin"] = CONTENT
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(UserError, match=r"toy lacks 1,023,000 bytes of free space"):
        get(Download(f"{server.url}/a.bin", sha256(CONTENT)), root)


def test_a_mirror_has_the_layout_of_the_data_root(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files["/copy/toy/a.bin"] = CONTENT
    monkeypatch.setenv("UNBRAID_MIRROR", f"{server.url}/copy/")
    assert get(Download("https://nowhere.invalid/deep/a.bin", sha256(CONTENT)), root)[0]
    for wrong in ("file:///etc", "ftp://x", "/srv"):
        monkeypatch.setenv("UNBRAID_MIRROR", wrong)
        with pytest.raises(UserError, match=r"UNBRAID_MIRROR is '.*': it must start with http"):
            get(Download("https://nowhere.invalid/b.bin", ""), root)


def test_a_proxy_is_used(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files["http://nowhere.invalid/a.bin"] = CONTENT
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    assert get(Download("http://nowhere.invalid/a.bin", sha256(CONTENT)), root)[0]


def tar(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def test_unpacks_what_is_wanted_of_an_archive(server: Server, root: Path) -> None:
    data = tar({"data/cars/a.mat": b"a", "data/cars/deep/b.mat": CONTENT, "data/other/c": b"c"})
    server.files["/x.tar.gz"] = data
    download = Download(f"{server.url}/x.tar.gz", sha256(data), unpacks="data/cars")
    assert get(download, root)[0]
    assert files_in(root) == ["toy/data/cars/a.mat", "toy/data/cars/deep/b.mat"]
    assert (root / "toy/data/cars/deep/b.mat").read_bytes() == CONTENT
    assert not get(download, root)[0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"../out": b"x"}, r"contains the unsafe path '\.\./out'"),
        ({"in/../../out": b"x"}, "contains the unsafe path"),
        ({"/tmp/out": b"x"}, "contains the unsafe path"),
        ({"in/link": link("in/link", "/etc/passwd")}, "contains 'in/link', which is not a regular file"),
        ({}, "does not contain 'in'"),
    ],
)
def test_archives_that_reach_outside(server: Server, root: Path, bad: dict[str, Any], message: str) -> None:
    data = tar({**({"in/good": b"good"} if bad else {"other": b"x"}), **bad})
    server.files["/x.tgz"] = data
    with pytest.raises(UserError, match=message):
        get(Download(f"{server.url}/x.tgz", sha256(data), unpacks="in"), root)
    assert files_in(root.parent) == ["root/toy/.x.tgz.part"]


def test_a_corrupt_archive(server: Server, root: Path) -> None:
    data = tar({"in/a": random.Random(0).randbytes(10_000)})
    for broken in (data[:2000], b"no archive", b""):
        server.files["/x.tgz"] = broken
        with pytest.raises(UserError, match=r"x\.tgz\.part is corrupt: expected a tar archive"):
            get(Download(f"{server.url}/x.tgz", sha256(broken), unpacks="in"), root)
        assert files_in(root) == ["toy/.x.tgz.part"]
        (root / "toy" / ".x.tgz.part").unlink()
