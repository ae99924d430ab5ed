"""The moving picture of the README: for each factor, the latent that knows it best goes up and down.

python docs/moving_picture.py RUN FILE.gif
python docs/moving_picture.py runs/demo/* docs/pictures/moving.gif        (after `make demo`)
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

import unbraid
from unbraid.train.run import Run

SIDE, HEAD, GAP, FRAMES = 120, 22, 6, 32  # pixels of a tile, of its caption and between tiles; pictures in a round
IDLE = 0.5  # nats below which the decoder hardly listens to a latent


def frames(path: Path) -> list[Image.Image]:
    model, codes = unbraid.load_run(path), np.load(path / "codes.npz")
    z = codes["codes_z"]  # [n, k]
    known = np.array(Run(path).scores()["mig"]["parts"]["mutual_information"])  # [k, factors]
    best = np.where(codes["kl_z"][:, None] > IDLE, known, 0).argmax(0)
    some = z[:200].astype(np.float32)
    start = some[np.asarray(model.decode(some)).std((2, 3)).sum(1).argmax()]  # the picture with most contrast
    low, high = np.quantile(z, [0.03, 0.97], axis=0)
    way = (1 - np.cos(2 * np.pi * np.arange(FRAMES) / FRAMES)) / 2  # from 0 to 1 and back
    moved = np.repeat(start[None], FRAMES * len(best), 0).reshape(FRAMES, len(best), -1)
    for tile, latent in enumerate(best):
        moved[:, tile, latent] = low[latent] + way * (high[latent] - low[latent])
    drawn = np.asarray(model.decode(moved.reshape(-1, z.shape[1]).astype(np.float32)))
    tiles = (drawn.reshape(FRAMES, len(best), *drawn.shape[1:]) * 255).round().astype(np.uint8)
    names = [str(name).replace("_", " ") for name in codes["factor_names"]]
    return [_row(row, names) for row in tiles]


def _row(tiles: NDArray[np.uint8], names: list[str]) -> Image.Image:
    sheet = Image.new("RGB", (len(tiles) * (SIDE + GAP) - GAP, HEAD + SIDE), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=14)
    for i, (tile, name) in enumerate(zip(tiles, names, strict=True)):
        left = i * (SIDE + GAP)
        pixels = np.repeat(tile, 3 // len(tile), 0).transpose(1, 2, 0)
        sheet.paste(Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BICUBIC), (left, HEAD))
        pen.text((left + SIDE / 2, HEAD / 2), name, fill="black", font=font, anchor="mm")
    return sheet


def main(run: str, file: str) -> None:
    first, *others = [frame.quantize(96) for frame in frames(Path(run))]
    first.save(file, save_all=True, append_images=others, duration=70, loop=0, optimize=True)
    print(f"{file}: {Path(file).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
