"""docs/primitives.md is what print_primitives writes; TIRC_UPDATE=1 writes it. Its examples run in test_docs.py.

The examples come from the table, so an `after` that is not true is mended there.
"""

import os
import subprocess

from conftest import ROOT, UPDATE

PAGE = ROOT / "docs" / "primitives.md"


def test_page():
    text = subprocess.run([os.environ["PRINT_PRIMITIVES"]], capture_output=True, check=True).stdout.decode()
    if UPDATE:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, "docs/primitives.md is out of date; TIRC_UPDATE=1 writes it anew"
