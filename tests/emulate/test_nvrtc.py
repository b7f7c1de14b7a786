"""Many texts in one program of NVRTC: each that is refused is found, and no other."""

import nvrtc
import pytest

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="no NVRTC")

GOOD = (
    'extern "C" __global__ void f(float *x, const int N)\n{\n'
    "    if (threadIdx.x < N) x[threadIdx.x] = 1.0f;\n}\n"
)
SAME = GOOD.replace("float", "double")
REFUSED = {
    "no such name": GOOD.replace("1.0f", "y"),
    "a name of CUDA's": GOOD.replace("f(float", "sqrt(float"),
    "a constant of CUDA's name": "__constant__ float exp[4];\n" + GOOD.replace("1.0f", "exp[0]"),
    "a brace too many": GOOD + "}\n",
    "a brace too few": GOOD[:-2],
    "an operand that no register takes": GOOD.replace(
        "x[threadIdx.x] = 1.0f;", 'asm("mov.b32 %0, %1;" : "=r"(N) : "r"(x));'
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    compiler = nvrtc.Nvrtc()
    assert not compiler.refused([GOOD, SAME, GOOD])
    assert list(compiler.refused([GOOD, REFUSED[name], SAME, GOOD])) == [1]


def test_types_and_attributes_of_kernels():
    """No text is compiled alone because of them."""
    box = "struct alignas(64) TensorMap {\n    unsigned long long opaque[16];\n};\n"
    boxed = box + GOOD.replace("f(", "g(const __grid_constant__ TensorMap map, ")
    cluster = GOOD.replace("f(", "__cluster_dims__(2, 1, 1) __launch_bounds__(32) h(")
    texts = [GOOD, boxed, cluster, boxed]
    assert not nvrtc.Nvrtc().suspects(texts, range(len(texts)), nvrtc.SYNTAX)
