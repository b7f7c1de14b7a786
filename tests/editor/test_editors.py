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
        Object.assign(global, { seq: rule, choice: rule, repeat: rule, optional: rule, field: rule,
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


def test_the_tree_sitter_parser(tmp_path):
    """Where the tree-sitter command is there: it parses what tirc ships."""
    command = shutil.which("tree-sitter")
    if not command:
        pytest.skip("there is no tree-sitter command")
    folder = shutil.copytree(GRAMMAR, tmp_path / "grammar")
    subprocess.run([command, "generate"], cwd=folder, check=True, timeout=120)
    files = [p for p in (ROOT / "examples").rglob("*") if p.suffix in (".tir", ".sched")]
    done = subprocess.run(
        [command, "parse", "--quiet", *files], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
