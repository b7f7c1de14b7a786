"""Emitted text as GPUs before sm_80 run it, whose copies are complete at once: it is right, and
breaking each of them is noticed."""

import batch
import emulate
import pytest
from test_emulate import failures
from test_faults import faulty

TURING = {"arch": 750}
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
WORDS = {1: ("unsigned int", "0"), 2: ("uint2", "uint2()"), 4: ("uint4", "uint4()")}


def faults():
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


FAULTS = {name: rest for name, *rest in faults()}


@pytest.fixture(scope="module")
def found(compiler):
    records = []
    for name, (lanes, n, changes, *_) in FAULTS.items():
        arguments = ["--schedule", "copies", "--set", f"V={lanes}", "-D", f"N={n}"]
        records.append(faulty(name, PADDED, arguments, changes) | TURING)
    verdicts = batch.run(compiler, "plain_faults", records)
    return {record["name"]: (verdict, detail) for record, verdict, detail in verdicts}


@pytest.mark.parametrize("name", FAULTS)
def test_copy(found, name):
    verdict, detail = found[name]
    *_, expected, part = FAULTS[name]
    assert (verdict, part in detail) == (expected, True), f"{verdict}: {detail}"


def copies_in_threads(name):
    """Whether copies are all that a golden text has for newer GPUs alone."""
    text = (emulate.ROOT / f"tests/golden/{name}.cu").read_text()
    return "copy_async" in text and not any(w in text for w in ("wgmma", "mma.sync", "bulk"))


def test_golden(compiler):
    cases = [case for case in emulate.golden_cases() if copies_in_threads(case[0])]
    records = [emulate.golden_record(*case) | TURING for case in cases]
    verdicts = batch.run(compiler, "plain_golden", records)
    assert len(verdicts) == len(records) > 10
    assert not failures(verdicts)
