"""The page of `--analyze -o report.html`: what it holds, and, in headless Chromium, what it shows
and how it answers to clicks."""

import json
import re
import shutil
import subprocess

import pytest
from conftest import MATMUL, TRANSPOSE

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NAIVE = (
    TRANSPOSE,
    "--schedule",
    "naive",
    "-D",
    "R=256",
    "-D",
    "C=512",
    "--device",
    "sim",
    "--analyze",
    "--versus",
    "shared",
)


@pytest.fixture
def page(tirc):
    r = tirc(*NAIVE, "-o", "report.html")
    assert r.status == 0, r.err
    assert "analyze for NVIDIA H200" in r.out
    return (tirc.folder / "report.html").read_text()


def test_it_is_one_file(page):
    assert re.findall(r"(?:src|href)=[\"'](?!#)", page) == []
    assert "@import" not in page and "url(" not in page
    assert set(re.findall(r"https?://[^\s'\"]*", page)) <= {"http://www.w3.org/2000/svg"}
    data = json.loads(re.search(r'id="data">\n(.*?)\n</script>', page, re.S)[1])
    assert data["kernel"] == "transpose" and data["analyze"]["versus"]["schedule"] == "shared"
    assert [s["path"].split("/")[-1] for s in data["sources"]] == ["transpose.tir", "naive.sched"]
    assert data["steps"][0]["call"] == "the program" and data["steps"][-1]["call"] == "lowering"


def test_text_cannot_leave_the_data(tirc):
    """What a program says in a comment stays a comment."""
    tirc.write(
        "odd.tir",
        "// </script><script>alert(1)</script> <!-- @DATA@\n"
        "kernel odd<N = 64>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n",
    )
    assert tirc("odd.tir", "--device", "sim", "--analyze", "-o", "odd.html").status == 0
    text = (tirc.folder / "odd.html").read_text()
    assert "alert(1)" in text and text.count("</script>") == 2 and "<!--" not in text


def test_o_belongs_to_the_first_that_writes(tirc):
    assert tirc(*NAIVE, "--json", "-o", "x.json").status == 0
    assert json.loads((tirc.folder / "x.json").read_text())["kernel"] == "transpose"
    assert tirc(*NAIVE, "-o", "nowhere/x.html").status == 3


# ---- in a browser --------------------------------------------------------------------------------

# Does what a reader would do, and writes down what is there then.
PROBE = """<script>
const seen = {}, all = (q) => [...document.querySelectorAll(q)];
const text = (q) => all(q).map((n) => n.textContent);
seen.ready = document.documentElement.dataset.ready === 'yes';
seen.title = document.title;
seen.wide = document.documentElement.scrollWidth - innerWidth;
seen.background = getComputedStyle(document.body).backgroundColor;
seen.sections = text('main section:not([hidden]) h2');
seen.binds = text('.bar-row.binds span:first-child');
seen.point = all('#roofline [data-point]').length;
seen.verdicts = text('tr.verdict');
seen.shownBanks = all('svg.banks').map((n) => n.dataset.wavefronts);
seen.shown = all('svg.sectors').map((n) => n.dataset.sectors);
all('tr.pick[data-op=load]')[0].click();
seen.then = all('svg.sectors').map((n) => n.dataset.sectors);
seen.versus = text('#versus-table tbody tr');
const line = all('[data-path=""] .line').find(
    (l) => l.textContent.includes('out[') || l.textContent.includes('C_acc +='));
line.click();
seen.lit = text('.line.lit').map((t) => t.replace(/\\s+/g, ' '));
seen.current = text('#step-list [aria-current=true]');
all('#step-list button')[0].click();
seen.first = text('#tree .node');
all('#step-list button')[1].click();
seen.second = text('#tree .node.loop');
seen.fresh = text('#tree .node.fresh');
document.querySelector('header button').click();
seen.switched = getComputedStyle(document.body).backgroundColor;
document.body.replaceChildren(document.createTextNode('SEEN' + JSON.stringify(seen) + 'DONE'));
</script>"""


def look(folder, text, width=1280, *flags):
    if not BROWSER:
        pytest.skip(
            "SKIPPED: no Chromium on this machine; "
            "install chromium to look at the page of --analyze"
        )
    (folder / "probe.html").write_text(text.replace("</body>", PROBE + "</body>"))
    done = subprocess.run(
        [
            BROWSER,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}/chromium",
            f"--window-size={width},900",
            *flags,
            "--virtual-time-budget=3000",
            "--dump-dom",
            f"file://{folder}/probe.html",
        ],
        capture_output=True,
        text=True,
        timeout=90,
    )
    found = re.search(r"SEEN(.*)DONE", done.stdout, re.S)
    assert found, done.stderr[-2000:] + done.stdout[-2000:]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def test_what_it_shows(tirc, page):
    seen = look(tirc.folder, page)
    assert seen["ready"] and seen["title"] == "transpose"
    assert seen["sections"] == [
        "Bottleneck",
        "Memory accesses",
        "Versus shared",
        "Program, schedule, CUDA",
        "The loops after each step",
        "Kernels and barriers",
    ]
    assert len(seen["binds"]) == 1 and seen["point"] == 1
    assert len(seen["verdicts"]) == 1 and "32 sectors; 4 would suffice" in seen["verdicts"][0]
    assert seen["shown"] == ["32"] and seen["then"] == ["4"]  # the costliest first; then the load
    assert "32 sectors" in seen["versus"][0]
    assert any("out[" in line and "in[" in line for line in seen["lit"]) and any(
        "out[c, r] = in[r, c]" in line for line in seen["lit"]
    )
    assert seen["current"] and seen["current"][0].endswith("bind(tx, threadIdx.x)")
    assert seen["first"] == ["r in 256", "c in 512", "out[c, r] = in[r, c];"]
    assert seen["second"] == ["by in 8", "ty in 32", "c in 512"]
    assert seen["fresh"][:2] == ["by in 8", "ty in 32"]
    assert seen["background"] != seen["switched"]


def test_banks(tirc):
    assert (
        tirc(
            TRANSPOSE,
            "--schedule",
            "shared",
            "-D",
            "R=256",
            "-D",
            "C=512",
            "-D",
            "T=f64",
            "--device",
            "sim",
            "--analyze",
            "-o",
            "report.html",
        ).status
        == 0
    )
    seen = look(tirc.folder, (tirc.folder / "report.html").read_text())
    assert seen["ready"] and seen["verdicts"] == ["16 lanes fall into 2 banks: pad the row by 1"]
    assert seen["shownBanks"] == ["16", "16"]  # two halves of the warp, one after the other


@pytest.mark.sweep
def test_a_narrow_screen(tirc, page):
    seen = look(tirc.folder, page, 500)
    assert seen["ready"] and seen["wide"] <= 0


def test_a_matmul(tirc):
    assert (
        tirc(
            MATMUL,
            "--schedule",
            "tiled32",
            "-D",
            "M=64",
            "-D",
            "N=64",
            "-D",
            "K=64",
            "--device",
            "sim",
            "--analyze",
            "-o",
            "report.html",
        ).status
        == 0
    )
    seen = look(tirc.folder, (tirc.folder / "report.html").read_text())
    assert seen["point"] == 2 and "Versus" not in " ".join(seen["sections"])
    assert any("C_acc += " in line for line in seen["lit"]) and any(
        "C[i, j] += A[i, k] * B[k, j]" in line for line in seen["lit"]
    )
