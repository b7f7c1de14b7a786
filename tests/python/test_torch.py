"""Kernels on tensors of torch in host memory, and as operators; skipped where there is no torch."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
import tirc  # noqa: E402

MATMUL = Path(__file__).resolve().parents[2] / "examples" / "matmul" / "matmul.tir"
BACKWARD = """
kernel backward<M = 1, N = 1, K = 1>(A: f32[M, K], B: f32[K, N], grad_C: f32[M, N])
    -> grad_A: f32[M, K], grad_B: f32[K, N]
{
    for i in M, k in K {
        grad_A[i, k] = 0;
        for j in N
            grad_A[i, k] += grad_C[i, j] * B[k, j];
    }
    for k in K, j in N {
        grad_B[k, j] = 0;
        for i in M
            grad_B[k, j] += A[i, k] * grad_C[i, j];
    }
}
"""
DOUBLE = "kernel double<N = 1, T: type = f32>(x: T[N]) -> y: T[2 * N] "
DOUBLE += "{ for i in 2 * N y[i] = x[i % N]; }"


@pytest.fixture(scope="module")
def matmul():
    kernel = tirc.compile(MATMUL, schedule="naive")
    return tirc.torch.op("tirc_test::matmul", kernel, backward=tirc.compile(BACKWARD))


def test_tensors_are_not_copied():
    mm = tirc.compile(MATMUL, schedule="naive")
    a, b, c = torch.rand(4, 5), torch.rand(5, 6), torch.empty(4, 6)
    assert mm(a, b, out=c) is c
    torch.testing.assert_close(c, a @ b)
    assert isinstance(mm(a, b), torch.Tensor)
    with pytest.raises(tirc.ArgumentValueError, match="'B' is not contiguous"):
        mm(a, torch.rand(6, 5).T)
    with pytest.raises(tirc.ArgumentTypeError, match="'A' has elements of type f32"):
        mm(a.double(), b)
    with pytest.raises(tirc.ArgumentValueError, match="'A' is on meta"):
        mm(a.to("meta"), b)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float64", "int8", "bool"])
def test_types(name):
    double = tirc.compile(DOUBLE)
    x = torch.tensor([1, 0, 3]).to(getattr(torch, name))
    y = double(x)
    assert y.dtype == x.dtype and torch.equal(y, torch.cat([x, x]))


def test_operators_pass_the_checks_of_torch(matmul):
    a = torch.rand(3, 4, requires_grad=True)
    b = torch.rand(4, 5, requires_grad=True)
    torch.library.opcheck(matmul, (a, b))
    torch.testing.assert_close(matmul(a, b), a @ b)


def test_gradients(matmul):
    def gradients(f):
        torch.manual_seed(0)
        a = torch.rand(3, 4, requires_grad=True)
        b = torch.rand(4, 5, requires_grad=True)
        f(a, b).sin().sum().backward()
        return a.grad, b.grad

    for mine, theirs in zip(gradients(matmul), gradients(torch.matmul)):
        torch.testing.assert_close(mine, theirs)


def test_shapes_without_data(matmul):
    double = tirc.torch.op("tirc_test::double", tirc.compile(DOUBLE))
    with torch._subclasses.FakeTensorMode():
        assert double(torch.empty(7, dtype=torch.float64)).shape == (14,)
        assert double(torch.empty(7, dtype=torch.float64)).dtype == torch.float64
        assert matmul(torch.empty(3, 4), torch.empty(4, 5)).shape == (3, 5)


def test_torch_compile_takes_it_whole(matmul):
    f = torch.compile(lambda a, b: matmul(a, b).relu() + 1, fullgraph=True, backend="aot_eager")
    for n in (3, 6):  # the second time with symbolic shapes
        a, b = torch.rand(n, 4), torch.rand(4, 5)
        torch.testing.assert_close(f(a, b), (a @ b).relu() + 1)


def test_programs_that_cannot_be_operators():
    kernel = tirc.compile("kernel f<N>(inout x: f32[N]) { for i in N x[i] += 1; }")
    with pytest.raises(ValueError, match="needs a kernel with outputs"):
        tirc.torch.op("tirc_test::in_place", kernel)
    mm = tirc.compile(MATMUL, schedule="naive")
    wrong = tirc.compile(BACKWARD.replace("grad_C", "grad_X"))
    with pytest.raises(ValueError, match="needs 'grad_X'"):
        tirc.torch.op("tirc_test::wrong", mm, backward=wrong)
