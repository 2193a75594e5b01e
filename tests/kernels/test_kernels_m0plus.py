"""Kernels for Cortex-M0+: C on the host and assembler on a virtual board against the integer reference."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernel_cases.kernels_on_board import DONE, OUTPUT, run_on_virtual_board
from kernel_cases.kernels_on_host import run_on_host
from kernel_cases.layer_cases import hard_inputs, quantize_one
from kernel_cases.m0plus_layers import MAKERS, allowed_inputs, common, floats, random_kernels, reference
from tinysplit.codegen.layer_source import LayerSource, render_layer
from tinysplit.kernels import Direct, candidates
from tinysplit.kernels.armv6m.common import UnsignedLayer
from tinysplit.kernels.armv6m.packed import HALF_WORD, Packed
from tinysplit.kernels.armv6m.sliding import Sliding
from tinysplit.kernels.cores import CORTEX_M0PLUS
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import Activation, AveragePool, Conv, Dense, DepthwiseConv, Window
from tinysplit.network.quantized_graph import QuantizedLayer

REQUANTIZATIONS = [(kind, False) for kind in MAKERS] + [(kind, True) for kind in MAKERS if "16 bits" not in kind]


@pytest.mark.parametrize(("kind", "is_tflite"), REQUANTIZATIONS)
def test_c_on_the_host_equals_the_integer_reference(kind: str, is_tflite: bool, tmp_path: Path) -> None:
    kernels = random_kernels(kind, is_tflite=is_tflite)
    inputs = [allowed_inputs(source) for source in kernels.values()]
    expected = [reference(source, xs) for source, xs in zip(kernels.values(), inputs, strict=True)]
    assert run_on_host(tmp_path, kernels, inputs) == b"".join(expected)


@pytest.mark.parametrize(("kind", "is_tflite"), REQUANTIZATIONS)
def test_assembler_equals_the_integer_reference(kind: str, is_tflite: bool, tmp_path: Path) -> None:
    for number, source in random_kernels(kind, is_tflite=is_tflite).items():
        [x] = allowed_inputs(source)
        x = x[: max(1, (DONE - OUTPUT) // 2 // source.quantized.layer.out_shape.size)]
        output = run_on_virtual_board(tmp_path / str(number), source, x)
        assert output == reference(source, [x]), render_layer(source, 1)


def test_averages_over_sums_of_64_bits_equal_the_integer_reference(tmp_path: Path) -> None:
    window = Window((8, 8))
    layer = AveragePool(**common(np.random.default_rng(5), 8, 8, 2) | {"activation": Activation()}, window=window)
    formats = LayerFormats((ValueFormat.of(16, 1.3, -77),), ValueFormat.of(16, 0.004, 5))
    assert layer.needs_64_bits(formats)
    source = LayerSource(QuantizedLayer.of(layer, formats), Direct())
    [x] = hard_inputs(np.random.default_rng(1), source.quantized)
    assert run_on_virtual_board(tmp_path, source, x) == reference(source, [x])


@pytest.mark.parametrize("x_low", [0, -128])
def test_no_group_of_packed_products_leaves_its_half_of_the_word(x_low: int) -> None:
    rng = np.random.default_rng(2)
    for scale in (0.0, 0.1, 0.3, 10.0):
        weights = rng.normal(0, scale, (8, 1, 1, 64)).astype(np.float32)
        weights[0, 0, 0, :8] = 20  # the largest magnitudes side by side
        layer = Conv(**common(rng, 1, 1, 64), weights=weights, bias=np.zeros(8, np.float32), window=Window((1, 1)))
        packed = replace(quantize_one(layer, (-1, 1), (-1, 1), 8), bounds=((x_low, 127),))
        unsigned = UnsignedLayer.of(packed)
        groups = Packed().context(packed).groups
        assert sorted(place for group in groups for place in group) == list(range(32))
        for group in groups:
            for loop in (0, 32):
                columns = loop + np.array(group)
                assert np.abs(unsigned.weights[:, columns]).sum(axis=1).max() * unsigned.x_high <= HALF_WORD


def test_layers_that_no_kernel_of_the_core_suits_are_left_to_the_plain_one() -> None:
    rng = np.random.default_rng(3)
    odd = Dense(**common(rng, 1, 1, 8), weights=floats(rng, 3, 8), bias=floats(rng, 3))
    wide = Dense(**common(rng, 1, 1, 8), weights=floats(rng, 4, 8), bias=floats(rng, 4))
    assert [each.name for each in candidates(odd, CORTEX_M0PLUS, Widths.all(8))] == ["direct"]
    assert [each.name for each in candidates(wide, CORTEX_M0PLUS, Widths.all(16))] == ["wide", "direct"]
    assert [each.name for each in candidates(wide, CORTEX_M0PLUS, Widths.all(8))] == ["packed", "streamed", "direct"]
    assert "packed" not in [each.name for each in candidates(wide, "cortex-m4", Widths.all(8))]


def test_windows_of_other_sizes_do_not_slide() -> None:
    rng = np.random.default_rng(4)
    layer = DepthwiseConv(
        **{**common(rng, 8, 8, 4), "activation": Activation()},
        weights=floats(rng, 5, 5, 4),
        bias=floats(rng, 4),
        window=Window((5, 5)),
    )
    assert not Sliding().fits(layer, CORTEX_M0PLUS, Widths.all(8))
