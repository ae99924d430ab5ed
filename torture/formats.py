"""A small whole file of each format, and how it is read; and bombs."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
FEATURES = RNG.normal(size=(12, 4)).round(3)
RUN = "run vae --size 8 --net dense --width 2 --latents 3 --batch 4 --steps 2 --points 40 --metrics mig --threads 1"


@dataclass(frozen=True)
class Format:
    """A format that is read: a whole file, and what reads it."""

    name: str
    folder: Path
    file: str
    seed: bytes
    read: Callable[[Path], Any]
    kind: str = "binary"
    open_ended: bool = False  # a part of such a file is a whole file
    slow: bool = False  # each copy takes a process of its own

    @cached_property
    def whole(self) -> Any:
        """What the whole file gives."""
        (self.folder / self.file).write_bytes(self.seed)
        return self.read(self.folder / self.file)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


def all_formats(place: Path) -> Iterator[Format]:
    """One after the other; each has a folder of its own."""
    yield from (make(_folder(place, make.__name__)) for make in FILES)
    yield from _of_a_run(_folder(place, "run"))


def _folder(place: Path, name: str) -> Path:
    (place / name).mkdir(parents=True)
    return place / name


def _images(path: Path) -> Any:
    from unbraid.data.sets.images import Images

    table = Images(path=str(path), size=8)
    rows = np.arange(len(table))
    return {"pixels": table.images(rows), "values": table.values(rows)}


def _table(path: Path) -> Any:
    from unbraid.data.io.table_files import Columns, read_table

    found = read_table(str(path), Columns(label="kind") if path.suffix != ".npz" else Columns())
    return {
        "features": np.asarray(found.features),
        "known": [] if found.known is None else found.known.to_numpy().tolist(),
    }


def npy(folder: Path) -> Format:
    return Format("npy", folder, "x.npy", _saved(PIXELS), _images)


def npz(folder: Path) -> Format:
    return Format("npz", folder, "x.npz", _packed(features=FEATURES, labels=np.arange(12) % 3), _table)


def h5(folder: Path) -> Format:
    import h5py

    from unbraid.sample_files import _array

    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("images", data=PIXELS, chunks=(2, 8, 8, 3), compression="gzip")
    return Format("h5", folder, "x.h5", (folder / "x.h5").read_bytes(), _array)


def idx(folder: Path) -> Format:
    from unbraid.data.io.formats import read_idx

    content = struct.pack(">HBB3I", 0, 8, 3, 6, 8, 8) + PIXELS[..., 0].tobytes()
    return Format("idx", folder, "x.gz", gzip.compress(content), lambda path: read_idx(path, (6, 8, 8)))


def norb(folder: Path) -> Format:
    from unbraid.data.io.formats import read_norb

    content = struct.pack("<Ii3i", 0x1E3D4C55, 3, 6, 8, 8) + PIXELS[..., 0].tobytes()
    return Format("norb", folder, "x.mat", content, lambda path: read_norb(path, (6, 8, 8)))


def mat(folder: Path) -> Format:
    from scipy.io import savemat

    from unbraid.data.io.formats import read_mat

    buffer = io.BytesIO()
    savemat(buffer, {"labels": np.arange(20, dtype=np.uint8)[None]}, do_compression=True)
    return Format("mat", folder, "x.mat", buffer.getvalue(), lambda path: read_mat(path, "labels", (1, 20)))


def png(folder: Path) -> Format:
    return Format("png", folder, "x.png", picture("png"), lambda path: _images(path.parent))


def jpeg(folder: Path) -> Format:
    return Format("jpeg", folder, "x.jpg", picture("jpeg"), lambda path: _images(path.parent))


def zip(folder: Path) -> Format:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("a/1.png", "b/2.png"):
            file.writestr(name, picture("png"))
    return Format("zip", folder, "x.zip", buffer.getvalue(), _images)


def tar(folder: Path) -> Format:
    from unbraid.data.io.fetch import unpack

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name in ("in/1.png", "in/2.png", "out.png"):
            member = tarfile.TarInfo(name)
            member.size = len(picture("png"))
            file.addfile(member, io.BytesIO(picture("png")))
    target = _folder(folder, "target")

    def read(path: Path) -> Any:
        import shutil

        shutil.rmtree(target / "in", ignore_errors=True)
        unpack(path, "in", target)
        return {file.name: np.frombuffer(file.read_bytes(), np.uint8) for file in sorted((target / "in").iterdir())}

    return Format("tar", folder, "x.tar.gz", buffer.getvalue(), read)


def csv(folder: Path) -> Format:
    lines = [",".join([*map(str, row), "ab"[i % 2]]) for i, row in enumerate(FEATURES)]
    content = "\n".join(["a,b,c,d,kind", *lines]) + "\n"
    return Format("csv", folder, "x.csv", content.encode(), _table, "text", open_ended=True)


def parquet(folder: Path) -> Format:
    import pandas as pd

    frame = pd.DataFrame(FEATURES, columns=list("abcd")).assign(kind=["ab"[i % 2] for i in range(12)])
    return Format("parquet", folder, "x.parquet", frame.to_parquet(index=False), _table)


def h5ad(folder: Path) -> Format:
    import h5py

    with h5py.File(folder / "x.h5ad", "w") as file:
        file["X"] = FEATURES
        for group, names in (("obs", [f"cell{i}" for i in range(12)]), ("var", list("abcd"))):
            file.create_group(group)[("_index")] = names
            file[group].attrs["_index"] = "_index"
        kinds = file["obs"].create_group("kind")
        kinds.attrs["encoding-type"] = "categorical"
        kinds["categories"], kinds["codes"] = ["a", "b"], np.arange(12, dtype=np.int8) % 2
    return Format("h5ad", folder, "x.h5ad", (folder / "x.h5ad").read_bytes(), _table, slow=True)


FILES = (npy, npz, h5, idx, norb, mat, png, jpeg, zip, tar, csv, parquet, h5ad)


def _of_a_run(folder: Path) -> Iterator[Format]:
    """The files of a run's directory, each read as the commands for a run read it."""
    from unbraid.cli import main
    from unbraid.study.collect import collect
    from unbraid.train.load import load_method
    from unbraid.train.run import Run

    with redirect_stdout(io.StringIO()):
        if main([*RUN.split(), "--quiet", "--out", str(folder)]):
            raise RuntimeError("a plain run failed")
    (run,) = [path.parent for path in folder.glob("*/run.json")]
    (run / "failed.json").unlink(missing_ok=True)

    def weights(path: Path) -> Any:
        return {name: value.numpy() for name, value in load_method(path.parent).state_dict().items()}

    def state(path: Path) -> Any:
        hidden = run / "weights.hidden"
        (run / "weights.safetensors").rename(hidden)
        try:
            return weights(path)
        finally:
            hidden.rename(run / "weights.safetensors")

    def page(path: Path) -> Any:
        from unbraid.reports.page import report

        report(Run(path.parent))
        return path.name

    def scored(path: Path) -> Any:
        from unbraid.evaluate import score

        if path.name == "codes.npz":
            score(Run(path.parent), metrics=["mcc"])
        return page(path)

    def described(path: Path) -> Any:
        found = weights(path)
        page(path)
        return found

    def table(path: Path) -> Any:
        return collect(path.parent.parent).to_numpy().tolist() != []

    evaluation = {
        "points": 40,
        "bootstrap": 0,
        "metrics": {"mig": {}},
        "quantities": {"elbo": -3.5, "kl": 1.0},
        "measures": {"own": {"part": 1.0}},
        "kind": "vae, dsprites",
        "rate": 10.0,
        "seconds": {"train": 1.0, "evaluate": 2.0},
        "label": "x",
        "host": "here",
    }
    for name, read, kind in (
        ("weights.safetensors", weights, "binary"),
        ("state.pt", state, "binary"),
        ("codes.npz", page, "binary"),
        ("pictures.npz", page, "binary"),
        ("run.json", described, "json"),
        ("scores.json", page, "json"),
        ("history.csv", page, "text"),
    ):
        yield Format(name, run, name, (run / name).read_bytes(), read, kind, open_ended=kind == "text")
    for name in ("codes.npz", "pictures.npz"):
        yield Format(f"arrays in {name}", run, name, (run / name).read_bytes(), scored, "arrays")
    content = json.dumps(evaluation).encode()
    yield Format("evaluation.json", run, "evaluation.json", content, study_of(table, run), "json")


def study_of(table: Callable[[Path], Any], run: Path) -> Callable[[Path], Any]:
    """Reads what a study has left, as `unbraid study --list` and `collect` do."""

    def read(path: Path) -> Any:
        from unbraid.study import Study, product
        from unbraid.study.estimate import costs
        from unbraid.study.execute import states
        from unbraid.study.store import open_store

        jobs = Study(runs=product(method="vae", data="dsprites", size=8, steps=2), metrics=["mig"], points=40).jobs()
        store = open_store(str(run.parent))
        states(store, jobs)
        costs(store, jobs)
        return table(path)

    return read


def _saved(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _packed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def picture(form: str) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(PIXELS[0]).save(buffer, form)
    return buffer.getvalue()


TEN_GB = 10 * 10**9


def bombs(folder: Path) -> dict[str, Callable[[], Any]]:
    """Files that say that they hold 10 GB, or do, and what reads them."""
    from unbraid.data.io.array_files import read_arrays
    from unbraid.sample_files import _array

    def put(name: str, content: bytes) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "|u1", "fortran_order": False, "shape": (TEN_GB // 64, 8, 8)}
    )
    npy_lie = put("lie.npy", header.getvalue() + bytes(100))
    stored = put("lie.npz", _zip_of("images.npy", header.getvalue() + bytes(100)))
    zeros = put("zeros.npz", _bomb("images.npy", header.getvalue(), TEN_GB))
    archive = put("zeros.zip", _bomb("a/1.png", picture("png"), TEN_GB))
    wide = put("wide.png", _wide_png())
    gz = put("zeros.gz", _gz_bomb(struct.pack(">HBB3I", 0, 8, 3, TEN_GB // 64, 8, 8), TEN_GB))
    _lying_h5(folder / "lie.h5")
    from unbraid.data.io.formats import read_idx

    only = _folder(folder, "wide")
    wide.rename(only / "wide.png")
    return {
        "npy header": lambda: _images(npy_lie),
        "npz header": lambda: _images(stored),
        "npz header of a run": lambda: read_arrays(stored),
        "npz of zeros": lambda: _images(zeros),
        "npz of zeros as samples": lambda: _array(zeros),
        "npz of zeros of a run": lambda: read_arrays(zeros),
        "zip of zeros": lambda: _images(archive),
        "png header": lambda: _images(only),
        "gz of zeros": lambda: read_idx(gz, (60_000, 28, 28)),
        "h5 without data": lambda: _array(folder / "lie.h5"),
    }


def _zip_of(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return buffer.getvalue()


def _zeros(start: bytes, size: int, raw: int) -> bytes:
    """A deflate stream of a beginning and so many zeros: one packed block is repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, raw)
    first = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + block * (size >> 24) + packer.compress(bytes(size & ((1 << 24) - 1))) + packer.flush()


def _bomb(name: str, start: bytes, size: int) -> bytes:
    """A zip whose only member unpacks to this many bytes; its checksum is wrong, as it is only seen at the end."""
    data, total, word = _zeros(start, size, -15), len(start) + size, name.encode()
    extra = struct.pack("<HHQQ", 1, 16, total, len(data))
    sizes = struct.pack("<IIIHH", 0, 0xFFFFFFFF, 0xFFFFFFFF, len(word), len(extra))
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 45, 0, 8, 0, 33) + sizes + word + extra + data
    central = b"PK\x01\x02" + struct.pack("<HHHHHH", 45, 45, 0, 8, 0, 33) + sizes + bytes(14) + word + extra
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def _gz_bomb(start: bytes, size: int) -> bytes:
    return b"\x1f\x8b\x08" + bytes(7) + _zeros(start, size, -15) + bytes(8)


def _wide_png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b"")
    )


def _lying_h5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("images", (TEN_GB // 64, 8, 8), "u1", chunks=(1 << 14, 8, 8), compression="gzip")
