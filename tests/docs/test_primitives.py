"""docs/primitives.md is what print_primitives writes; --update-docs writes it. Its examples run in
test_docs.py.

The examples come from the table, so an `after` that is not true is mended there.
"""

import os
import subprocess

from conftest import ROOT

PAGE = ROOT / "docs" / "primitives.md"


def test_page(update):
    legality = ROOT / "tests" / "legality"
    refused = [legality / "refused.tir", *sorted(legality.glob("conditions/*.tir"))]
    text = subprocess.run(
        [os.environ["PRINT_PRIMITIVES"], *refused], capture_output=True, check=True
    ).stdout.decode()
    if update:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, (
        "docs/primitives.md is out of date; --update-docs writes it anew"
    )
