"""The language server by the protocol itself: how fast it answers, and texts that are broken."""

import os
import random
import shutil
import subprocess
import time

import pytest
from conftest import ROOT

LARGEST = ROOT / "examples" / "road" / "road_matmul.tir"
BOUND_MS = 500  # ten times what is wanted: other tests run meanwhile, and builds check themselves


def place(uri, line, character, **more):
    return {
        "textDocument": {"uri": uri},
        "position": {"line": line, "character": character},
        **more,
    }


def position_of(text, offset):
    before = text[:offset].split("\n")
    return {"line": len(before) - 1, "character": len(before[-1].encode("utf-16-le")) // 2}


REQUESTS = {
    "textDocument/hover": {},
    "textDocument/definition": {},
    "textDocument/references": {"context": {"includeDeclaration": True}},
    "textDocument/documentHighlight": {},
    "textDocument/prepareRename": {},
    "textDocument/rename": {"newName": "renamed"},
    "textDocument/completion": {},
    "textDocument/documentSymbol": {},
    "textDocument/semanticTokens/full": {},
    "textDocument/formatting": {},
    "tirc/programAfter": {},
}


def test_latency(server):
    """Each request right after a change of the largest example: nothing is known of the text."""
    text, uri = LARGEST.read_text(), LARGEST.as_uri()
    where = position_of(text, text.index("let [", text.index("schedule ")) + 5)
    worst = dict.fromkeys(REQUESTS, 0)
    server.open(uri, text)
    server.diagnostics(uri, 1)
    for number in range(3 * len(REQUESTS)):
        method = list(REQUESTS)[number % len(REQUESTS)]
        server.change(uri, number + 2, [{"text": f"{text}// {number}"}])
        params = place(uri, where["line"], where["character"], **REQUESTS[method])
        begin = time.perf_counter()
        assert server.call(method, params), method
        worst[method] = max(worst[method], 1000 * (time.perf_counter() - begin))
    print({method: f"{ms:.1f} ms" for method, ms in worst.items()})
    assert max(worst.values()) < BOUND_MS, worst


def test_errors_arrive(server):
    """From typing to the error: the wait for more typing, and the compiler's time."""
    uri = LARGEST.as_uri()
    text = LARGEST.read_text()
    server.open(uri, text)
    assert server.diagnostics(uri, 1) == []
    begin = time.perf_counter()
    server.change(uri, 2, [{"text": text.replace("reorder(", "reordr(", 1)}])
    found = server.diagnostics(uri, 2)
    print(f"errors after {1000 * (time.perf_counter() - begin):.0f} ms")
    assert "did you mean 'reorder'?" in found[0]["message"]


def test_notes_and_files(server, tmp_path):
    """Notes are related places; an error in an include is shown at the call."""
    (tmp_path / "copy.tir").write_text(
        "kernel copy<N = 64>(x: f32[N]) -> y: f32[N]\n{\n    for i in N\n        y[i] = x[i];\n}\n"
    )
    (tmp_path / "part.sched").write_text("proc part(loop)\n{\n    bind(loop, threadIdx.q);\n}\n")
    uri = (tmp_path / "use.sched").as_uri()
    text = (
        'include "part.sched";\n\nschedule use for copy()\n{\n'
        "    let [i] = loops(y);\n    part(i);\n}\n"
    )
    server.open(uri, text)
    (error,) = server.diagnostics(uri, 1)
    assert error["range"]["start"]["line"] == 5 and "part.sched, line 3" in error["message"]
    assert error["relatedInformation"][0]["location"]["uri"].endswith("/part.sched")
    hover = server.call("textDocument/hover", place(uri, 5, 5))
    assert "proc part(loop)" in hover["contents"]["value"]
    found = server.call("textDocument/definition", place(uri, 5, 5))
    assert found["uri"].endswith("/part.sched") and found["range"]["start"]["line"] == 0
    # What an editor has of the include counts, not the file.
    server.open((tmp_path / "part.sched").as_uri(), "proc part(loop)\n{\n    unroll(loop);\n}\n")
    server.change(uri, 2, [{"text": text}])
    assert server.diagnostics(uri, 2) == []


@pytest.mark.parametrize(
    "name, why", [("2x", "no name"), ("B", "taken"), ("", "no name"), ("a b", "no name")]
)
def test_refused_renames(server, name, why):
    uri = (ROOT / "examples" / "matmul" / "matmul.tir").as_uri()
    server.open(uri, (ROOT / "examples" / "matmul" / "matmul.tir").read_text())
    assert server.call("textDocument/rename", place(uri, 0, 44, newName=name)) is None, why


def test_edits(server):
    """Random edits of a document: the server has the text that the client has."""
    random.seed(15)
    uri, text = "file:///nowhere/edited.tir", "// \U0001f600\nkernel \u00e9\n"
    server.open(uri, text)
    for version in range(2, 60):
        ends = sorted(random.randrange(len(text) + 1) for _ in range(2))
        new = random.choice(["", "x", "\n", "\U0001f600 ", "// \u2264\n", "kernel k() -> y: f32 {"])
        span = {"start": position_of(text, ends[0]), "end": position_of(text, ends[1])}
        server.change(uri, version, [{"range": span, "text": new}])
        text = text[: ends[0]] + new + text[ends[1] :]
    server.change(
        uri,
        60,
        [{"range": {"start": position_of(text, 0), "end": position_of(text, 0)}, "text": "/*"}],
    )
    last = len(text) + 2
    text = "/*" + text
    span = {"start": position_of(text, last), "end": {"line": 10**6, "character": 10**6}}
    server.change(uri, 61, [{"range": span, "text": "*/ kernel  f() ->y:f32{y=1;}"}])
    (edit,) = server.call("textDocument/formatting", {"textDocument": {"uri": uri}})
    assert edit["newText"].endswith("-> y: f32\n{\n    y = 1;\n}\n")


def mutated(text, random):
    """The text with a few bytes changed, cut off, or repeated."""
    data = bytearray(text.encode())
    for _ in range(random.randrange(1, 12)):
        at = random.randrange(len(data) + 1)
        kind = random.randrange(4)
        if kind == 0:
            data[at:at] = bytes(
                random.choices(b'(){}[]<>;:,.=+-*/"@_ \nax0', k=random.randrange(4))
            )
        elif kind == 1:
            del data[at : at + random.randrange(1, 30)]
        elif kind == 2:
            data[at:at] = data[at : at + random.randrange(60)]
        else:
            del data[at:]
    return data.decode("utf-8", "replace")


def test_broken_texts(server):
    """Whatever the text: every request has an answer, and the server goes on."""
    choice = random.Random(1)
    files = [
        *sorted((ROOT / "examples").glob("*/*.tir")),
        *sorted((ROOT / "examples").glob("*/*.sched")),
        *sorted((ROOT / "tests" / "fuzz" / "programs").glob("*.tir")),
        *sorted((ROOT / "tests" / "golden").glob("*.tir"))[::8],
    ]
    uri = "file:///nowhere/broken.tir"
    server.open(uri, "")
    for version, path in enumerate(files, 2):
        text = mutated(path.read_text(), choice)
        server.change(uri, version, [{"text": text}])
        for method, more in REQUESTS.items():
            where = position_of(text, choice.randrange(len(text) + 1))
            server.call(method, place(uri, where["line"], where["character"] + 1, **more))
    for params in [{}, {"textDocument": 3}, {"textDocument": {"uri": "file:///none"}}, []]:
        for method in REQUESTS:
            assert server.call(method, params) in (None, [])
    server.notify("textDocument/didChange", {"textDocument": {"uri": uri}})
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert server.stop() == 0


def test_no_server(tmp_path):
    """A command without the server beside it says what is missing."""
    alone = shutil.copy(os.environ["TIRC"], tmp_path / "tirc")
    done = subprocess.run(
        [alone, "lsp"], capture_output=True, text=True, env={"PATH": str(tmp_path)}, timeout=10
    )
    assert done.returncode == 3 and "libjsonrpc-glib-1.0-dev" in done.stderr
