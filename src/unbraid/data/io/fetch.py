"""Downloads of original files: resumed after an interruption, verified, and moved into place only when complete."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from unbraid.data.io.downloads import Download
from unbraid.data.io.formats import reading
from unbraid.errors import UserError

CHUNK = 1 << 18
TIMEOUT = 60  # seconds without a byte
TRIES = 5  # consecutive attempts without progress
WAIT = 1.0  # seconds, times the number of failed attempts
OTHERWISE = "put the file into {} yourself, or set UNBRAID_MIRROR"
TAR = "a tar archive"
Progress = Callable[[int, int], None]  # bytes so far, bytes in total (0: unknown)


class Interrupted(Exception):
    """The transfer broke off."""


def fetch_file(name: str, download: Download, folder: Path, progress: Progress) -> bool:
    """Downloads a file, or what it unpacks to, into the folder; False if it was already there.

    Args:
        name: the data set; with UNBRAID_MIRROR set, files come from `<mirror>/<name>/<file>`
    """
    target = folder / (download.unpacks or download.file)
    if target.exists():
        if not download.unpacks and digest(target, download.checksum) != download.checksum:
            raise UserError(f"{target} is not the published file (its checksum differs): remove it and fetch again")
        return False
    part = folder / f".{download.file}.part"
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    _transfer(address(name, download), part, progress)
    if (found := digest(part, download.checksum)) != download.checksum:
        part.unlink()
        raise UserError(
            f"{address(name, download)} has the checksum {found} instead of {download.checksum}: it was discarded"
        )
    with _writing(folder):
        if download.unpacks:
            unpack(part, download.unpacks, folder)
            part.unlink()
        else:
            part.replace(target)
    return True


def address(name: str, download: Download) -> str:
    """The URL of a file."""
    mirror = os.environ.get("UNBRAID_MIRROR", "")
    url = f"{mirror.rstrip('/')}/{name}/{download.file}" if mirror else download.url
    if not url.startswith(("http://", "https://")):
        raise UserError(f"UNBRAID_MIRROR is '{mirror}': it must start with http:// or https://")
    return url


def digest(path: Path, like: str) -> str:
    """A file's md5 or sha256, whichever has as many digits as `like`."""
    with reading(path, "a readable file"), path.open("rb") as file:
        return hashlib.file_digest(file, "md5" if len(like) == 32 else "sha256").hexdigest()


def _transfer(url: str, part: Path, progress: Progress) -> None:
    """Extends a partial file until it is complete, retrying as long as there is progress."""
    most, idle = _size(part), 0
    while (reason := _more(url, part, _size(part), progress)) is not None:
        idle = 0 if _size(part) > most else idle + 1
        most = max(most, _size(part))
        if idle == TRIES:
            if most:
                raise UserError(f"{url} broke off ({reason}): the same command resumes after {_size(part):,} bytes")
            raise UserError(f"{url} sends nothing ({reason}): {OTHERWISE.format(part.parent)}")
        time.sleep(WAIT * idle)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _more(url: str, part: Path, start: int, progress: Progress) -> str | None:
    """One request for the missing bytes; None when the file is complete, else why the transfer broke off."""
    request = urllib.request.Request(url, headers={"User-Agent": "unbraid", "Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        with urllib.request.build_opener().open(
            request, timeout=TIMEOUT
        ) as response:  # with the current proxy settings
            return _receive(response, part, start, progress)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:  # there is nothing after what we have: complete, or a different file
                return _whole_or_restart(error, part, start)
            if error.code in (408, 429) or error.code >= 500:
                return f"{error.code} {error.reason}"
        why = f"{url} answered {error.code} {error.reason}"
        raise UserError(f"{why}: {OTHERWISE.format(part.parent)}") from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, Interrupted) as error:
        return str(getattr(error, "reason", "") or error or type(error).__name__)


def _whole_or_restart(error: urllib.error.HTTPError, part: Path, start: int) -> str | None:
    total = error.headers.get("Content-Range", "").rpartition("/")[2]
    if total == str(start):
        return None
    part.unlink(missing_ok=True)
    return "416 Range Not Satisfiable"


def _receive(response: http.client.HTTPResponse, part: Path, start: int, progress: Progress) -> str | None:
    resumed = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
    if response.status == 206 and not resumed:
        raise UserError(f"{response.url} sent a different part than requested: remove {part} and fetch again")
    have = start if resumed else 0
    length = response.headers.get("Content-Length")
    total = have + int(length) if length and length.isdigit() else 0
    with _writing(part), part.open("ab" if resumed else "wb") as out:
        free = shutil.disk_usage(part.parent).free
        if total and free < total - have:
            raise UserError(f"{part.parent} lacks {total - have - free:,} bytes of free space for the rest of the file")
        progress(have, total)
        while chunk := _read(response):
            out.write(chunk)
            have += len(chunk)
            progress(have, total)
    return None if have == total or not total else f"it ended after {have:,} of {total:,} bytes"


def _read(source: IO[bytes]) -> bytes:
    """The next bytes; a failure here is not mistaken for a failure to write them to disk."""
    try:
        return source.read(CHUNK)
    except OSError as error:
        raise Interrupted(str(error)) from error


class _writing:
    """Reports a full or read-only disk in one sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise UserError(f"{self.path} cannot be written: {error.strerror or error}") from error


def unpack(archive: Path, inside: str, folder: Path) -> None:
    """Files of a tar archive below the path `inside`, moved to the same path in the folder once all are unpacked."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".unpack-") as name:
        space = Path(name)
        try:
            with reading(archive, TAR), tarfile.open(archive) as tar:
                for member in tar:
                    if _wanted(archive, member, inside):
                        _extract(tar, member, space / member.name, folder)
        except (tarfile.TarError, Interrupted) as error:
            raise UserError(f"{archive} is corrupt: expected {TAR}") from error
        if not (space / inside).exists():
            raise UserError(f"{archive} does not contain '{inside}'")
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        (space / inside).replace(folder / inside)


def _wanted(archive: Path, member: tarfile.TarInfo, inside: str) -> bool:
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise UserError(f"{archive} contains the unsafe path '{member.name}' and was not unpacked")
    if not path.is_relative_to(inside) or member.isdir():
        return False
    if not member.isfile():
        raise UserError(f"{archive} contains '{member.name}', which is not a regular file, and was not unpacked")
    return True


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path, folder: Path) -> None:
    with _writing(folder):
        if (free := shutil.disk_usage(folder).free) < member.size:
            raise UserError(f"{folder} lacks {member.size - free:,} bytes of free space for '{member.name}'")
        path.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(member)
    assert content is not None
    with content, _writing(folder), path.open("wb") as out:
        while chunk := _read(content):
            out.write(chunk)
