"""Turns the documents of the repository into the pages of the site: their place, their links, and
the first lines of their blocks. The text stays as it is."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# In the order in which a newcomer reads; the tests of the site find a page that is missing here.
NAVIGATION = {
    "Start": ["index", "performance", "comparison", "examples/index"],
    "Write": ["language", "schedules", "primitives"],
    "Use": ["cli", "tuning", "editor", "python", "api", "import_tvm"],
    "Check and measure": ["verification", "simulator", "analysis", "benchmarks"],
    "Reference": ["reference/python", "reference/c"],
    "Work on tirc": ["architecture", "code", "choices", "contributing", "security", "changelog"],
}
LANGUAGES = {".h": "c", ".c": "c", ".cu": "cuda", ".py": "python", ".tir": "tir", ".sched": "sched"}
FENCE = re.compile(r"^```(.+)$", re.M)
LINK = re.compile(r"\[([^]\[]*)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"^<!-- picture: (.+?) \| (.+?) -->$", re.M | re.S)


def page_of(document):
    """The page of a document: docs/cli.md is cli, README.md is index."""
    parts = [p for p in Path(document).with_suffix("").parts if p != "docs"]
    if parts[-1] == "README":
        parts[-1:] = ["index"] if len(parts) < 3 else []
    return "/".join(parts).lower() if len(parts) == 1 else "/".join(parts)


def documents():
    return sorted(
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.md", "docs/*.md", "examples/**/README.md")
        for path in ROOT.glob(pattern)
    )


def block_head(info):
    """The head of a code block, with a title that says what it is: its file, or its command."""
    language, _, rest = info.partition(" ")
    language = {"c": "cuda", "ebnf": "text"}.get(language, language)
    mark, _, text = rest.partition(" ")
    title = {"$": f"$ {text}", "!": f"$ {text}", "=": text.split(" ")[0]}.get(mark, mark)
    return f"```{{code-block}} {language}\n" + (f":caption: '{title}'\n" if title else "")


class Site:
    """Writes the pages into a folder, and remembers the sources that they link to."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = {document: page_of(document) for document in documents()}
        self.sources = set()

    def write(self, page, text):
        path = self.folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, document, text, target):
        """A link of a document as a link of its page. One that shows the name of a document shows
        its title."""
        path, sharp, anchor = target.partition("#")
        if "://" in path or not path:
            return f"[{text}]({target})"
        file = os.path.normpath(Path(document).parent / path)
        if file not in self.pages:
            self.sources.add(file)
        page = self.pages.get(file, f"source/{file}")
        start = Path(self.pages[document]).parent
        text = "" if text.endswith(".md") and file in self.pages else text
        return f"[{text}]({os.path.relpath(page, start)}.md{sharp}{anchor})"

    def render(self, document, pictures):
        """The document as a page; `pictures` gives the text of a picture for its command."""
        text = (ROOT / document).read_text()
        root = "../" * self.pages[document].count("/")
        parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
        for i, part in enumerate(parts):
            if i % 2:
                parts[i] = FENCE.sub(lambda m: block_head(m[1]), part, count=1)
                last = part
            else:
                part = LINK.sub(lambda m: self.link(document, m[1], m[2]), part)
                parts[i] = PICTURE.sub(lambda m: pictures(last, m[1], m[2], root), part)
        return "".join(parts)

    def write_documents(self, pictures):
        for document, page in self.pages.items():
            text = self.render(document, pictures)
            text += self.navigation(page)
            self.write(page, text)

    def navigation(self, page):
        """The table of contents: of the site on its first page, of the examples on theirs."""
        if page == "examples/index":
            names = [p for p in self.pages.values() if p.startswith("examples/") and p != page]
            return toctree("", [name.removeprefix("examples/") for name in names])
        if page != "index":
            return ""
        return "".join(
            toctree(f":caption: {title}\n", ["self" if p == "index" else p for p in pages])
            for title, pages in NAVIGATION.items()
        )

    def write_sources(self):
        """A page for each file that is linked to and is not a document."""
        for file in sorted(self.sources):
            language = LANGUAGES.get(Path(file).suffix, "text")
            text = f"````{language}\n{(ROOT / file).read_text()}````\n"
            self.write(f"source/{file}", f"---\norphan: true\n---\n\n# {file}\n\n{text}")


def toctree(options, pages):
    return f"\n```{{toctree}}\n:hidden:\n{options}\n" + "\n".join(pages) + "\n```\n"
