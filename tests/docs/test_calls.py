"""How functions are called: few parameters, no bare `true`, and no circles among files."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Its arithmetic is being rewritten; what stands there may only become fewer.
ANALYSIS = "passes/analysis"
FUNCTION = re.compile(r"^[A-Za-z_][\w \*\n]*?\b(\w+)\(((?:[^(){};]|\([^()]*\))*)\)\n\{", re.M)


def code(text):
    """Without comments, and with empty strings; lines stay where they are."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', '""', text)


TEXTS = {
    p.relative_to(ROOT).as_posix(): code(p.read_text())
    for folder in ("ir", "frontend", "passes", "codegen", "runtime")
    for p in sorted((ROOT / folder).rglob("*.[chyl]"))
}


def items(text):
    """What commas separate, outside of parentheses."""
    depth, found = 0, [""]
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [item.strip() for item in found]


def called(text, at):
    """The function whose arguments hold what stands at `at`; "" where it is another parenthesis."""
    depth = 0
    while at > 0 and depth >= 0:
        at -= 1
        depth += (text[at] in ")]}") - (text[at] in "([{")
    name = re.search(r"\w+$", text[max(0, at - 80) : at])
    return name[0] if name and text[at] == "(" else ""


def split(found):
    """Those outside of the analysis, and those in it."""
    inside = [f for f in found if f.startswith(ANALYSIS)]
    return sorted(set(found) - set(inside)), inside


def test_functions_have_few_parameters():
    many = [
        f"{name}: {m[1]}"
        for name, text in TEXTS.items()
        for m in FUNCTION.finditer(text)
        if len([i for i in items(m[2]) if i != "..."]) >= 6
    ]
    outside, inside = split(many)
    assert len(outside) <= 15, outside
    assert len(inside) <= 10, inside


def test_calls_have_no_bare_truth_values():
    found = []
    for name, text in TEXTS.items():
        for m in re.finditer(r"(?<=[(,])\s*(?:true|false)\s*(?=[,)])", text):
            if function := called(text, m.start()):
                line = text.count("\n", 0, m.start()) + 1
                found.append(f"{name}:{line}: {function}")
    assert found == []


# Recursion over the language goes through several files: an expression holds subscripts, which are
# expressions; a statement holds statements, a call of a script a body. The machine asks itself for
# shapes, and runs a producer beside its consumers.
RECURSION = [
    {f"frontend/resolve/{name}.c" for name in ("expr", "index", "tuple_field", "view")},
    {f"frontend/resolve/{name}.c" for name in ("block", "call", "loop", "stmt", "tuple")},
    {f"frontend/script/{name}.c" for name in ("call", "eval", "map", "run", "sizes", "tune")},
    {"codegen/cuda/expr.c", "codegen/cuda/int.c"},
    {"codegen/module/buffer.c", "codegen/module/expr.c"},
    {
        f"runtime/sim/{name}.c"
        for name in (
            "async",
            "cluster",
            "flight",
            "memory",
            "roles",
            "run",
            "shadow",
            "shadow_global",
            "shadow_local",
            "shadow_shared",
            "vm",
        )
    },
]


def call_graph():
    """For each file, the files that define what it names; what is static stays in its file."""
    home, graph = {}, {}
    for name, text in TEXTS.items():
        for m in FUNCTION.finditer(text):
            if name.endswith(".c") and not m[0].startswith("static"):
                home[m[1]] = name
    for name, text in TEXTS.items():
        own = set(re.findall(r"^static [^;{=]*?\b(\w+)\(", text, re.M))
        if name.endswith(".c"):
            graph[name] = {
                home[word] for word in set(re.findall(r"\b\w+\b", text)) - own if word in home
            } - {name}
    return graph


def circles(graph):
    """The sets of files that reach each other."""

    def reached(name):
        seen, todo = set(), [name]
        while todo:
            for other in graph.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return seen

    reach = {name: reached(name) for name in graph}
    return {
        frozenset(other for other in reach[name] if name in reach.get(other, ()))
        for name in graph
        if name in reach[name]
    }


def test_no_circles_among_files():
    found = [
        set(c) for c in circles(call_graph()) if not any(name.startswith(ANALYSIS) for name in c)
    ]
    assert [c for c in found if not any(c <= known for known in RECURSION)] == []
    assert all(any(c <= known for c in found) for known in RECURSION), (
        "a circle is gone: take it out of RECURSION"
    )


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {frozenset("bc")}
