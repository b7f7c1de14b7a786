"""What ARCHITECTURE.md and docs/code.md say of the sources is so: the passes, what a folder
includes, what each file is."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
FOLDERS = ("ir", "frontend", "passes", "codegen", "runtime")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+/[^"]+)"', re.M)


def section(title):
    return ARCHITECTURE.split(f"## {title}")[1].split("\n## ")[0]


def sources(*endings):
    return [
        p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in endings
    ]


def test_the_pass_table_is_the_pipeline():
    pipeline = re.findall(
        r"^PASS\(\s*(\w+),", (ROOT / "passes/lower/pipeline.def").read_text(), re.M
    )
    assert re.findall(r"^\| `(\w+)` \|", section("Lowering"), re.M) == pipeline


def layers():
    """For each folder, the most special one first: what its files may include, its own apart."""
    rows = re.findall(r"^\| (`.*?) \| .* \| (.*) \|$", section("The pipeline"), re.M)
    rules = {
        folder: re.findall(r"`([^`]+)`", allowed)
        for folders, allowed in rows
        for folder in re.findall(r"`([^`]+)`", folders)
    }
    return sorted(rules.items(), key=lambda rule: -len(rule[0]))


def test_files_include_what_their_folder_may():
    rules = layers()
    assert len(rules) > 7
    for path in sources(".c", ".h", ".l", ".y", ".def"):
        name = path.relative_to(ROOT).as_posix()
        folder, allowed = next(rule for rule in rules if name.startswith(rule[0]))
        for included in INCLUDE.findall(path.read_text()):
            if (ROOT / included).exists():
                assert included.startswith((folder, *allowed)), (
                    f"{name} includes {included}; {folder} may see {allowed or 'nothing'}"
                )


def rooms():
    """For each folder with rooms, its rooms in their order; "" is the folder itself."""
    rows = re.findall(
        r"^\| `([\w/]+/)` \| ((?:`|the folder's).*) \|$",
        section("The pipeline").split("Large folders")[1],
        re.M,
    )
    return {
        folder: [
            "" if "own" in room else room.strip("` ")
            for room in re.split(r", then |, ", text)
            for room in re.split(r"(?<=/`) ", room)
        ]
        for folder, text in rows
    }


def test_rooms_include_what_stands_before_them():
    order = rooms()
    there = {
        f"{p.parent.relative_to(ROOT).as_posix()}/" for p in sources(".c", ".h", ".l", ".y", ".def")
    }
    assert len(order) > 6 and there <= {
        *order,
        *(folder + room for folder in order for room in order[folder]),
        "codegen/",
    }, there
    for path in sources(".c", ".h", ".l", ".y", ".def"):
        name = path.relative_to(ROOT).as_posix()
        for included in INCLUDE.findall(path.read_text()):
            both = [
                folder
                for folder in order
                if name.startswith(folder) and included.startswith(folder)
            ]
            if both and (ROOT / included).exists():
                folder = max(both, key=len)
                room, other = (
                    next((r for r in order[folder] if r and file.startswith(folder + r)), "")
                    for file in (name, included)
                )
                assert order[folder].index(other) <= order[folder].index(room), (
                    f"{name} includes {included}"
                )


def test_folders_are_small():
    """About 25 files: beyond that nobody finds anything."""
    count = collections.Counter(p.parent for p in sources(".c", ".h", ".l", ".y", ".def"))
    assert max(count.values()) <= 27, count.most_common(3)


def first_sentence(path):
    """Of the comment at the top of a file, or of its header's where it only points there."""
    comment = re.match(r"/\*(.*?)\*/", path.read_text(), re.S)
    assert comment, f"{path}: no comment says what it is"
    paragraph = re.split(r"\n \*[ ]*\n", comment[1])[0]
    text = re.sub(r"\s+", " ", paragraph.replace("\n *", " ")).strip()
    assert text.startswith(f"{path.name} - "), (
        f"{path}: the comment at the top begins with '{path.name} - '"
    )
    text = re.match(r".*?(?:[.?](?= [A-Z])|$)", text.removeprefix(f"{path.name} - "))[0].rstrip(
        ".:"
    )
    return (
        first_sentence(path.with_suffix(".h"))
        if text.startswith("see ")
        else text.replace("|", "\\|")
    )


def test_the_code_map_is_the_code(update):
    document = ROOT / "docs/code.md"
    text = document.read_text()
    listed = re.findall(r"^\| `(\S+)` \|", text, re.M)
    there = {p.relative_to(ROOT).as_posix() for p in sources(".c", ".l", ".y")}
    assert set(listed) == there, (
        f"docs/code.md: give each file a row, and no row to others: {set(listed) ^ there}"
    )
    assert len(listed) == len(there), "docs/code.md has a file twice"
    expected = re.sub(
        r"^\| `(\S+)` \|.*$",
        lambda row: f"| `{row[1]}` | {first_sentence(ROOT / row[1])} |",
        text,
        flags=re.M,
    )
    if update:
        document.write_text(expected)
    assert update or text == expected, "--update-docs writes docs/code.md anew"


def test_files_of_primitives_say_what_is_legal_and_what_stays():
    files = [
        p
        for p in sources(".c")
        if "schedule" in p.parts and re.search(r"^bool prim_", p.read_text(), re.M)
    ]
    assert len(files) > 30
    for path in files:
        comment = path.read_text().split("*/")[0]
        assert "\n * Legal: " in comment and "\n * Invariant: " in comment, (
            f"{path}: the comment at the top has no Legal: and Invariant:"
        )


def test_files_and_functions_are_short():
    """At most 800 lines a file and 80 a function (tests may list many cases): beyond that it holds
    more than one idea."""
    for path in [*sources(".c", ".h"), *sorted((ROOT / "tests").rglob("*.c"))]:
        lines, begin = path.read_text().splitlines(), 0
        assert len(lines) <= 800, f"{path.relative_to(ROOT)} has {len(lines)} lines"
        for number, line in enumerate(lines, 1):
            begin = number if line == "{" else begin
            assert line != "}" or number - begin < 80 or "tests" in path.parts, (
                f"{path.relative_to(ROOT)}:{begin}: {number - begin} lines"
            )


def test_environment_variables_are_documented():
    """Those of tirc's own, in the manual and in --help."""
    read = {
        name
        for path in sources(".c")
        for name in re.findall(r'"(TIRC_[A-Z]+(?:_[A-Z]+)*)"', path.read_text())
    }
    texts = [(ROOT / "docs/cli.md").read_text(), (ROOT / "frontend/command/options.c").read_text()]
    assert len(read) > 4 and all(name in text for name in read for text in texts), read
