"""`unbraid encode` and `unbraid decode`: files of samples to files of codes, and back."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from unbraid.cli.parser import Parser
from unbraid.errors import UserError

if TYPE_CHECKING:
    from unbraid.model import Model

BATCH = 128
ENCODE = (
    "Encode new samples with a trained run. The table has a row for each sample: its name, which is its file or the "
    "number of its row, and a column for each latent. Image files are cropped to a centred square and resized as in "
    "training; arrays must have the size that the run was trained on, unless it was trained on such files itself."
)
DECODE = (
    "Draw codes with the decoder of a trained run. Codes are a table as 'unbraid encode' writes it; other columns are "
    "ignored. Images are named after the samples; features are a table again."
)


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    encode = commands.add_parser("encode", help="encode new samples with a trained run", description=ENCODE)
    encode.add_argument("run", metavar="RUN", help="a run's directory")
    encode.add_argument(
        "path",
        type=Path,
        metavar="PATH",
        help="folder or zip of image files; .npy, .npz or .h5 array; .csv, .tsv, .parquet or .h5ad table of features",
    )
    encode.add_argument("--out", type=Path, required=True, metavar="FILE", help="the codes: .csv, .parquet or .npz")
    encode.add_argument(
        "--color", choices=("as_is", "grey", "rgb"), help="convert image files to grey or rgb (default: as in training)"
    )
    encode.add_argument("--id", metavar="COLUMN", help="column of a table with names of samples (default: row numbers)")
    encode.set_defaults(main=encode_main)
    decode = commands.add_parser("decode", help="draw codes with a trained run", description=DECODE)
    decode.add_argument("run", metavar="RUN", help="a run's directory")
    decode.add_argument("path", type=Path, metavar="CODES", help="the codes: .csv, .tsv, .parquet or .npz")
    decode.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="folder for png files; for a run on features a .csv, .parquet or .npz file",
    )
    decode.set_defaults(main=decode_main)
    for parser in (encode, decode):
        parser.add_argument("--overwrite", action="store_true", help="replace what exists at --out")
        parser.add_argument("--batch", type=int, default=BATCH, help=f"samples at once (default: {BATCH})")
        parser.add_argument("--device", default="cpu", help="cpu, cuda, or any other that torch knows (default: cpu)")
        parser.add_argument("--trust", action="store_true", help="import code of its own that the run names")
        parser.add_argument("--quiet", action="store_true", help="no progress bar")


def encode_main(arguments: argparse.Namespace) -> int:
    from unbraid.encode_files import encode_file

    count = encode_file(
        _model(arguments),
        arguments.path,
        arguments.out,
        color=arguments.color,
        id=arguments.id,
        overwrite=arguments.overwrite,
        show=not arguments.quiet,
    )
    print(f"codes of {count} samples: {arguments.out}")
    return 0


def decode_main(arguments: argparse.Namespace) -> int:
    from unbraid.encode_files import decode_file

    model = _model(arguments)
    count = decode_file(model, arguments.path, arguments.out, overwrite=arguments.overwrite, show=not arguments.quiet)
    print(f"{count} decoded samples: {arguments.out}")
    return 0


def _model(arguments: argparse.Namespace) -> Model:
    from unbraid.evaluate import warn_if_unfinished
    from unbraid.model import load_run
    from unbraid.train.fit import usable_device
    from unbraid.train.run import Run

    if arguments.batch < 1:
        raise UserError(f"at least one sample must be taken at once, not {arguments.batch}")
    device = usable_device(arguments.device)
    model = load_run(arguments.run, trust=arguments.trust).to(device)
    warn_if_unfinished(Run(arguments.run))
    model.batch = arguments.batch
    return model
