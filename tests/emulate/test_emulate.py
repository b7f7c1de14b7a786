"""Emitted text is executed: golden cases, and random schedules."""

import batch
import complete
import emulate
import pytest

from parts import in_sweep

TRIALS, FEW_TRIALS = 40, 20  # in one compilation, and by default
EVERY = 10  # trials for one complete program


def failures(verdicts):
    return [f"{r['name']}: {v}: {d}" for r, v, d in verdicts if v not in batch.GOOD]


# Golden programs with exponentials, roots and quotients, which no inputs make exact.
ROUNDED = {
    "attention_any_length",
    "attention_of_floats",
    "batch_triangle_default",
    "fast_exp",
    "folded_literals",
    "l2_norm_default_odd",
    "lane_groups",
    "packed_choices",
    "packed_halves",
    "primitive_cache_value",
    "repeated_values",
    "resize_default",
    "rms_norm_default",
    "scaled_blocks",
    "softmax_default",
    "softmax_default_long",
    "softplus_bf16_default",
    "wgmma_held_nt",
}


# Cases of millions of terms, which take half a second or more each.
DEAR = (
    "columns_bf16_default",
    "combined_halves",
    "conv_f16",
    "conv_f16_nchw",
    "conv_f16_turns",
    "scaled_blocks",
    "sum_reduction_default",
)


def usual_cases():
    """The first of the cases whose names begin with the same word, and that of each primitive."""
    seen = set()
    for case in emulate.golden_cases():
        kind = case[0] if case[0].startswith("primitive_") else case[0].split("_")[0]
        if kind not in seen and case[0] not in DEAR:
            seen.add(kind)
            yield case


@pytest.mark.parametrize("usual", [True, *in_sweep(False)])
def test_golden(compiler, usual):
    names = {name for name, *_ in usual_cases()}
    cases = [case for case in emulate.golden_cases() if (case[0] in names) == usual]
    records = [emulate.golden_record(*case) for case in cases]
    verdicts = batch.run(compiler, "golden", records)
    assert len(verdicts) == len(records) > 60
    assert not failures(verdicts)
    other = {record["name"] for record, v, _ in verdicts if v != "exact"}
    expected = {name for name in ROUNDED if (name in names) == usual}
    assert other == expected, "others have a meaning, and inputs for which they are exact"


def test_rounds_once(compiler):
    """Numbers in the middle between two others, which a rounding to f32 before would move."""
    program = str(emulate.HERE / "rounded_once.tir")
    records = [
        emulate.file_record(name, [program, "--schedule", name], reorders=False)
        for name in ("none", "lanes")
    ]
    assert [v for _, v, _ in batch.run(compiler, "rounds_once", records)] == ["exact", "exact"]


def test_bytes_become_floats(compiler):
    """All values of both types, one by one and two in a word, and other integers of few values."""
    program = str(emulate.HERE / "bytes.tir")
    records = [
        emulate.file_record(f"{kernel}_{name}", [program, "--kernel", kernel, "--schedule", name])
        for kernel in ("floats", "numbers")
        for name in ("none", "lanes")
    ]
    assert [v for _, v, _ in batch.run(compiler, "bytes", records)] == ["exact"] * 4


def test_loops_that_data_end(compiler):
    program = str(emulate.ROOT / "tests/programs/whiles.tir")
    records = [
        emulate.file_record(name, [program, "--schedule", name]) for name in ("none", "threads")
    ]
    verdicts = batch.run(compiler, "whiles", records)
    assert len(verdicts) >= len(records)
    assert not failures(verdicts)


def test_random(compiler, request):
    rounds, trials = (75, TRIALS) if request.config.getoption("--long") else (1, FEW_TRIALS)
    for i in range(rounds):
        records, broken = emulate.random_records(trials, 1 + TRIALS * i, EVERY)
        verdicts = batch.run(compiler, f"random_{i}", records) + broken
        verdicts += complete.run(
            compiler, f"random_{i}_complete", [r for r in records if "complete" in r]
        )
        assert len(verdicts) > 0.7 * trials
        assert not failures(verdicts)
        compared = sum(v in ("exact", "near") for _, v, _ in verdicts)
        assert compared >= 0.95 * len(verdicts)
