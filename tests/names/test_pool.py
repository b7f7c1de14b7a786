"""Programs whose names come from a small pool, x, x_, max, max_1 ..., so that nearly every name is
taken, in every role at once.

The emitted text runs on the host and is compared with Python; --emit cu checks itself there,
too."""

import random

import host
import hostile
from test_names import tirc

POOL = """
x x_ x_1 x_2 max max_ max_1 max__1 min min_ and and_ and_1 int int_ y y_ y_1 old old_ result result_
x_v max_v x_v1 i i_ i_0 i_0_ x_host y_host want_y want_x y_err y_err_1 y_abs y_n y_need_0 range
range_ check check_1 argc argv rest bound exp exp_ exp_1 x_local max_local y_acc y_init
shared_memory data x_data
""".split()
LANES = hostile.LANES


def program(draw):
    """One with two inputs, a scalar, a size, a temp, nested loops, a reduction and a schedule that
    splits, stages and vectorizes."""
    names = draw.sample(POOL, 16)
    kernel, size, scalar, a, b, t, y, z, i, j, k, label, outer, inner, lane, i2 = names
    if draw.random() < 0.5:
        kernel = draw.choice(
            names[1:]
        )  # its function and what is called alike in it are two things
    scale, n = draw.randint(1, 3), draw.randint(2, 4)
    last = draw.choice(
        [f"vectorize({inner});", f"unroll({inner});", f"let [{lane}, zl] = split({inner}, [_, 2]);"]
    )
    text = f"""kernel {kernel}<{size}>({a}: f32[{LANES}], {scalar}: f32, {b}: f32[{LANES}])
    -> {y}: f32[{LANES}], {z}: f32[{LANES}]
{{
    temp {t}: f32[{LANES}];
    for {i} in {LANES}
        {t}[{i}] = {a}[{i}] > {scalar} ? {scalar} : {a}[{i}];
    for {j} in {LANES} {{
        {y}[{j}] = 0;
        for {k} in {size}
            {label}: {y}[{j}] += {t}[{j}] * {scale} + {k};
    }}
    for {i2} in {LANES}
        {z}[{i2}] = max({y}[{i2}], {b}[{i2}]) + {scalar};
}}
schedule zs for {kernel}
{{
    let [{outer}, {inner}] = split(loops({z})[0], [_, 4]);
    bind({outer}, blockIdx.x);
    let zc = cache_read({z}, {b}, local);
    compute_at(zc, {outer});
    vectorize(loops(zc)[-1]);
    {last}
}}
"""
    av, bv, s = (
        hostile.column(draw.randint(0, 6)),
        hostile.column(draw.randint(0, 6)),
        draw.randint(-2, 2),
    )
    tv = [min(v, s) for v in av]
    yv = [n * v * scale + n * (n - 1) // 2 for v in tv]
    zv = [max(p, q) + s for p, q in zip(yv, bv)]
    return hostile.Program(
        text,
        ["--schedule", "zs", "-D", f"{size}=?"],
        {a: av, b: bv, scalar: s, size: n},
        {y: yv, z: zv},
    )


def chosen(whole):
    draw = random.Random(12)
    return [(f"pool_{k}", program(draw)) for k in range(1000 if whole else 16)]


def batches(programs, size=100):
    return [programs[at : at + size] for at in range(0, len(programs), size)]


def test_results_are_right(whole):
    for batch in batches(chosen(whole)):
        assert host.check([(name, p, tirc(p, "--emit", "json")) for name, p in batch]) == []


def test_complete_programs_check_themselves(whole):
    for batch in batches(chosen(whole)):
        text = "".join(
            host.one_of_many(tirc(p, "--emit", "cu"), number) for number, (_, p) in enumerate(batch)
        )
        calls = "".join(host.call_of_main(number, ["3"]) for number in range(len(batch)))
        status, output = host.run(host.HEADER + text + host.main_of(calls))
        assert status == 0 and output.count(" elements checked, 0 wrong") == len(batch), output[
            :3000
        ]


def test_text_reads_back(whole):
    for _, p in chosen(whole):
        plain = hostile.Program("", p.arguments[2:], {}, {})
        for emit in ("tir", "lowered"):
            text = tirc(p, "--emit", emit)
            assert tirc(plain, "--emit", emit, text=text) == text
