import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinysplit.network.fixed_point.formats import QFormat, ValueFormat


@pytest.mark.parametrize(
    ("bits", "fraction_bits", "name"), [(8, 7, "Q0.7"), (8, 4, "Q3.4"), (16, 15, "Q0.15"), (16, 10, "Q5.10")]
)
def test_names_are_those_of_seed_004(bits: int, fraction_bits: int, name: str) -> None:
    assert str(QFormat(bits, fraction_bits)) == name


@pytest.mark.parametrize(
    ("low", "high", "fraction_bits"),
    [
        (-3.9, 3.9, 5),  # the example of Singh 2024: 2 integer bits
        (0.0, 0.99, 7),
        (-1.0, 0.5, 7),  # -1 is -128 in Q0.7
        (0.0, 1.0, 6),  # 1 would be 128
        (0.0, 23.7, 2),
        (-32.0, 0.0, 2),
        (0.0, 0.01, 13),
        (0.0, 1000.0, -3),
        (0.0, 0.0, 7),
    ],
)
def test_format_for_a_range(low: float, high: float, fraction_bits: int) -> None:
    assert QFormat.for_range(8, low, high) == QFormat(8, fraction_bits)


def test_rounds_halves_up_and_saturates() -> None:
    values = np.array([0.5, 1.5, -0.5, -1.5, 0.49, -0.51, 126.5, 127.5, 1e9, -128.5, -129.0, -1e9])
    assert QFormat(8, 0).quantize(values).tolist() == [1, 2, 0, -1, 0, -1, 127, 127, 127, -128, -128, -128]


@given(
    bits=st.sampled_from([8, 16]),
    low=st.floats(-1e6, 0, width=32, allow_subnormal=False),
    high=st.floats(0, 1e6, width=32, allow_subnormal=False),
)
def test_a_range_is_held_within_half_a_step_and_one_more_bit_would_not_do(bits: int, low: float, high: float) -> None:
    chosen = QFormat.for_range(bits, low, high)
    finer = QFormat(bits, chosen.fraction_bits + 1)
    ends = np.array([low, high])

    def holds(q: QFormat) -> bool:
        return bool((np.abs(q.dequantize(q.quantize(ends)) - ends) <= 0.5 * 2.0**-q.fraction_bits).all())

    assert holds(chosen)
    assert not holds(finer) or low == high == 0


@pytest.mark.parametrize(
    ("scale", "zero_point", "name"),
    [(0.5847, 83, "0.585*Q7.0 at 83"), (6 / 127, 0, "0.756*Q3.4"), (2.0**-4, -128, "Q3.4 at -128"), (0.5, 0, "Q6.1")],
)
def test_other_scales_are_named_by_the_q_format_around_them(scale: float, zero_point: int, name: str) -> None:
    assert str(ValueFormat.of(8, scale, zero_point)) == name
