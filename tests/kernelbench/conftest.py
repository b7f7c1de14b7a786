"""The options and the cache are those of ../support/parts.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from parts import *  # noqa: E402, F403
