"""`python -m unbraid` is the command line."""

from __future__ import annotations

import sys

from unbraid.cli import main

sys.exit(main())
