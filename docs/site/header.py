"""Reads tirc.h for the page of the C API: prepares its comments for hawkmoth, and lists what each
section of the header declares.

hawkmoth documents what follows a comment that begins with /**, and reads it as reStructuredText;
the comments of tirc.h are plain text, with `code` in backquotes."""

import re

SECTION = re.compile(r"^/\* ---- (.+?) -+ \*/\n", re.M)
COMMENT = re.compile(r"^/\* ((?:(?!\*/).)*?) ?\*/(?=\n\w)", re.M | re.S)
DECLARATION = re.compile(
    r"^typedef (?P<kind>struct|enum) [^;{]*\{(?:[^\n]*|.*?\n)\} (?P<type>\w+);"
    r"|^typedef struct \w+ (?P<opaque>\w+);"
    r"|^(?P<returns>(?!typedef)[a-z][\w \*]*?)\b(?P<function>tirc_\w+)\(",
    re.M | re.S,
)


def prose(comment, functions, types):
    """A comment as reStructuredText, with links to what it names."""
    parts = re.split(r"`([^`]+)`", comment)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\*|])", r"\\\1", parts[i])
        parts[i] = re.sub(r"\btirc_\w+\b", lambda m: link(m[0], functions, types), parts[i])
        parts[i] = re.sub(r"\bTIRC_\w+\b", r"``\g<0>``", parts[i])
        parts[i] = re.sub(r"\bdocs/(\w+)\.md\b", r":doc:`/\1`", parts[i])
    return "".join(f"``{part}``" if i % 2 else part for i, part in enumerate(parts))


def link(name, functions, types):
    role = "func" if name in functions else "type" if name in types else None
    return f":c:{role}:`{name}`" if role else f"``{name}``"


def names(text):
    """The functions and the types that the header declares."""
    functions = {m["function"] for m in DECLARATION.finditer(text)} - {None}
    return functions, {m["type"] or m["opaque"] for m in DECLARATION.finditer(text)} - {None}


def prepare(text):
    """The header, documented for hawkmoth."""
    functions, types = names(text)
    text = SECTION.sub("", text)

    def documented(found):
        lines = prose(re.sub(r"\n \* ?", "\n", found[1]), functions, types).splitlines()
        return "/**\n" + "".join(f" * {line}\n" for line in lines) + " */"

    return COMMENT.sub(documented, text)


def directive(found):
    """What documents a declaration; a type is shown as the header defines it."""
    if found["function"]:
        return f".. c:autofunction:: {found['function']}\n   :file: tirc.h\n"
    if found["opaque"]:
        return f".. c:autotype:: {found['opaque']}\n   :file: tirc.h\n"
    definition = "".join(f"   {line}\n" for line in found[0].splitlines())
    return (
        f".. c:auto{found['kind']}:: {found['type']}\n   :file: tirc.h\n\n"
        f".. code-block:: c\n\n{definition}"
    )


def page(text):
    """The page of the C API, a section for each of the header."""
    parts = SECTION.split(text)
    sections = [("contexts", parts[0]), *zip(parts[1::2], parts[2::2])]
    lines = ["C functions and types", "=====================", ""]
    lines += ["From ``include/tirc.h``; :doc:`/api` explains how they work together.", ""]
    for title, part in sections:
        lines += [title.capitalize(), "-" * len(title), ""]
        lines += [directive(found) for found in DECLARATION.finditer(part)]
    return "\n".join(lines)
