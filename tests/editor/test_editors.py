"""What the tree has for editors: the extension for Visual Studio Code, run in Node with the server
and a stand-in for the editor, and grammars that have the language's words."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

EDITORS = ROOT / "frontend" / "lsp" / "editors"
EXTENSION = EDITORS / "vscode"
GRAMMAR = EDITORS / "tree-sitter-tir"


def node():
    found = shutil.which("node")
    if not found:
        pytest.skip("there is no Node.js")
    return found


def test_the_extension(tmp_path):
    if not os.environ.get("TIRC_LSP"):
        pytest.skip("the language server is not built: there is no jsonrpc-glib")
    shutil.copy(ROOT / "examples" / "matmul" / "matmul.tir", tmp_path)
    (tmp_path / "mine.sched").write_text(
        "// Rows.\nschedule mine for matmul()\n{\n    let [i, j, k] = loops(C);\n"
        "    bind(i, blockIdx.x);\n}\n"
    )
    command = [node(), ROOT / "tests" / "editor" / "vscode.js", EXTENSION, os.environ["TIRC"]]
    done = subprocess.run(
        [*command, tmp_path / "mine.sched"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["first"] == 0 and seen["problem"] is None
    assert seen["program"].startswith("// mine for matmul, before the first step\nkernel matmul<")
    assert "loops(block" in seen["hover"] and {"split", "C", "i"} <= set(seen["labels"])
    assert seen["symbols"] == ["mine"] and seen["tokens"] > 20 and seen["edits"] == 0
    assert seen["definition"].endswith("/matmul.tir") and seen["renamed"] == 2
    assert "did you mean 'loops'?" in seen["error"] and seen["severity"] == 0
    assert seen["actions"] == ["Change to 'loops'"]


def words():
    """The reserved words of the lexer, and those that words.c gives a role."""
    lexer = (ROOT / "frontend" / "syntax" / "lexer.l").read_text()
    roles = (ROOT / "frontend" / "syntax" / "words.c").read_text()
    reserved = re.findall(r'^"([a-z]+)" +(?:return|\{)', lexer, re.M)
    return {*reserved, *re.findall(r'^    \{"([a-z]+)", TOKEN_', roles, re.M)} - {"inf", "nan"}


def test_the_textmate_grammar():
    for path in EXTENSION.rglob("*.json"):
        json.loads(path.read_text())
    grammar = json.loads((EXTENSION / "syntaxes" / "tir.tmLanguage.json").read_text())
    text = json.dumps(grammar["repository"])
    assert len(words()) > 30
    missing = [word for word in words() if not re.search(rf"[(|]{word}[)|]", text)]
    assert not missing
    names = {p["include"][1:] for p in grammar["patterns"]}
    assert names == set(grammar["repository"])


def test_the_tree_sitter_grammar():
    """Each rule that is used is defined, each is used, and every word of the language is there."""
    stand_in = """
        const used = new Set();
        const $ = new Proxy({}, { get: (_, name) => (used.add(name), { name }) });
        const rule = (...parts) => ({ parts });
        Object.assign(global, { seq: rule, choice: rule, repeat: rule, repeat1: rule,
          optional: rule, field: rule,
          token: Object.assign(rule, { immediate: rule }),
          prec: Object.assign((...p) => rule(...p), { left: rule, right: rule }),
          grammar: (g) => g });
        const g = require(process.argv[1]);
        const rules = Object.fromEntries(
          Object.entries(g.rules).map(([name, make]) => [name, make($)]));
        console.log(JSON.stringify({ used: [...used], rules }));
    """
    done = subprocess.run(
        [node(), "-e", stand_in, GRAMMAR / "grammar.js"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    used, defined = set(seen["used"]), set(seen["rules"])
    assert used | {"file", "comment"} >= defined and used <= defined, used ^ defined
    text = json.dumps(seen["rules"])
    assert not [word for word in words() if f'"{word}"' not in text]
    colors = (GRAMMAR / "queries" / "highlights.scm").read_text()
    assert set(re.findall(r"\(([a-z_]+)", colors)) <= defined
    assert not [w for w in re.findall(r'"([a-z]+)"', colors) if f'"{w}"' not in text]


@pytest.fixture(scope="module")
def tree_sitter(tmp_path_factory):
    """Runs the tree-sitter command beside the parser that it makes from the grammar."""
    command = shutil.which("tree-sitter")
    if not command:
        pytest.skip("there is no tree-sitter command (Debian 13: tree-sitter-cli)")
    folder = tmp_path_factory.mktemp("tree-sitter")
    shutil.copytree(GRAMMAR, folder / "grammar")

    def run(*words):
        return subprocess.run(
            [command, *map(str, words)],
            cwd=folder / "grammar",
            env=dict(os.environ, HOME=str(folder)),
            capture_output=True,
            text=True,
            timeout=120,
        )

    made = run("generate")
    assert made.returncode == 0 and "conflict" not in made.stderr, made.stderr
    return run


def texts():
    folders = [ROOT / "examples", ROOT / "frontend" / "library", ROOT / "tests"]
    found = [p for folder in folders for p in folder.rglob("*")]
    return sorted(p for p in found if p.suffix in (".tir", ".sched"))


def test_the_tree_sitter_parser_takes_all_programs_and_schedules(tree_sitter, tmp_path):
    files = texts()
    assert len(files) > 300
    done = tree_sitter("parse", "--quiet", *files)
    assert done.returncode == 0, done.stdout
    (tmp_path / "wrong.tir").write_text("kernel f<N>(x f32[N]) { for i in N x[i] = 1; }\n")
    done = tree_sitter("parse", "--quiet", tmp_path / "wrong.tir")
    assert done.returncode == 1 and "ERROR [0, 12]" in done.stdout


COLORED = """kernel f<N = 8>(inout x: f32[N]) -> y: f32[N] where x[0] is injective
{
    for i in N step 2 @hint(3) {  // evens
        let a = x[i] < 0.5 ? 1 : erf(2);
        S: y[i] max= a;
        barrier "why";
    }
}
schedule s for f(T = 32) { assert T >= 1, "at least 1"; bind(i, threadIdx.x); }
"""
COLORS = {
    "keyword": "kernel inout where is let barrier schedule",
    "keyword.repeat": "for in step",
    "keyword.return": "assert",
    "function": "f s",
    "function.call": "erf bind",
    "type": "f32",
    "variable.parameter": "x y",
    "variable": "i",
    "label": "S",
    "attribute": "@ hint",
    "number": "8 0.5 1 2 3 32",
    "string": '"why" "at least 1"',
    "comment": "// evens",
    "operator": "= -> < ? max= >=",
}


def test_the_tree_sitter_colors(tree_sitter, tmp_path):
    (tmp_path / "colors.tir").write_text(COLORED)
    done = tree_sitter("query", "queries/highlights.scm", tmp_path / "colors.tir")
    assert done.returncode == 0, done.stderr
    found = {}
    for color, text in re.findall(r"capture: \d+ - (\S+), .* text: `(.*)`", done.stdout):
        found.setdefault(color, set()).add(text)
    for color, words in COLORS.items():
        missing = [w for w in re.findall(r'".*?"|//.*|\S+', words) if w not in found[color]]
        assert not missing, (color, missing, found[color])
