"""Guards against sums beyond 32 bits and weights beyond -127 to 127, at their limits by hand."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from models.networks import chain, dense
from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, Requantization
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.calibrated_parameters import calibrate_parameters
from tinysplit.quantize.choose_formats import quantize
from tinysplit.quantize.rounding import round_weights
from tinysplit.quantize.weight_scales import keep, largest_sum

BYTES, WORDS = ValueFormat(8, 1.0), ValueFormat(16, 1.0)  # integers stand for themselves
FROM_0_TO_127 = (0, 127)


def network(weight: float, bias: float) -> QuantizedGraph:
    """Return a layer y = weight * x + bias for x of 16 bits, with weights and sums in steps of 1, outputs in 2**17."""
    formats = LayerFormats((WORDS,), ValueFormat(16, 2.0**17), 8, Requantization((1,), 17))
    layer = dense([[weight]], [bias])
    bounds = ((0, 32767),)
    return QuantizedGraph(chain(layer), 16, (QuantizedLayer.of(layer, formats, bounds),))


def test_a_bias_correction_that_could_overflow_is_left_out() -> None:
    # 1.375 becomes 1, so that x = 32000 lacks 0.375 * 32000 = 12000, which is 94 * 128 in float32's steps of this size.
    # The largest value on the way is the bias, 32767 for x, 1 for a sum below zero and 65536 for rounding: one too many
    # with a bias of 2**31 - 2**15 - 2**16 and beyond.
    x = np.full((4, 1, 1, 1), 32000, np.float32)
    first_too_large = 2**31 - 2**15 - 2**16
    for bias, is_corrected in ((first_too_large - 95 * 128, True), (first_too_large - 94 * 128, False)):
        own = network(1.375, bias)
        [better] = calibrate_parameters(own, own, x).layers
        assert better.constants["weights"].tolist() == [[1]]
        assert better.constants["bias"].tolist() == [bias + 94 * 128 if is_corrected else bias]
        assert (better is own.layers[0]) != is_corrected


@pytest.mark.parametrize("weight", [1, -1])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_value_that_quantize_takes_is_that_of_32_bits(sign: int, weight: int) -> None:
    # The largest of w * x is 32767 or, for x = -32768, 32768; a sum below zero takes 1 more when it is shifted, and
    # rounding 65536.
    largest_product = 32768 if sign * weight < 0 else 32767
    bias = 2**31 - 1 - 65536 - 1 - largest_product
    [layer], formats = network(1.0, 0.0).graph.layers, network(1.0, 0.0).layers[0].formats
    for more in (0, 1):
        integers = IntegerParameters(np.array([[weight]], np.int8), np.array([sign * (bias + more)], np.int32))

        def quantized(parameters: IntegerParameters = integers) -> QuantizedGraph:
            return quantize(chain(layer), [formats], 16, {layer.output: parameters})

        if more:
            with pytest.raises(InputError, match=rf"layer 'fc': its sums can reach {2**31}, which overflows 32 bits"):
                quantized()
        else:
            assert largest_sum(quantized().layers[0]) == ACCUMULATOR_MAX


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("largest", [126.6, 127.0])
def test_weights_that_take_the_errors_of_others_stay_within_127(sign: int, largest: float) -> None:
    # The second input is 3 times the first one: its error of 0.4 asks 1.2 more of the first weight, which has no room.
    covariance = np.array([[1.0, 3.0], [3.0, 9.0]])
    rounded = round_weights(np.array([[sign * largest, sign * 0.4]]), covariance)
    assert rounded.tolist() == [[sign * 127, 0]]


def kept(integers: ArrayLike, bias: float = 0.0, bounds: tuple[int, int] = FROM_0_TO_127) -> LayerFormats | None:
    weights = np.array([integers], np.float64) * 0.25
    layer = replace(dense(weights, [bias]), qdq_scales=np.array([0.25]))
    return keep(layer, BYTES, replace(BYTES, scale=64.0), bounds)


@pytest.mark.parametrize("integers", [[127, -127], [1, 0], [-127, 5], [-128, 5], [128, 5]])
def test_weights_of_8_bits_are_kept_within_127(integers: list[int]) -> None:
    formats = kept(integers)
    assert formats is not None
    assert formats.weight_scales.tolist() == [0.25]
    rounded = dense(np.array([integers]) * 0.25, [0.0]).round_parameters(formats)
    assert rounded is not None
    assert rounded.weights.tolist() == [[min(max(value, -127), 127) for value in integers]]


@pytest.mark.parametrize("integers", [[-129, 5], [129, 5], [3.5, 5]])
def test_other_weights_are_not_kept(integers: list[float]) -> None:
    assert kept(integers) is None


def test_weights_are_not_kept_where_their_sums_could_overflow() -> None:
    # 2 * 127 * 127 and a bias in steps of a quarter
    assert kept([127, 127], bias=0.25 * 2.0**29) is not None
    assert kept([127, 127], bias=0.25 * 2.0**31) is None


def test_a_bound_that_only_negative_sums_reach_is_seen() -> None:
    # -(2**31 - 1) >> 16 is -2**15, 65536 times which is -2**31; (2**31 - 1) >> 16 is 2**15 - 1
    requantization = Requantization((65536,), 0, pre_shift=16)
    assert requantization.largest(np.array([ACCUMULATOR_MAX]), 0) == ACCUMULATOR_MAX + 1
