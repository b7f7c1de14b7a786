"""What terms.py proves, and what it does not: sums of cut products, in other orders and places."""

import pytest

from conftest import simulate
from terms import terms

KERNEL = """kernel sums(A: f32[8], B: f32[8]) -> C: f32[1] product_digits(19), D: f32[1]
{{
  launch sums grid(1, 1, 1) block(1, 1, 1) {{
    C[0] = 0.0;
    D[0] = 0.0;
    {}
  }}
}}
"""
C, D, LATER = "C[0] += A[0] * B[0];", "D[0] += A[1] * B[1];", "C[0] += A[2] * B[2];"


def outputs(folder, exact, *statements):
    path = folder / "terms.tir"
    path.write_text(terms(KERNEL.format("\n    ".join(statements)), exact))
    status, fault, found = simulate(path)
    assert status == 0, found
    return found


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "others, same",
    [
        ((D, C, LATER), True),  # of different elements
        ((LATER, D, C), False),  # of one element
        ((C, LATER), False),
        ((C, D.replace("A[1]", "A[0]"), LATER), False),
    ],
)
def test_cut_products_keep_their_order(tmp_path, exact, others, same):
    right = outputs(tmp_path, exact, C, D, LATER)
    assert (outputs(tmp_path, exact, *others) == right) == same


def test_cut_sums_are_no_others(tmp_path):
    """The same terms, added in C or in D: C cuts their products."""
    in_c = outputs(tmp_path, False, C, "D[0] = C[0];")
    in_d = outputs(tmp_path, False, C.replace("C[0]", "D[0]"), "C[0] = D[0];")
    assert in_c != in_d
