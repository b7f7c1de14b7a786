"""How functions are called: few parameters, no bare `true`, and no circles among files."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A truth value as a value, and a builtin of the compiler.
TRUTH_IS_MEANT = ("expr_bool", "__atomic_compare_exchange")
# Its arithmetic is being rewritten; what stands there may only become fewer.
ANALYSIS = "passes/analysis"
FUNCTION = re.compile(r"^[A-Za-z_][\w \*\n]*?\b(\w+)\(((?:[^(){};]|\([^()]*\))*)\)\n\{", re.M)


def code(text):
    """Without comments, and with empty strings; lines stay where they are."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', '""', text)


TEXTS = {p.relative_to(ROOT).as_posix(): code(p.read_text())
         for folder in ("ir", "frontend", "passes", "codegen", "runtime") for p in sorted((ROOT / folder).rglob("*.[chyl]"))}


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


def arguments(text, begin):
    """Of the call whose parenthesis opens before `begin`."""
    depth, end = 1, begin
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return items(text[begin:end - 1])


def split(found):
    """Those outside of the analysis, and those in it."""
    inside = [f for f in found if f.startswith(ANALYSIS)]
    return sorted(set(found) - set(inside)), inside


def test_functions_have_few_parameters():
    many = [f"{name}: {m[1]}" for name, text in TEXTS.items() for m in FUNCTION.finditer(text) if len([i for i in items(m[2]) if i != "..."]) >= 6]
    outside, inside = split(many)
    assert len(outside) <= 60, outside
    assert len(inside) <= 45, inside


def test_calls_have_no_bare_truth_values():
    found = [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m[1]}" for name, text in TEXTS.items()
             for m in re.finditer(r"\b([a-z_]\w*)\(", text)
             if m[1] not in TRUTH_IS_MEANT and {"true", "false"} & set(arguments(text, m.end()))]
    outside, inside = split(found)
    assert [f for f in outside if not f.endswith(": poly_assume")] == []
    assert len(inside) <= 100, len(inside)
