"""Requantization by one product against that of TensorFlow Lite, for all accumulators of a range."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from tinysplit.kernels.dsp.single_products import BYTE_HIGH, BYTE_LOW, SingleProducts
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray

SEEDS = range(12)


def requantization_of(rng: np.random.Generator, rounding: Literal["once", "twice"]) -> TfliteRequantization:
    ratios = 2.0 ** -rng.uniform(2, 11, 6)
    ratios[0] = 2.0 ** -int(rng.integers(3, 10))  # exact halves
    found = TfliteRequantization.of(ratios, rounding)
    assert found is not None
    return found


def clamped(values: IntArray) -> IntArray:
    limited: IntArray = values.clip(BYTE_LOW, BYTE_HIGH)
    return limited


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rounding", ["once", "twice"])
def test_least_sums_are_those_at_which_outputs_begin(seed: int, rounding: Literal["once", "twice"]) -> None:
    requantization = requantization_of(np.random.default_rng(seed), rounding)
    outputs = np.arange(-200, 200)
    least = requantization.least_sums(outputs).T
    assert np.all(requantization.apply(least, 0) >= outputs[:, np.newaxis])
    assert np.all(requantization.apply(least - 1, 0) < outputs[:, np.newaxis])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rounding", ["once", "twice"])
def test_single_products_give_the_outputs_of_tensorflow_lite(seed: int, rounding: Literal["once", "twice"]) -> None:
    rng = np.random.default_rng(seed)
    requantization = requantization_of(rng, rounding)
    zero_point = BYTE_LOW if rounding == "twice" else int(rng.integers(BYTE_LOW, BYTE_HIGH))
    ranges = [(-int(rng.integers(1, 1 << 17)), int(rng.integers(0, 1 << 17))) for _ in requantization.shifts]
    ranges[1] = (ranges[1][0],) * 2  # a constant
    more_bits = (0, 8) * (len(ranges) // 2)
    found = SingleProducts.find(requantization, zero_point, tuple(ranges), more_bits)
    assert found is not None
    for channel, ((low, high), more) in enumerate(zip(ranges, more_bits, strict=True)):
        sums = np.arange(low, high + 1)
        expected = clamped(requantization.of_channels([channel]).apply(sums[:, np.newaxis], zero_point)[:, 0])
        products = (sums + found.extras[channel] << more) * found.factors[channel] >> 32
        shifted = products + found.seconds[channel]
        assert np.abs(shifted).max() < 1 << 31
        assert np.array_equal(clamped(shifted >> found.product_shift + more), expected)


def test_nothing_is_found_for_halves_that_go_down_below_the_zero_point() -> None:
    requantization = TfliteRequantization.of(np.array([0.0123456]))
    assert requantization is not None
    assert SingleProducts.find(requantization, 0, ((-10000, 10000),), (0,)) is None
    assert SingleProducts.find(requantization, 0, ((0, 10000),), (0,)) is not None


def test_nothing_is_found_where_other_weights_may_follow() -> None:
    requantization = TfliteRequantization.of(np.array([0.01]))
    assert requantization is not None
    assert SingleProducts.find(requantization, 0, ((0, 10000),), (0,)) is not None
    exchangeable = replace(requantization, is_exchangeable=True)
    assert SingleProducts.find(exchangeable, 0, ((0, 10000),), (0,)) is None


def test_nothing_is_found_for_ratios_without_room_for_a_shift() -> None:
    requantization = TfliteRequantization.of(np.array([0.3, 0.01]))
    assert requantization is not None
    assert SingleProducts.find(requantization, BYTE_LOW, ((0, 100), (0, 100)), (0, 0)) is None
