"""Golden files at every level, the CUDA compiled by NVRTC, and what the text of some kernels
promises."""

import collections
import re
import sys

import pytest

from golden import HERE, ROOT, cases, golden_files

sys.path.insert(0, str(ROOT / "tests/emulate"))
import nvrtc  # noqa: E402
from parts import in_sweep  # noqa: E402

CASES = cases()


def named(name):
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case, request):
    made = case.outputs()
    assert made, f"{case.path.name} asks for nothing: give it `emit:` or `pass:`"
    assert set(made) == case.files()
    for name, text in made.items():
        path = HERE / name
        if request.config.getoption("--update-golden"):
            path.write_text(text)
            continue
        assert path.exists(), f"{name} is missing: run pytest tests/golden --update-golden"
        assert text == path.read_text(), f"{name} differs from what tirc makes now"


def test_no_orphans(request):
    expected = {name for case in CASES for name in case.files()}
    orphans = golden_files() - expected
    if request.config.getoption("--update-golden"):
        for name in orphans:
            (HERE / name).unlink()
        return
    assert not orphans, f"no case makes {sorted(orphans)}"


def instructions(text):
    """The instructions of PTX in a text; those of warpgroups for any number of columns are one."""
    found = re.findall(r'"\s*(?:@\w+ )?([a-z]\w*(?:\.\w+|::\w+)+)', text)
    return {re.sub(r"\.(m64n)\d+", r".\1", each) for each in found}


def with_each_instruction(texts):
    """Names of texts that hold each instruction: all but the longest that others make up for."""
    held = {name: instructions(text) for name, text in texts.items()}
    holders = collections.Counter(each for found in held.values() for each in found)
    for name in sorted(texts, key=lambda name: (-len(texts[name]), name)):
        if all(holders[each] > 1 for each in held[name]):
            holders.subtract(held.pop(name))
    return held.keys()


@pytest.mark.skipif(nvrtc.library() is None, reason="no NVRTC")
@pytest.mark.parametrize("usual", [True, *in_sweep(False)])
def test_nvrtc_compiles(usual):
    """All texts have the syntax and the types of CUDA, and some that hold each instruction become
    machine code; in the sweep the others do. They are one program: NVRTC starts once."""
    texts = {case.name: case.kept("cuda") for case in CASES if case.has_cuda()}
    compiler, chosen = nvrtc.Nvrtc(), with_each_instruction(texts)
    code = {name: text for name, text in texts.items() if (name in chosen) == usual}
    assert len(code) > 25
    asked = [(texts, nvrtc.SYNTAX)] if usual else []
    for some, options in [*asked, (code, compiler.machine_code())]:
        refused = compiler.refused(list(some.values()), options)
        assert not {name: refused[n] for n, name in enumerate(some) if n in refused}


# Words of instructions that sm_75 lacks, and that no text leaves out for it.
NEWER = re.compile(
    r"wgmma|mma\.sync|stmatrix|cluster|bulk|mbarrier|tf32|bf16|e4m3|e5m2|f16x2\.f32"
    r"|(min|max)\S*\.f16"
)


def for_old_gpus(text):
    """The text without what it has for GPUs from sm_80 on."""
    return re.sub(r"^#if __CUDA_ARCH__ >= 800\n.*?^#(?:else|endif)\n", "", text, flags=re.M | re.S)


@pytest.mark.skipif(nvrtc.library() is None, reason="no NVRTC")
@pytest.mark.parametrize("usual", [True, *in_sweep(False)])
def test_nvrtc_compiles_for_old_gpus(usual):
    """Texts become machine code for sm_75, too, if they have no other instructions of newer GPUs
    than those that they leave out there."""
    texts = [case.kept("cuda") for case in CASES if case.has_cuda()]
    code = [
        text
        for text in texts
        if not any(NEWER.search(used) for used in instructions(for_old_gpus(text)))
        and "__cluster_dims__" not in text
        and ("__CUDA_ARCH__" in text) == usual
    ]
    assert len(code) > 10
    compiler = nvrtc.Nvrtc()
    refused = compiler.refused(code, compiler.machine_code("sm_75"))
    assert not {code[n]: messages for n, messages in refused.items()}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.has_cuda()], ids=lambda case: case.name
)
def test_no_line_is_left_over(case):
    """What a person would not write: trailing blanks, divisions by one, additions of zero, empty
    bodies."""
    text = case.kept("cuda")
    for pattern in (r"[ \t]$", r"[*/] 1\b(?!\.)", r"[+-] 0\b(?![.x])", r"\{\s*\}"):
        found = re.search(pattern, text, re.M)
        assert not found, f"{case.name}: '{found.group(0)}' in\n{text}"


# ---- claims --------------------------------------------------------------------------------------


def loop_body(cuda, header):
    """The text of the loop that starts with `header`, by its indentation."""
    lines = cuda.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith(header))
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = next(i for i in range(start + 1, len(lines)) if lines[i] == " " * indent + "}")
    return "\n".join(lines[start:end])


def test_tiled32_at_1024():
    cuda = named("matmul_tiled32").kept("cuda")
    assert len(re.findall(r"__shared__", cuda)) == 2
    assert len(re.findall(r"__syncthreads", loop_body(cuda, "for (int ko"))) == 2
    assert len(re.findall(r"__syncthreads", cuda)) == 2
    assert not re.search(r"\bif\b", cuda)


@pytest.mark.parametrize("name", ["matmul_tiled32_odd", "matmul_tiled32_symbolic"])
def test_tiled32_guards(name):
    cuda = named(name).kept("cuda")
    assert len(re.findall(r"__shared__", cuda)) == 2
    assert len(re.findall(r"__syncthreads", loop_body(cuda, "for (int ko"))) == 2
    assert re.search(r"\bif\b", cuda)


def test_padded_transpose_pads():
    assert "__shared__ float in_shared[32][33]" in named("transpose_padded_f32").kept("cuda")


def test_every_primitive_and_pass_has_a_case():
    names = {case.name for case in CASES}
    table = "".join(
        path.read_text() for path in sorted((ROOT / "passes/schedule/tables").glob("*.def"))
    )
    rows = re.findall(r'^PRIM\(\s*(\w+),[^"]*(?:"[^"]*"\s*)+,\s*([01]),', table, re.M)
    assert len(rows) > 20
    missing = [
        name for name, is_query in rows if is_query == "0" and f"primitive_{name}" not in names
    ]
    passes = re.findall(r"^PASS\(\s*(\w+)", (ROOT / "passes/lower/pipeline.def").read_text(), re.M)
    assert len(passes) > 5
    missing += [name for name in passes if f"pass_{name}" not in names]
    assert not missing, f"no golden case for {missing}"
