"""How schedule `default` computes products that others use: in the tiles of a product alone."""

import os
import subprocess

# The results of the first product are not used before there are those of the second.
SUM_OF_TWO = """
kernel sum_of_two<M = 4096, N = 4096, K = 1024>
    (x: bf16[M, K], y: bf16[M, K], v: bf16[N, K], w: bf16[N, K]) -> z: bf16[M, N]
{
    temp a: f32[M, N];
    temp b: f32[M, N];
    for i in M, j in N {
        a[i, j] = 0;
        for k in K
            a[i, j] += f32(x[i, k]) * f32(v[j, k]);
    }
    for i in M, j in N {
        b[i, j] = 0;
        for k in K
            b[i, j] += f32(y[i, k]) * f32(w[j, k]);
    }
    for i in M, j in N
        z[i, j] = bf16(a[i, j] + b[i, j]);
}

schedule in_turns for sum_of_two()
{
    let [first, second, _] = blocks();
    matmul_by_tensor_cores(first, [64, 64, 64, 2], 1, 8, true, 3);
    matmul_by_tensor_cores(second, [64, 64, 64, 2], 1, 8, false, 3);
}
"""


def tirc(program, *options):
    command = [os.environ["TIRC"], "-", *options]
    done = subprocess.run(command, input=program, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_results_that_others_use_later_have_the_tiles_of_others():
    """Blocks take turns, and the hardware stores both results."""
    text = tirc(SUM_OF_TWO, "--emit", "cuda")
    assert text.count("store_bulk_2d(") == 2 + 1, text  # one is the function
    assert text.count(", dim3(128, 3), 229440>>>") == 2


def test_results_that_others_use_later_are_right():
    sizes = ("-DM=192", "-DN=128", "-DK=256", "--schedule", "in_turns")
    said = tirc(SUM_OF_TWO, *sizes, "--verify", "--device", "sim")
    assert said.count("<<<(3, 1, 1), (256, 1, 1)>>>") == 2 and "verify  ok" in said, said
