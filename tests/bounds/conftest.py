"""Which cases run when: ../support/parts.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from parts import *  # noqa: E402, F403
