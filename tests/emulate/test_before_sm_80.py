"""Emitted text as GPUs before sm_80 run it, which copy synchronously, and convert to bf16 and TF32
without an instruction: it is right, and breaking each of these ways is noticed."""

import batch
import emulate
import pytest
from test_emulate import failures, usual_cases
from test_faults import faulty

from parts import in_sweep

TURING = {"arch": 750, "reorders": False}  # the same order of additions: results are equal
# Threads copy V elements each, zeros from N on; another thread reads them.
PADDED = """kernel padded<N = 384>(x: f32[N]) -> y: f32[512]
{
    temp t: f32[512];
    for i in 512
        t[i] = i < N ? x[i] : 0;
    for i in 512
        y[i] = t[511 - i];
}
schedule copies for padded(V = 4)
{
    let [block, i] = split(loops(y)[0], [1, _]);
    bind(block, blockIdx.x);
    bind(split(i, [_, 64])[1], threadIdx.x);
    compute_at(t, block);
    set_scope(t, shared);
    let [_, thread, lane] = split(loops(t)[-1], [_, 64, V]);
    bind(thread, threadIdx.x);
    if V > 1 {
        vectorize(lane);
    }
    copy_async(t);
}
"""
# Odd sums are in the middle between two numbers of 8 binary digits (bf16), or 11 (f16, TF32).
ROUNDED = """kernel rounded<N = 64>(x: f32[N]) -> b: bf16[N], p: bf16[N], h: f16[N], t: f32[N]
{
    for i in N
        b[i] = bf16(x[i] + 257);
    for i in N
        p[i] = bf16(x[i] + 257);
    for i in N
        h[i] = f16(x[i] + 2049);
    for i in N
        t[i] = tf32(x[i] + 2049);
}
schedule pairs for rounded()
{
    for block in [b, t] {
        bind(loops(block)[0], threadIdx.x);
    }
    for block in [p, h] {
        let [thread, lane] = split(loops(block)[0], [_, 2]);
        bind(thread, threadIdx.x);
        vectorize(lane);
    }
}
"""
WORDS = {1: ("unsigned int", "0"), 2: ("uint2", "uint2()"), 4: ("uint4", "uint4()")}


def copies():
    """Name, elements of a thread, N, changes of the text, the verdict, and a part of its detail."""
    for lanes, (word, zero) in WORDS.items():
        load = f"*(const {word} *)from"
        copy, or_zero = f"*({word} *)to = {load};", f"*({word} *)to = wanted ? {load} : {zero};"
        wait = ("copy_async_wait<0>();", ";")
        yield f"{word}", lanes, 512, [], "exact", ""
        yield f"{word}, or zero", lanes, 384, [], "exact", ""
        yield f"{word}, no wait", lanes, 512, [wait], "exact", ""
        yield f"{word}, no barrier", lanes, 512, [("__syncthreads();", ";")], "wrong", "y["
        yield f"{word}, no copy", lanes, 512, [(copy, ";")], "wrong", "y["
        yield f"{word}, part of it", lanes, 512, [(copy, "*(short *)to = 0;")], "wrong", "y["
        yield f"{word}, no zero", lanes, 384, [(or_zero, "if (wanted) " + copy)], "wrong", "y["
        yield f"{word}, always", lanes, 384, [(or_zero, copy)], "fault", "an access"
        yield f"{word}, never", lanes, 384, [("wanted ?", "false ?")], "wrong", "y["


def trials():
    """Name, program, arguments, changes of the text, the verdict, and a part of its detail."""
    for name, lanes, n, *rest in copies():
        arguments = ["--schedule", "copies", "--set", f"V={lanes}", "-D", f"N={n}"]
        yield name, PADDED, arguments, *rest
    pair, low = "h2 = l >> 16 | (h & 0xffff0000)", "l + 0x7fff + (l >> 16 & 1)"
    for name, changes, *rest in (
        ("roundings", [], "exact", ""),
        ("ties upwards", [("(bits >> 16 & 1)", "1")], "wrong", "b["),
        ("cut", [("bits + 0x7fff + (bits >> 16 & 1)", "bits")], "wrong", "b["),
        ("no NaN", [("f != f ? 0x7fff", "f != f ? 0")], "wrong", "b["),
        ("halves swapped", [(pair, pair.replace("l >>", "h >>"))], "wrong", "p["),
        ("ties of a pair upwards", [(low, low.replace("(l >> 16 & 1)", "1"))], "wrong", "p["),
        ("no NaN in a pair", [("low != low ? 0x7fff0000", "low != low ? 0")], "wrong", "p["),
        ("one half of f16", [("(unsigned int)h << 16", "0")], "wrong", "h["),
        ("ties towards zero", [("bits + 0x1000", "bits + 0x0fff")], "wrong", "t["),
    ):
        yield name, ROUNDED, ["--schedule", "pairs"], changes, *rest


TRIALS = {name: rest for name, *rest in trials()}


@pytest.fixture(scope="module")
def found(compiler):
    records = [faulty(name, *trial[:3]) | TURING for name, trial in TRIALS.items()]
    verdicts = batch.run(compiler, "before_sm_80", records)
    return {record["name"]: (verdict, detail) for record, verdict, detail in verdicts}


@pytest.mark.parametrize("name", TRIALS)
def test_trial(found, name):
    verdict, detail = found[name]
    *_, expected, part = TRIALS[name]
    assert (verdict, part in detail) == (expected, True), f"{verdict}: {detail}"


def has_other_ways(name):
    """Whether a golden text has some for old GPUs, and no tensor cores."""
    text = (emulate.ROOT / f"tests/golden/{name}.cu").read_text()
    return "__CUDA_ARCH__" in text and not any(w in text for w in ("wgmma", "mma.sync", "bulk"))


@pytest.mark.parametrize("usual", [True, *in_sweep(False)])
def test_golden(compiler, usual):
    names = {name for name, *_ in usual_cases()}
    cases = [case for case in emulate.golden_cases() if has_other_ways(case[0])]
    cases = [case for case in cases if (case[0] in names) == usual]
    records = [emulate.golden_record(*case) | {"arch": 750} for case in cases]
    verdicts = batch.run(compiler, "plain_golden", records)
    assert len(verdicts) == len(records) > 5
    assert not failures(verdicts)
