"""`unbraid export`: the networks of a trained run for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from unbraid.cli.parser import Parser
from unbraid.errors import UserError

DESCRIPTION = (
    "Write the encoder (images in [0, 1], or features, -> codes of each block) and the decoder (the other way) of a "
    "trained run, for batches of any size. Each file is compared with the run's own networks before it is written."
)


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = commands.add_parser(
        "export", help="write the networks of a trained run for other programs", description=DESCRIPTION
    )
    parser.add_argument("run", metavar="RUN", help="a run's directory")
    parser.add_argument("--onnx", type=Path, metavar="DIR", help="write encoder.onnx and decoder.onnx (extra 'onnx')")
    parser.add_argument("--torch", type=Path, metavar="DIR", help="write encoder.pt2 and decoder.pt2, of torch.export")
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")
    parser.add_argument("--trust", action="store_true", help="import code of its own that the run names")
    parser.set_defaults(main=main)


def main(arguments: argparse.Namespace) -> int:
    from unbraid.evaluate import warn_if_unfinished
    from unbraid.export import export
    from unbraid.model import load_run
    from unbraid.train.run import Run

    folders = {kind: getattr(arguments, kind) for kind in ("onnx", "torch") if getattr(arguments, kind)}
    if not folders:
        raise UserError("say what to write and where: --onnx DIR, --torch DIR, or both")
    model = load_run(arguments.run, trust=arguments.trust)
    warn_if_unfinished(Run(arguments.run))
    for kind, folder in folders.items():
        for part, file in export(model, folder, kind, overwrite=arguments.overwrite).items():
            print(f"{part}: {file}")
    if not model.method.has_decoder:
        print("the method of this run has no decoder: only the encoder was written")
    return 0
