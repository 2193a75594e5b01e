"""The fraction by which averages are scaled: near the ratio of the scales, however small that is."""

import numpy as np
import pytest

from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import AveragePool, Shape, Window

INT32 = 2**31


@pytest.mark.parametrize("kernel", [1, 2, 7])
@pytest.mark.parametrize("x_bits", [8, 16])
def test_the_fraction_is_near_the_ratio_of_the_scales(kernel: int, x_bits: int) -> None:
    window = Window(kernel=(kernel, kernel))
    layer = AveragePool(name="pool", inputs=("x",), output="y", in_shape=Shape(7, 7, 3), window=window)
    for ratio in 2.0 ** np.random.default_rng(kernel).uniform(-16, 3, 200):
        formats = LayerFormats((ValueFormat(x_bits, float(ratio), 0),), ValueFormat(8, 1.0, 0))
        multiplier, divisor = layer.ratio(formats)
        assert multiplier / divisor == pytest.approx(ratio, rel=2**-8)
        assert max(multiplier, divisor) < INT32
        largest = kernel**2 * ((1 << x_bits - 1) * multiplier + divisor)
        assert layer.needs_64_bits(formats) == (largest >= INT32)


def test_powers_of_two_are_exact() -> None:
    layer = AveragePool(name="pool", inputs=("x",), output="y", in_shape=Shape(2, 2, 1), window=Window(kernel=(2, 2)))
    formats = LayerFormats((ValueFormat(16, 2.0**-13, 0),), ValueFormat(8, 1.0, 0))
    assert layer.ratio(formats) == (1, 1 << 13)
