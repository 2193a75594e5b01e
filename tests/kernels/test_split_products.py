"""Requantization by products of 32 bits against that of TensorFlow Lite, for all accumulators of a range."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from tinysplit.kernels.armv6m.split_products import MOST_SUM_BITS, SplitProducts
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization

SEEDS = range(12)
LARGEST_OUTPUTS = (1 << 6, 1 << 9, 1 << 11)  # before the clamp


def requantization_of(rng: np.random.Generator, rounding: Literal["once", "twice"]) -> TfliteRequantization:
    found = TfliteRequantization.of(2.0 ** -rng.uniform(4, 11, 6), rounding)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rounding", ["once", "twice"])
def test_split_products_give_the_outputs_of_tensorflow_lite(seed: int, rounding: Literal["once", "twice"]) -> None:
    rng = np.random.default_rng(seed)
    requantization, largest = requantization_of(rng, rounding), LARGEST_OUTPUTS[seed % len(LARGEST_OUTPUTS)]
    zero_point = -128 if seed % 2 else int(rng.integers(-128, 128))
    clamp = (zero_point, int(rng.integers(zero_point, 128))) if seed % 2 else (-128, 127)
    most = (largest / requantization.corrections).astype(int).tolist()
    ranges = [(-int(rng.integers(1, each)), int(rng.integers(0, each))) for each in most]
    ranges[1] = (ranges[1][0],) * 2  # a constant
    found = SplitProducts.find(requantization, zero_point, clamp, tuple(ranges))
    assert found is not None
    for channel, (low, high) in enumerate(ranges):
        sums, words = np.arange(low, high + 1), found.words[channel].tolist()
        expected = requantization.of_channels([channel]).apply(sums[:, np.newaxis], zero_point)[:, 0].clip(*clamp)
        total, values = np.zeros_like(sums), []
        for part in words[: found.parts]:
            values += [sums * part, total + sums * part]
            total = total + sums * part >> found.product_shift
        total += sums * words[found.parts]
        offsets = words[-1] + (sums < 0) * (words[found.parts + 1] if found.are_two else 0)
        for each in (*values, sums * words[found.parts], total, total + offsets):
            assert np.abs(each).max() < 1 << 31
        assert np.array_equal((clamp[0] + (total + offsets >> found.output_shift)).clip(*clamp), expected)


def test_nothing_is_found_for_large_sums_or_weights_that_others_may_replace() -> None:
    requantization = requantization_of(np.random.default_rng(0), "twice")
    small, large = ((-1000, 1000),) * 6, ((-(1 << MOST_SUM_BITS), 0),) * 6
    assert SplitProducts.find(requantization, -128, (-128, 127), small)
    assert SplitProducts.find(requantization, -128, (-128, 127), large) is None
    assert SplitProducts.find(replace(requantization, is_exchangeable=True), -128, (-128, 127), small) is None
