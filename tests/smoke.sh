#!/bin/sh
# Installs built archives into an empty environment, one after the other, and uses each, far from the clone.
set -eu
archives=$(realpath "$@")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
cd "$place"
for archive in $archives; do
    "$place/venv/bin/pip" uninstall --quiet --yes unbraid 2> /dev/null || true
    "$place/venv/bin/pip" install --quiet --disable-pip-version-check -c "$constraints" "$archive"
    rm -rf runs
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
done
