"""Requantization with ties, by hand: the integer reference and the generated C share the code of the offsets."""

from typing import Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike
from pydantic import ValidationError

from tinysplit.network.fixed_point.arithmetic import Requantization, TfliteRequantization
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import Add, Dense, Mul, Shape
from tinysplit.network.layers.joining import Alignment
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit.project.layer_formats import ProjectFormats, ProjectTfliteRequantization

ONE = ValueFormat(8, 1.0)  # integers stand for themselves


def applied(requantization: Requantization, sums: ArrayLike, zero_point: int = 0) -> list[int]:
    return list(requantization.apply(np.array(sums), zero_point))


def test_halves_go_up_on_both_sides_of_zero() -> None:
    # in halves: -2.5, -1.5, -0.5, 0.5, 1.5, 2.5
    assert applied(Requantization((1,), 1), [-5, -3, -1, 1, 3, 5]) == [-2, -1, 0, 1, 2, 3]


def test_halves_go_up_behind_a_factor_and_a_zero_point() -> None:
    # 3/4 of 2, 6 and -2: 1.5, 4.5 and -1.5
    assert applied(Requantization((3,), 2), [2, 6, -2], zero_point=10) == [12, 15, 9]


def test_a_little_less_than_a_half_goes_down() -> None:
    # 7/16 = 0.4375, 8/16 = 0.5, 9/16 = 0.5625, and the same one further
    assert applied(Requantization((1,), 4), [7, 8, 9, 23, 24, 25]) == [0, 1, 1, 1, 2, 2]


def test_without_a_last_shift_nothing_is_added() -> None:
    assert applied(Requantization((5,), 0), [-3, 0, 7], zero_point=1) == [-14, 1, 36]


def test_the_first_shift_floors_what_the_bias_has_rounded() -> None:
    first_shift = Requantization((1,), 0, pre_shift=3)
    assert first_shift.sum_rounding == 4
    # 11/8, 12/8 and -12/8 with half a step: 15 >> 3, 16 >> 3 and -8 >> 3
    assert applied(first_shift, np.array([11, 12, -12]) + first_shift.sum_rounding) == [1, 2, -1]
    assert Requantization((1,), 3).sum_rounding == 0


@pytest.mark.parametrize(
    ("x", "expected"),
    # 3 x + 2 in steps of the sums; an output is 4 * 2 = 8 of them:
    # 14/4 = 3.5 -> 4, 4/2 = 2; 17/4 = 4.25 -> 4 -> 2; 8/4 = 2 -> 1; -10/4 = -2.5 -> -2 -> -1; -13/4 -> -3, -3/2 -> -1
    [(4, 2), (5, 2), (2, 1), (-4, -1), (-5, -1), (0, 1)],
)
def test_both_shifts_of_a_layer_round_halves_up(x: int, expected: int) -> None:
    requantization = Requantization((1,), 1, pre_shift=2)
    formats = LayerFormats((ONE,), ValueFormat(8, 8.0), 8, requantization)
    layer = Dense(
        name="fc",
        inputs=("x",),
        output="y",
        in_shape=Shape(1, 1, 1),
        weights=np.array([[3]], np.float32),
        bias=np.array([2], np.float32),
    )
    quantized = QuantizedLayer.of(layer, formats)
    assert (quantized.constants["weights"].tolist(), quantized.constants["bias"].tolist()) == ([[3]], [2 + 2])
    output = layer.integer_reference(quantized, np.array([[[[x]]]], np.int8))
    assert output.tolist() == [[[[expected]]]]


def test_sums_of_values_round_halves_up() -> None:
    add = Add(
        name="a", inputs=("x", "z"), output="y", in_shape=Shape(1, 1, 1), other_shapes=(Shape(1, 1, 1),), signs=(1, 1)
    )
    quantized = QuantizedLayer.of(add, LayerFormats((ONE, ONE), ValueFormat(8, 2.0)))
    pairs = [(1, 2), (1, 4), (-1, -2), (-2, -3), (3, 3)]  # halves: 1.5, 2.5, -1.5, -2.5 and 3
    outputs = [
        add.integer_reference(quantized, *(np.array([[[[value]]]], np.int8) for value in pair)).item() for pair in pairs
    ]
    assert outputs == [2, 3, -1, -2, 3]


def test_an_alignment_holds_half_a_step_and_the_zero_points() -> None:
    factors, offset, shift = Alignment.of((0.5, 1.0), (3, -2), 5, 128)
    # An output is 5, and half of (x0 - 3), and (x1 + 2).
    for x0, x1, expected in ((3, -2, 5), (4, -2, 6), (2, -2, 5), (6, 0, 9), (0, 0, 6)):
        assert (factors[0] * x0 + factors[1] * x1 + offset) >> shift == expected


def test_products_round_halves_up() -> None:
    mul = Mul(name="m", inputs=("x", "z"), output="y", in_shape=Shape(1, 1, 1), other_shapes=(Shape(1, 1, 1),))
    quantized = QuantizedLayer.of(mul, LayerFormats((ONE, ONE), ValueFormat(8, 4.0)))
    pairs = [(2, 1), (3, 2), (-2, 1), (-3, 2), (3, 3), (1, 1)]  # quarters: 0.5, 1.5, -0.5, -1.5, 2.25, 0.25
    outputs = [
        mul.integer_reference(quantized, *(np.array([[[[value]]]], np.int8) for value in pair)).item() for pair in pairs
    ]
    assert outputs == [1, 2, 0, -1, 2, 0]


@pytest.mark.parametrize(
    ("requantization", "bound", "zero_point", "largest"),
    [
        (Requantization((10,), 0, pre_shift=1), 5, 0, 30),  # -5 >> 1 is -3
        (Requantization((10,), 2, pre_shift=2), 7, 0, 2 * 10 + 2),  # -7 >> 2 is -2; 2 are half a step of the output
        (Requantization((1,), 3), 100, -2, 101 + 12),  # 4 - 16
        (Requantization((1,), 0, pre_shift=4), 1000, 0, 1000),  # the sum itself
        (Requantization((2, 7), 0, pre_shift=1), 9, 0, 35),  # of the largest factor
    ],
)
def test_the_largest_value_on_the_way_counts_negative_sums(
    requantization: Requantization, bound: int, zero_point: int, largest: int
) -> None:
    assert requantization.largest(np.array([bound]), zero_point) == largest
    sums = range(-bound, bound + 1)
    reached = max(
        abs(value)
        for total in sums
        for factor in requantization.factors
        for product in ((total >> requantization.pre_shift) * factor,)
        for value in (total, product, product + requantization.offset(zero_point))
    )
    assert reached <= largest


def tflite_twice(sum_: int, multiplier: int, shift: int) -> int:
    """MultiplyByQuantizedMultiplier as TensorFlow Lite's C writes it: gemmlowp's functions, with C's division."""
    product = sum_ * multiplier
    nudged = product + ((1 << 30) if product >= 0 else 1 - (1 << 30))
    high = abs(nudged) // (1 << 31) * (1 if nudged >= 0 else -1)
    mask = (1 << shift) - 1
    threshold = (mask >> 1) + (high < 0)
    return (high >> shift) + ((high & mask) > threshold)


def tflite_once(sum_: int, multiplier: int, shift: int) -> int:
    """Return the nearest integer, halves up."""
    return (sum_ * multiplier + (1 << (30 + shift))) >> (31 + shift)


@pytest.mark.parametrize("rounding", ["once", "twice"])
def test_requantization_of_tflite_equals_its_c(rounding: Literal["once", "twice"]) -> None:
    rng = np.random.default_rng(3)
    oracle = {"once": tflite_once, "twice": tflite_twice}[rounding]
    for shift in (0, 1, 2, 5, 8, 20, 29):
        multiplier = (1 << 30, (1 << 31) - 1, int(rng.integers(1 << 30, 1 << 31)))[rng.integers(3)]
        requantization = TfliteRequantization((multiplier,), (shift,), rounding)
        largest = ((1 << 31) - 1) >> requantization.left_shift
        halves = [(2 * k + 1) << max(shift - 1, 0) for k in range(-20, 20)]
        drawn = (halves, rng.integers(-1000, 1000, 50), rng.integers(-largest, largest, 50), [largest, -largest])
        sums = np.concatenate(drawn).clip(-largest, largest)
        expected = [oracle(sum_, multiplier, shift) - 7 for sum_ in sums.tolist()]
        assert requantization.apply(sums[:, np.newaxis], -7).ravel().tolist() == expected


def test_ratios_of_tflite_have_multipliers_of_31_bits() -> None:
    found = TfliteRequantization.of(np.array([0.75, 0.5, 2.0**-40, 1 - 2.0**-33]))
    assert found is None  # the last one rounds to 1
    found = TfliteRequantization.of(np.array([0.75, 0.5, 2.0**-40]))
    assert found == TfliteRequantization((3 << 29, 1 << 30, 1 << 30), (0, 0, 39))
    assert found.right_shifts.tolist() == [0, 0, 31]
    assert found.of_channels(range(1, 3)) == TfliteRequantization((1 << 30, 1 << 30), (0, 39))
    assert ProjectFormats.of(LayerFormats((ONE,), ONE, 8, found)).layer_formats.requantization == found


def test_a_manifest_has_as_many_shifts_as_multipliers() -> None:
    with pytest.raises(ValidationError, match="there are 2 multipliers and 1 shifts"):
        ProjectTfliteRequantization(multipliers=(1 << 30, 1 << 30), shifts=(3,), rounding="twice")
