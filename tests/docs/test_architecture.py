"""What ARCHITECTURE.md and docs/code.md say of the sources is so: the passes, what a folder includes, what each file is."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
FOLDERS = ("ir", "frontend", "passes", "codegen", "runtime")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+/[^"]+)"', re.M)


def section(title):
    return ARCHITECTURE.split(f"## {title}")[1].split("\n## ")[0]


def sources(*endings):
    return [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in endings]


def test_the_pass_table_is_the_pipeline():
    pipeline = re.findall(r"^PASS\(\s*(\w+),", (ROOT / "passes/lower/pipeline.def").read_text(), re.M)
    assert re.findall(r"^\| `(\w+)` \|", section("Lowering"), re.M) == pipeline


def layers():
    """For each folder, the most special one first: what its files may include, its own apart."""
    rows = re.findall(r"^\| (`.*?) \| .* \| (.*) \|$", section("The way of a program"), re.M)
    rules = {folder: re.findall(r"`([^`]+)`", allowed) for folders, allowed in rows for folder in re.findall(r"`([^`]+)`", folders)}
    return sorted(rules.items(), key=lambda rule: -len(rule[0]))


def test_files_include_what_their_folder_may():
    rules = layers()
    assert len(rules) > 7
    for path in sources(".c", ".h", ".l", ".y", ".def"):
        name = path.relative_to(ROOT).as_posix()
        folder, allowed = next(rule for rule in rules if name.startswith(rule[0]))
        for included in INCLUDE.findall(path.read_text()):
            if (ROOT / included).exists():
                assert included.startswith((folder, *allowed)), f"{name} includes {included}; {folder} may see {allowed or 'nothing'}"


def first_sentence(path):
    """Of the comment at the top of a file, or of its header's where it only points there."""
    comment = re.match(r"/\*(.*?)\*/", path.read_text(), re.S)
    assert comment, f"{path}: no comment says what it is"
    paragraph = re.split(r"\n \*[ ]*\n", comment[1])[0]
    text = re.sub(r"\s+", " ", paragraph.replace("\n *", " ")).strip()
    assert text.startswith(f"{path.name} - "), f"{path}: the comment at the top begins with '{path.name} - '"
    text = re.match(r".*?(?:[.?](?= [A-Z])|$)", text.removeprefix(f"{path.name} - "))[0].rstrip(".:")
    return first_sentence(path.with_suffix(".h")) if text.startswith("see ") else text.replace("|", "\\|")


def test_the_code_map_is_the_code(update):
    document = ROOT / "docs/code.md"
    text = document.read_text()
    listed = re.findall(r"^\| `(\S+)` \|", text, re.M)
    there = {p.relative_to(ROOT).as_posix() for p in sources(".c", ".l", ".y")}
    assert set(listed) == there, f"docs/code.md: give each file a row, and no row to others: {set(listed) ^ there}"
    assert len(listed) == len(there), "docs/code.md has a file twice"
    expected = re.sub(r"^\| `(\S+)` \|.*$", lambda row: f"| `{row[1]}` | {first_sentence(ROOT / row[1])} |", text, flags=re.M)
    if update:
        document.write_text(expected)
    assert update or text == expected, "--update-docs writes docs/code.md anew"


def test_files_and_functions_are_short():
    """At most 800 lines a file and 80 a function (tests may list many cases): beyond that it holds more than one idea."""
    for path in [*sources(".c", ".h"), *sorted((ROOT / "tests").rglob("*.c"))]:
        lines, begin = path.read_text().splitlines(), 0
        assert len(lines) <= 800, f"{path.relative_to(ROOT)} has {len(lines)} lines"
        for number, line in enumerate(lines, 1):
            begin = number if line == "{" else begin
            assert line != "}" or number - begin < 80 or "tests" in path.parts, f"{path.relative_to(ROOT)}:{begin}: {number - begin} lines"


def test_environment_variables_are_documented():
    """Those of tirc's own, in the manual and in --help."""
    read = {name for path in sources(".c") for name in re.findall(r'"(TIRC_[A-Z]+(?:_[A-Z]+)*)"', path.read_text())}
    texts = [(ROOT / "docs/cli.md").read_text(), (ROOT / "frontend/command/options.c").read_text()]
    assert len(read) > 4 and all(name in text for name in read for text in texts), read
