"""The site, built from docs/ and looked at in a browser: every link and anchor leads somewhere, no
page is wider than a phone, and nothing complains. Needs what ./site installs; else it skips."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))

try:
    import sphinx  # noqa: F401
    from playwright.sync_api import sync_playwright
except ImportError:
    pytest.skip("SKIPPED: ./site has not installed Sphinx yet", allow_module_level=True)

import header  # noqa: E402
import pictures  # noqa: E402

PHONE = {"width": 360, "height": 740}
# What a page shows: how much wider it is than the screen, what sticks out of it, its links and the
# targets in it, and the code blocks that neither fit nor scroll.
PROBE = """() => {
    const all = (query) => [...document.querySelectorAll(query)];
    const scrolls = (box) => {
        for (; box && box.tagName !== 'ARTICLE'; box = box.parentElement)
            if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return true;
        return false;
    };
    return {
        wide: document.documentElement.scrollWidth - innerWidth,
        out: all('article *').filter((n) => n.getBoundingClientRect().right > innerWidth + 1)
            .filter((n) => n.getClientRects().length && !scrolls(n))
            .map((n) => n.outerHTML.slice(0, 80)),
        blocks: all('article pre').length,
        stuck: all('pre').filter((n) => n.scrollWidth > n.clientWidth && !scrolls(n)).length,
        links: all('a[href]').map((n) => n.href),
        images: all('img').map((n) => n.src),
        broken: all('img').filter((n) => n.complete && !n.naturalWidth && n.offsetParent)
            .map((n) => n.src),
        ids: all('[id]').map((n) => n.id),
        text: document.body.innerText,
    };
}"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site: $SITE, or a new one, whose build fails if Sphinx warns."""
    if not pictures.browser():
        pytest.skip("SKIPPED: no Chromium on this machine")
    if "SITE" in os.environ:
        return Path(os.environ["SITE"])
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, ROOT / "docs/site/build.py", os.environ["TIRC"], folder]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="session")
def address(site):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=pictures.browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def complaint(message):
    """An error or a warning, in a list. A browser asks for /favicon.ico if a report names none."""
    icon = message.location["url"].endswith("/favicon.ico")
    return [message.text] if message.type in ("error", "warning") and not icon else []


@pytest.fixture(scope="session")
def seen(site, address, chromium):
    """Each page by its path: what the probe finds on a phone, and what the console says."""
    found, messages = {}, []
    page = chromium.new_page(viewport=PHONE)
    page.on("console", lambda message: messages.extend(complaint(message)))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("requestfailed", lambda request: messages.extend(unloaded(request)))
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        messages.clear()
        page.goto(address + name)
        found[name] = page.evaluate(PROBE) | {"messages": list(messages)}
    page.close()
    return found


def pages(seen):
    """The pages that Sphinx writes; reports of --analyze are pages of their own."""
    return {name: page for name, page in seen.items() if not name.startswith("reports/")}


def unloaded(request):
    """The address that could not be loaded; none if the next page came before it was."""
    return [] if request.failure == "net::ERR_ABORTED" else [request.url]


def test_every_document_is_a_page(seen):
    assert len(pages(seen)) > 40
    for name in ("index", "cli", "examples/index", "examples/matmul", "source/include/tirc.h"):
        assert f"{name}.html" in seen


def test_links_and_anchors(seen, site, address):
    dead = []
    for name, page in pages(seen).items():
        for link in {*page["links"], *page["images"]}:
            if not link.startswith(address):
                assert urlsplit(link).scheme in ("http", "https"), f"{name}: {link}"
                continue
            path, anchor = urldefrag(link.removeprefix(address).partition("?")[0] or "index.html")
            path, anchor = unquote(path), unquote(anchor)
            known = (site / path).is_file() and (not anchor or anchor in seen[path]["ids"])
            dead += [] if known else [f"{name} -> {link}"]
    assert not dead, "\n".join(dead)


def test_nothing_fails_to_load(seen):
    assert not {name: page["messages"] for name, page in seen.items() if page["messages"]}
    assert not {name: page["broken"] for name, page in seen.items() if page["broken"]}


def test_pages_fit_a_phone(seen):
    assert sum(page["blocks"] for page in seen.values()) > 200
    assert not {name: page["wide"] for name, page in seen.items() if page["wide"] > 0}
    assert not {name: page["out"] for name, page in pages(seen).items() if page["out"]}
    assert not {name: page["stuck"] for name, page in pages(seen).items() if page["stuck"]}


def test_the_c_api_is_whole(seen):
    """Each function and type that the header declares, with its comment."""
    text = (ROOT / "include/tirc.h").read_text()
    declared = set(re.findall(r"\b(tirc_\w+)\((?!\*)", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))
    functions, types = header.names(text)
    assert declared == functions and len(functions) > 50
    ids = set(seen["reference/c.html"]["ids"])
    missing = {name for name in functions | types if f"c.{name}" not in ids}
    assert not missing, f"write a comment above: {missing}"


def test_the_python_api_is_whole(seen):
    init = (ROOT / "python/tirc/__init__.py").read_text()
    public = set(re.findall(r"import (\w+) as \1", init))
    kernel = (ROOT / "python/tirc/kernel.py").read_text().split("\nclass Kernel:")[1]
    methods = set(re.findall(r"^    def ([a-z]\w*)\(", kernel.split("\ndef ")[0], re.M))
    assert {"compile", "Kernel", "Error"} <= public and {"cuda", "verify", "bench"} <= methods
    ids = set(seen["reference/python.html"]["ids"])
    missing = {f"tirc.{name}" for name in public} | {f"tirc.Kernel.{name}" for name in methods}
    assert not missing - ids, missing - ids


def test_light_and_dark(address, chromium):
    colors = []
    for scheme in pictures.SCHEMES:
        page = chromium.new_page(viewport=PHONE, color_scheme=scheme)
        page.goto(f"{address}analysis.html")
        colors.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        shown = [n for n in page.locator("article img").all() if n.is_visible()]
        assert len(shown) >= 2 and all(f"-{scheme}" in n.get_attribute("src") for n in shown)
        page.close()
    assert colors[0] != colors[1]


def test_programs_are_coloured(address, chromium):
    page = chromium.new_page(viewport=PHONE)
    page.goto(f"{address}index.html")
    assert page.locator(".highlight-tir .k").first.text_content() == "kernel"
    assert page.locator(".highlight-sched .nf", has_text="cooperative_fetch").count() == 1
    assert page.locator(".code-block-caption", has_text="matmul.tir").count() >= 1
    page.close()


def test_search(address, chromium):
    page = chromium.new_page(viewport=PHONE)
    page.goto(f"{address}search.html?q=rolling_buffer")
    page.wait_for_selector("#search-results li a")
    found = [n.get_attribute("href") for n in page.locator("#search-results li a").all()]
    assert any(link.startswith("primitives.html") for link in found)
    page.close()
