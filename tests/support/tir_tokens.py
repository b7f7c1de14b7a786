"""The tokens and operators of .tir text, as docs/language.md describes them, for tests that read it
without tirc. C has the same binary operators."""

import re

TOKEN = re.compile(
    r"""
      (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    | (?P<float>(?:\d+\.(?!\.)\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)
    | (?P<int>0[xX][0-9a-fA-F]+|\d+)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<op>&&=|\|\|=|<<|>>|\.\.|->|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|&=|\|=|\^=
         | [-+*/%&|^~!<>=?:;,.()\[\]{}@])
""",
    re.X | re.S,
)
STORE_OPS = frozenset(("=", "+=", "-=", "*=", "/=", "&=", "|=", "^=", "&&=", "||="))
# Binary operators from weak to strong.
LEVELS = [
    ["||"],
    ["&&"],
    ["|"],
    ["^"],
    ["&"],
    ["==", "!="],
    ["<", "<=", ">", ">="],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
]


class TirError(Exception):
    pass


def tokens(text):
    """(kind, text) of each; those of `min=`, `max=` and `async=` are two."""
    out, at = [], 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise TirError(f"unexpected {text[at : at + 20]!r}")
        at = found.end()
        if found.lastgroup != "skip":
            out.append((found.lastgroup, found.group()))
    return out
