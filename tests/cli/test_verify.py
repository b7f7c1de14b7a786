"""What --verify sees, and what it does not take for wrong: sums that are longer than rounding
bounds, numbers that are none, narrow types."""

import json
import re

import pytest

from conftest import EXAMPLES, MATMUL, SMALL
from parts import in_sweep

SUM = "kernel total<N = 50000>(x: f32[N]) -> s: f32[1] { s[0] = 0; for i in N s[0] += x[i]; }\n"
CHAIN = ("--schedule", "naive")  # one thread adds up all terms


def verify(tirc, *args, stdin=""):
    r = tirc(*args, "--device", "sim", "--verify", "--json", stdin=stdin.encode())
    assert r.out.startswith("{"), r.err
    return r, json.loads(r.out)["verify"]


def against(tirc, program, change, *args):
    """The lowered text of a program, changed, compared with it."""
    tirc.write("program.tir", program)
    lowered = tirc("program.tir", *args, "--emit", "lowered").out
    changed = change(lowered)
    assert changed != lowered
    tirc.write("changed.tir", changed)
    return verify(tirc, "changed.tir", "--against", "program.tir")


@pytest.mark.parametrize(
    "old, new",
    [
        ("s[0] = s_acc[0];", "s[0] = s_acc[0] + 0.0625;"),
        ("s[0] = s_acc[0];", "s[0] = s_acc[0] + x[17];"),
        ("for i in 50000", "for i in 49999"),
        ("+= x[i];", "+= x[i > 7 ? i : 0];"),
    ],
)
def test_a_long_sum_that_is_wrong(tirc, old, new):
    r, found = against(tirc, SUM, lambda text: text.replace(old, new), *CHAIN)
    assert r.status == 4 and "E0635" in r.err and "on small integers" in r.err
    assert not found["ok"] and found["wrong"] == 1
    assert found["rounding"]["checked"] == 1 and found["structure"]["exact"] == 0


def test_a_long_sum_that_is_right(tirc):
    tirc.write("sum.tir", SUM)
    r, found = verify(tirc, "sum.tir", *CHAIN)
    assert r.status == 0 and found["ok"] and found["structure"]["exact"] == 1
    assert found["rounding"]["wide"] == 1 and "with weak bounds" in found["method"]
    assert found["rounding"]["sums"] == 1 and found["rounding"]["unlikely"] == 0
    assert 0 < found["max_error"] < found["bound"] and found["rounding"]["nearest"] < 1
    assert (
        "structure: exact, 1 of 1 elements"
        in tirc("sum.tir", *CHAIN, "--device", "sim", "--verify").out
    )


TINY = """kernel tiny<N = 1000>(x: f32[N], at: i32[N]) -> s: f32[1]
    where 0 <= at < 1
{
    s[0] = 0;
    total: for i in N
        s[at[i]] += x[i] * 1e-36;
}
schedule adds for tiny
{
    atomic(total);
    bind(loops(total)[0], blockIdx.x);
}
"""


def test_atomic_additions_may_flush_subnormal_numbers(tirc):
    """A GPU does so in global memory: each of them may lose three."""
    lost = 3 * 1001 * 2.0**-126
    tirc.write("tiny.tir", TINY)
    assert "atomicAdd(" in tirc("tiny.tir", "--schedule", "adds", "--emit", "cuda").out
    found = {name: verify(tirc, "tiny.tir", "--schedule", name)[1] for name in ("adds", "naive")}
    assert found["adds"]["ok"] and lost < found["adds"]["bound"] < 1.01 * lost
    assert found["naive"]["ok"] and found["naive"]["bound"] < 0.01 * lost


@pytest.mark.parametrize(
    "kind, terms", [("bf16", 1000), ("f8e4m3", 300), *in_sweep(("f16", 2100), ("f32", 70000))]
)
def test_more_additions_than_a_type_has_numbers(tirc, kind, terms):
    """n u >= 1 leaves no relative bound of the usual form; one term is seen to miss all the
    same."""
    program = (
        f"kernel total<N = {terms}>(x: {kind}[4, N]) -> s: {kind}[4] {{ for r in 4 {{ s[r] = 0; "
        f"for i in N s[r] += x[r, i]; }} }}\n"
    )
    tirc.write("sum.tir", program)
    r, found = verify(tirc, "sum.tir", *CHAIN)
    assert r.status == 0 and found["ok"] and found["structure"]["exact"] == 4, r.out
    r, found = against(
        tirc, program, lambda text: text.replace(f"in {terms}", f"in {terms - terms // 16}"), *CHAIN
    )
    assert r.status == 4 and not found["ok"]


@pytest.mark.parametrize(
    "digits, good", [("", False), ("sum_digits(20)", False), ("sum_digits(8)", True)]
)
def test_sums_of_few_digits(tirc, digits, good):
    """Partial sums that keep the 8 digits of bf16 are those of a program that allows them. Then 8
    digits decide which sums are exact, too, and a term less shows in these."""
    program = (
        f"kernel total<N = 500>(x: f32[8, N]) -> y: f32[8] {{ temp s: f32[8] {digits}; "
        "for r in 8 { s[r] = 0; for i in N s[r] += x[r, i]; } for r in 8 y[r] = s[r]; }\n"
    )
    old, new = r"(s_acc\[0\]) \+= (x\[.*\]);", r"\1 = f32(bf16(\1 + \2));"
    r, found = against(tirc, program, lambda text: re.sub(old, new, text), *CHAIN)
    assert found["ok"] == good and (r.status == 0) == good
    assert not good or found["structure"]["exact"] == 8
    r, found = against(tirc, program, lambda text: text.replace("in 500", "in 499"), *CHAIN)
    assert r.status == 4 and not found["ok"]


@pytest.mark.parametrize(
    "digits, good", [("", False), ("product_digits(20)", False), ("product_digits(10)", True)]
)
def test_products_of_few_digits(tirc, digits, good):
    """Factors that are cut off to 11 digits give products of 10. A term less shows all the same."""
    program = (
        f"kernel dot<N = 50>(x: f32[8, N], w: f32[N]) -> y: f32[8] {digits} "
        "{ for r in 8 { y[r] = 0; for i in N y[r] += x[r, i] * w[i]; } }\n"
    )
    old, new = r"\+= (x\[.*\]) \* (w\[.*\]);", r"+= tf32_rz(\1) * tf32_rz(\2);"
    r, found = against(tirc, program, lambda text: re.sub(old, new, text), *CHAIN)
    assert found["ok"] == good and (r.status == 0) == good
    assert not good or found["structure"]["exact"] == 8
    r, found = against(tirc, program, lambda text: text.replace("in 50", "in 49"), *CHAIN)
    assert r.status == 4 and not found["ok"]


@pytest.mark.parametrize(
    "function, change, good",
    [
        ("fast_exp", r"exp(\1 * 1.0000001)", True),
        ("fast_exp", r"(exp(\1) < 1e-38 ? 0 : exp(\1))", True),
        ("fast_exp", r"exp(\1 * 1.000001)", False),
        ("fast_exp2", r"(exp2(\1) < 1e-38 ? 0 : exp2(\1))", True),
        ("fast_exp2", r"exp2(\1 * 1.0000001)", False),
        ("exp", r"exp(\1 * 1.0000001)", False),
        ("exp2", r"(exp2(\1) < 1e-38 ? 0 : exp2(\1))", False),
    ],
)
def test_errors_of_fast_functions(tirc, function, change, good):
    """Only a program that calls them allows a rounded product with log2(e), and zeros below the
    smallest normal number."""
    program = (
        f"kernel powers<N = 190>() -> y: f32[N] {{ for i in N y[i] = {function}(f32(i - 135)); }}\n"
    )
    old = rf"\b{function}(\(f32\(.*\)\))"
    r, found = against(tirc, program, lambda text: re.sub(old, change, text), *CHAIN)
    assert found["ok"] == good and (r.status == 0) == good, r.err


def test_products_of_longer_factors_are_not_exact(tirc):
    """On integers, products that keep 19 digits are those of factors of 11 digits, not of 13."""
    for factor, exact in (("4097 * v", 0), ("1024 * v", 8)):
        tirc.write(
            "dot.tir",
            "kernel dot<N = 5>(x: f32[8, N], w: f32[N]) -> y: f32[8] product_digits(19) "
            "{ for r in 8 { y[r] = 0; for i in N { let v = w[i]; "
            f"y[r] += x[r, i] * ({factor}); }} }} }}\n",
        )
        r, found = verify(tirc, "dot.tir", *CHAIN)
        assert r.status == 0 and found["structure"]["exact"] == exact, found


@pytest.mark.parametrize("digits, good", [(12, False), (11, True)])
def test_products_of_factors_near_0(tirc, digits, good):
    """Factors that are rounded to f16, for products of 11 digits, are multiples of 2^-24 there."""
    program = (
        f"kernel dot<N = 50>(x: f32[8, N], w: f32[N]) -> y: f32[8] product_digits({digits}) "
        "{ for r in 8 { y[r] = 0; for i in N y[r] += (x[r, i] * 1e-6) * w[i]; } }\n"
    )
    old, new = r"\+= (x\[.*\] \* 1e-0?6) \* (w\[.*\]);", r"+= f32(f16(\1)) * \2;"
    r, found = against(tirc, program, lambda text: re.sub(old, new, text), *CHAIN)
    assert found["ok"] == good and (r.status == 0) == good
    new = r"+= f32(f16(\1 * 0.5)) * \2;"
    r, found = against(tirc, program, lambda text: re.sub(old, new, text), *CHAIN)
    assert r.status == 4 and not found["ok"]


def test_a_tree_has_narrower_bounds(tirc):
    """Terms rounded to f16 do not show on integers; on reals they lie between the bounds of a tree
    of 37 additions and of a chain of 1024."""
    rows = (EXAMPLES / "row_sum/row_sum.tir").read_text()
    program = rows.replace("C = 4096", "C = 1024").replace("R = 4096", "R = 32")
    assert program.count("1024") == 1
    tirc.write("rows.tir", program)
    warp = ("--schedule", str(EXAMPLES / "row_sum/warp.sched"))
    r, tree = verify(tirc, "rows.tir", *warp)
    assert r.status == 0 and tree["ok"] and tree["rounding"]["additions"] == 1024 / 32 + 5
    r, chain = verify(tirc, "rows.tir", *CHAIN)
    assert r.status == 0 and chain["ok"] and chain["rounding"]["additions"] == 1024
    r, rounded = against(
        tirc, program, lambda text: re.sub(r"\+= (x\[.*\]);", r"+= f32(f16(\1));", text), *warp
    )
    assert r.status == 4 and "E0635" in r.err and "within" in r.err and not rounded["ok"]
    assert 0 < rounded["max_error"] < 1024 / 37 * rounded["bound"]


def test_softmax_from_infinity(tirc):
    """-inf - x, exp of it, and sums of what follows have bounds."""
    tirc.write(
        "online.tir",
        """
kernel online<R = 5, N = 64>(x: f32[R, N]) -> y: f32[R, N] {
    temp m: f32[R, N + 1]; temp s: f32[R];
    for r in R { m[r, 0] = -inf; }
    for r in R, i in N m[r, i + 1] = max(m[r, i], x[r, i]);
    for r in R { s[r] = 0; }
    for r in R, i in N s[r] = s[r] * exp(m[r, i] - m[r, i + 1]) + exp(x[r, i] - m[r, i + 1]);
    for r in R, i in N y[r, i] = exp(x[r, i] - m[r, N]) / s[r];
}
""",
    )
    r, found = verify(tirc, "online.tir", "--schedule", "none")
    assert r.status == 0 and found["rounding"]["checked"] == found["total"] == 5 * 64, found


def test_infinities_and_no_numbers_are_exact(tirc):
    tirc.write(
        "special.tir",
        """
kernel special<N = 16>(x: f32[N]) -> y: f32[N], z: f32[N], w: f32[N], v: f32[N] {
    for i in N y[i] = -inf - x[i] * 0.1;
    for i in N z[i] = inf - inf + x[i];
    for i in N w[i] = exp(-inf - x[i] * 0.3) + 1.0;
    for i in N v[i] = (inf - inf) * x[i] > x[i] ? 1.0 : 2.0;
}
""",
    )
    r, found = verify(tirc, "special.tir", "--schedule", "none")
    assert r.status == 0 and found["rounding"]["checked"] == 64, found


def test_scaled_infinities_have_bounds_where_their_sign_is_certain(tirc):
    """As masked scores that a rounded number scales. 0 * infinity has none, nor what may be 0."""
    tirc.write(
        "scaled.tir",
        """
kernel scaled<N = 16>(x: f32[N]) -> y: f32[N], z: f32[N], w: f32[N] {
    for i in N y[i] = exp(-inf * (x[i] * x[i] + 0.1));
    for i in N z[i] = exp((i > 3 ? -inf : x[i]) / (x[i] * x[i] + 0.1));
    for i in N w[i] = exp((x[i] * 0.1 - x[i] * 0.1) * inf);
}
""",
    )
    r, found = verify(tirc, "scaled.tir", "--schedule", "none")
    assert r.status == 0 and found["rounding"]["checked"] == 32, found


@pytest.mark.parametrize("literal", ["1e9", "inf"])
def test_a_value_without_a_bound_is_a_number(tirc, literal):
    """Rounding decides which count a quotient has, so it has no bound. But later steps use it, for
    subscripts, too: it may not become an infinity, which is nearest to no centre."""
    tirc.write(
        "means.tir",
        f"""
reducer nearest(d: f32, k: i32) {{
    init ({literal}, -1);
    combine(a, b): b.d < a.d || b.d == a.d && b.k < a.k ? b : a;
}}
kernel means<N = 8, K = 8, STEPS = 3>(x: f32[N], inout c: f32[K]) -> label: i32[N]
    where -1 <= x, x <= 1, -1 <= c, c <= 1
{{
    for t in STEPS {{
        temp count: i32[K]; temp sum: f32[K]; temp best: nearest[N];
        for n in N, k in K best[n] nearest= ((x[n] - c[k]) * (x[n] - c[k]), k);
        for n in N label[n] = best[n].k;
        for k in K {{ count[k] = 0; sum[k] = 0; }}
        for n in N {{ count[label[n]] += 1; sum[label[n]] += x[n]; }}
        for k in K if count[k] > 0 c[k] = sum[k] / f32(count[k]);
    }}
}}
""",
    )
    r, found = verify(tirc, "means.tir", "--schedule", "none")
    assert r.status == 0 and found["rounding"]["overflown"] == 0, r.err
    assert found["structure"]["exact"] == 16, found


def test_what_overflows_on_its_way_is_no_fault(tirc):
    tirc.write(
        "grow.tir",
        "kernel grow<N = 8>(x: f32[N]) -> y: f32[N] { "
        "for i in N y[i] = (x[i] + 2.0) * 1e30 * 1e30 * 1e-30 * 1e-30; }\n",
    )
    r, found = verify(tirc, "grow.tir", "--schedule", "none")
    assert r.status == 4 and "E0636" in r.err and "E0635" not in r.err, r.err


@pytest.mark.parametrize("kind, small", [("bf16", "1e-38"), ("f16", "6e-6"), ("f32", "1e-38")])
def test_underflow_is_no_fault(tirc, kind, small):
    """Results below the smallest normal number are rounded to multiples of the smallest one."""
    tirc.write(
        "small.tir",
        f"""
kernel small<N = 500>(x: {kind}[N], s: {kind}[N]) -> y: {kind}[N]
{{ for i in N y[i] = x[i] * {kind}({small}) * s[i] * s[i]; }}
""",
    )
    r, found = verify(tirc, "small.tir", "--schedule", "none")
    assert r.status == 0 and found["rounding"]["checked"] == 500, r.err


def test_elements_are_counted_in_the_run_that_checks_most(tirc):
    """Products that overflow on random inputs, but not on zeros, and choices by rounding."""
    tirc.write(
        "parts.tir",
        "kernel parts<N = 64>(x: f32[N], w: f32[N]) -> y: f32[N], z: f32[N] { "
        "for i in N y[i] = x[i] * 1e30 * 1e30; "
        "for i in N z[i] = x[i] * 0.1 == x[i] * 0.1 ? w[i] : x[i]; }\n",
    )
    r, found = verify(tirc, "parts.tir", "--schedule", "none")
    checked, of = map(int, re.search(r"only (\d+) of (\d+) elements", r.err).groups())
    assert r.status == 4 and checked == found["structure"]["exact"] < of, r.err


def test_what_is_checked_in_part_is_not_ok(tirc):
    tirc.write(
        "part.tir",
        """
kernel part<N = 100>(x: f32[N]) -> y: f32[N] {
    temp t: f32[N];
    for i in N t[i] = exp(x[i] + 0.5) - exp(x[i] + 0.5) + 1e-12;
    for i in N y[i] = i < 10 ? x[i] : 1.0 / t[i];
}
""",
    )
    r, found = verify(tirc, "part.tir", "--schedule", "none")
    assert (
        r.status == 4
        and "error[E0636]" in r.err
        and "10 of 100 elements" in r.err
        and "'y' has elements without an error bound, the first is element 10" in r.err
    ), r.err
    assert not found["ok"] and found["checked"] == 10 and found["rounding"]["unbounded"] == 90
    assert (
        "verify  PARTLY: 10 of 100"
        in tirc("part.tir", "--schedule", "none", "--device", "sim", "--verify").out
    )


def test_a_factorization_is_checked_on_well_conditioned_inputs(tirc):
    """Random matrices have no bounded LU factors; those of a matrix near the identity are all
    checked."""
    r, found = verify(tirc, EXAMPLES / "polybench" / "lu.tir", "-D", "N=40")
    assert (
        r.status == 0 and found["ok"] and found["rounding"]["checked"] == found["total"] == 1600
    ), found
    assert "well-conditioned" in found["method"]


def test_bounds_of_a_short_sum_tell_much(tirc):
    r, found = verify(tirc, MATMUL, *SMALL)
    assert (
        r.status == 0 and found["rounding"]["wide"] == 0 and found["structure"]["exact"] == 20 * 33
    )


PATHS = """kernel paths<N = 96>(inout d: f32[N, N])
{
    for k in N, i in N, j in N
        d[i, j] = min(d[i, j], d[i, k] + d[k, j]);
}
"""


def test_a_minimum_has_the_error_of_what_it_takes(tirc):
    """The bound of the larger error doubled in each round."""
    tirc.write("paths.tir", PATHS)
    r, found = verify(tirc, "paths.tir", "--range", "d=0..1")
    assert r.status == 0 and found["ok"] and found["rounding"]["wide"] == 0


@pytest.mark.parametrize("function", ["min", "max", "minimum", "maximum"])
def test_values_that_rounding_exchanges_have_the_larger_error(tirc, function):
    """One is the other, with an error of up to 0.004."""
    rounded = "(x[i] + 65536.0) - 65536.0"
    for operands in (f"x[i], {rounded}", f"{rounded}, x[i]"):
        body = f"for i in 100 y[i] = {function}({operands});"
        tirc.write("near.tir", f"kernel near(x: f32[100]) -> y: f32[100] {{ {body} }}\n")
        r, found = verify(tirc, "near.tir")
        assert r.status == 0 and found["ok"] and found["max_error"] > 0.001


def test_the_largest_error_is_the_largest(tirc):
    """Not the one that comes nearest to its bound: here that of an element with a small bound."""
    tirc.write(
        "two.tir",
        "kernel two<N = 64>(x: f32[N]) -> y: f32[N] { "
        "for i in N y[i] = i < 32 ? sqrt(abs(x[i]) + 1.0) : exp(x[i]) * 1000.0; }\n",
    )
    r, found = verify(tirc, "two.tir", "--schedule", "none")
    assert r.status == 0 and found["max_error"] > 1e-6, found
    assert found["max_error"] / found["bound"] <= found["rounding"]["nearest"]


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_a_loop_beyond_the_output(tirc, size):
    """A condition keeps the stores inside; the sampled reference asked which rows are wanted before
    it."""
    tirc.write(
        "k.tir",
        "kernel k<N>(x: f32[N]) -> y: f32[N] { for i in -1..3 if i >= 0 && i < N y[i] = x[i] + 1; "
        "for i in 3..N y[i] = x[i]; }",
    )
    r = tirc("k.tir", "--verify", "--device", "sim", "--size", f"N={size}")
    assert r.status == 0 and f"ok: {size} of {size} elements checked" in r.out, r.err


def test_a_time_step_too_many(tirc):
    """Where errors of recurrences may grow, bounds tell something at small sizes, if not at large
    ones; --verify says which."""
    program, small = EXAMPLES / "polybench/adi.tir", ("-D", "STEPS=3", "-D", "N=16")
    lowered = tirc(program, *small, "--emit", "lowered").out
    tirc.write("changed.tir", lowered.replace("for t in 3 {", "for t in 4 {", 1))
    r, found = verify(tirc, "changed.tir", "--against", program)
    assert lowered.count("for t in 3 {") == 1 and r.status == 4 and found["wrong"] > 100
    _, found = verify(tirc, program, *small)
    assert found["rounding"]["wide"] == 0
    _, found = verify(tirc, program, "-D", "STEPS=3", "-D", "N=33")
    assert found["rounding"]["wide"] > 900
