import numpy as np
import pytest

from tinysplit.network.fixed_point.arithmetic import dot, rounded_quotient, rounded_shift


@pytest.mark.parametrize(
    ("total", "shift", "expected"),
    [(5, 1, 3), (-5, 1, -2), (-6, 2, -1), (6, 2, 2), (-7, 2, -2), (9, 0, 9), (2**31 - 1 - 2**29, 30, 1)],
)
def test_shift_rounds_halves_up(total: int, shift: int, expected: int) -> None:
    assert rounded_shift(np.array(total), shift) == expected


@pytest.mark.parametrize(
    ("total", "count", "expected"),
    [(5, 2, 3), (-5, 2, -2), (-3, 2, -1), (7, 3, 2), (-7, 3, -2), (-8, 3, -3)],
)
def test_quotient_rounds_halves_up_below_zero_too(total: int, count: int, expected: int) -> None:
    assert rounded_quotient(np.array(total), count) == expected


def test_dot_is_exact_up_to_the_accumulators_limit() -> None:
    x = np.full((1, 2), -32768, np.int16)
    weights = np.array([[-32767, -32768], [32767, 1]], np.int16)
    assert dot(x, weights).tolist() == [[32768 * 65535, -(2**30)]]
