#!/bin/sh
# Installs a built archive into an empty environment and uses it, far from the clone.
set -eu
archive=$(realpath "$1")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check -c "$constraints" "$archive"
cd "$place"
"$place/venv/bin/unbraid" run beta_vae --data dsprites --size 32 --width 4 --steps 3 --points 200 --metrics mig --quiet
"$place/venv/bin/unbraid" explore runs/* --no-open --out page.html
"$place/venv/bin/unbraid" report runs/*
"$place/venv/bin/python" - <<'PYTHON'
import pathlib

import numpy as np
import unbraid

package = pathlib.Path(unbraid.__file__).parent
assert package.is_relative_to(pathlib.Path.cwd()), package
assert (package / "py.typed").exists()
(run,) = pathlib.Path("runs").iterdir()
codes = unbraid.load_run(run).transform(np.zeros((2, 32, 32, 1), np.uint8))
assert codes.shape == (2, 10), codes.shape
PYTHON
echo "$(basename "$archive") works"
