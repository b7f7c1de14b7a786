"""The pass table of ARCHITECTURE.md names the rows of pipeline.def, in their order."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_pass_table_is_the_pipeline():
    pipeline = re.findall(r"^PASS\((\w+),", (ROOT / "passes/lower/pipeline.def").read_text(), re.M)
    section = (ROOT / "ARCHITECTURE.md").read_text().split("## Lowering")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.M) == pipeline
