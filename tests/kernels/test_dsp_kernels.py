"""The kernels of cores with DSP instructions on shapes that suit them; the host runs the instructions' twins in C."""

from pathlib import Path

import numpy as np
import pytest

from kernel_cases.dsp_layers import (
    Maker,
    average_pool,
    conv,
    conv_transpose,
    dense,
    depthwise_conv,
    dilated_conv,
    grouped_conv,
    max_pool,
    quantized,
    tiled_conv,
)
from kernel_cases.kernels_on_host import all_kernels, assert_c_equals_the_reference, compile_all, write_layers
from kernel_cases.layer_cases import as_tflite, with_zero_points
from session.profiles import cases
from tinysplit.kernels import candidates, choose
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.kernels.dsp.planes import Planes
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import (
    Activation,
    Conv,
    DepthwiseConv,
    Pads,
    Shape,
    Window,
)

CORTEX_M4 = "cortex-m4"
CASES = cases(quick=3, full=5, nightly=64)


@pytest.mark.parametrize(
    ("maker", "kernel", "bits"),
    [
        (conv, "dual_mac", 8),
        (conv, "dual_mac", 16),
        (grouped_conv, "dual_mac", 8),
        (grouped_conv, "dual_mac", 16),
        (dilated_conv, "dual_mac", 8),
        (dilated_conv, "dual_mac", 16),
        (conv_transpose, "dual_mac", 8),
        (conv_transpose, "dual_mac", 16),
        (dense, "dual_mac", 8),
        (dense, "dual_mac", 16),
        (max_pool, "byte_lanes", 8),
        (average_pool, "byte_lanes", 8),
        (max_pool, "lanes", 16),
        (average_pool, "lanes", 16),
        (depthwise_conv, "planes", 8),
        (depthwise_conv, "planes", 16),
    ],
)
def test_c_equals_the_integer_reference(maker: Maker, kernel: str, bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    layers = [quantized(rng, maker(rng), bits) for _ in range(CASES)]
    assert {candidates(each.layer, CORTEX_M4, Widths.all(bits))[0].name for each in layers} == {kernel}
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("maker", [conv, dense, depthwise_conv, grouped_conv, dilated_conv, conv_transpose])
def test_c_equals_the_integer_reference_with_zero_points(maker: Maker, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    layers = [with_zero_points(rng, quantized(rng, maker(rng), 8)) for _ in range(CASES)]
    assert any(each.formats.x.zero_point for each in layers)
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("maker", [conv, dense, depthwise_conv, grouped_conv, dilated_conv, conv_transpose, tiled_conv])
def test_c_equals_the_integer_reference_with_requantization_of_tflite(maker: Maker, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    layers = [as_tflite(rng, quantized(rng, maker(rng), 8)) for _ in range(CASES)]
    for source in all_kernels(layers).values():
        assert source.weights_bytes <= source.kernel.weights_bytes(source.quantized.layer, Widths.all(8))
    assert_c_equals_the_reference(tmp_path, rng, layers)


def test_a_row_of_one_output_more_than_four_has_a_cap(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    layer = DepthwiseConv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=Shape(7, 7, 4),
        weights=rng.normal(size=(3, 3, 4)).astype(np.float32),
        bias=rng.normal(size=4).astype(np.float32),
        window=Window((3, 3)),
        activation=Activation(0.0, 1.0),
    )
    assert layer.out_shape.width == 5
    each = quantized(rng, layer, 8)
    assert each.clamp[1] < 127
    assert_c_equals_the_reference(tmp_path, rng, [each])


@pytest.mark.parametrize("bits", [8, 16])
def test_turned_planes_equal_the_integer_reference(bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    layers = []
    for size, stride, pads in ((3, 1, Pads(1, 1, 1, 1)), (3, 2, Pads(0, 1, 1, 0)), (5, 1, Pads(2, 1, 2, 2))):
        layer = DepthwiseConv(
            name="case",
            inputs=("x",),
            output="y",
            in_shape=Shape(8 * stride + size - stride - pads.top - pads.bottom, 7, 4),
            weights=rng.normal(size=(size, size, 4)).astype(np.float32),
            bias=rng.normal(size=4).astype(np.float32),
            window=Window((size, size), (stride, stride), pads=pads),
            activation=Activation(0.0, 1.0) if stride == 1 else Activation(),
        )
        assert layer.out_shape.height == 8
        layers.append(quantized(rng, layer, bits))
    assert all(Planes().context(each).is_turned for each in layers)
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("bits", [8, 16])
def test_planes_of_windows_that_are_columns_equal_the_integer_reference(bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    layers = []
    for size, stride, width, above in ((3, 1, 1, 0), (5, 2, 2, 2), (10, 1, 1, 4), (15, 1, 1, 0), (16, 2, 3, 7)):
        layer = DepthwiseConv(
            name="case",
            inputs=("x",),
            output="y",
            in_shape=Shape(15 + stride * above, width, 6),
            weights=rng.normal(size=(size, 1, 6)).astype(np.float32),
            bias=rng.normal(size=6).astype(np.float32),
            window=Window((size, 1), (stride, 1), pads=Pads(above, 0, above, 0)),
        )
        layers.append(quantized(rng, layer, bits))
    if bits == 8:
        layers += [as_tflite(rng, each) for each in layers]
    assert all(Planes().fits(each.layer, "cortex-m4", Widths.all(bits)) for each in layers)
    assert all(Planes().context(each).is_turned for each in layers)
    assert_c_equals_the_reference(tmp_path, rng, layers)


def test_what_instructions_do_not_reach_is_left_to_the_plain_loops() -> None:
    wide = Shape(8, 700, 2)
    depthwise = DepthwiseConv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=wide,
        weights=np.ones((5, 3, 2), np.float32),
        bias=np.zeros(2, np.float32),
        window=Window((5, 3)),
    )
    deep = Shape(1, 4, 3000)
    pointwise = Conv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=deep,
        weights=np.ones((4, 1, 1, 3000), np.float32),
        bias=np.zeros(4, np.float32),
        window=Window((1, 1)),
    )
    assert {candidates(layer, CORTEX_M4, Widths.all(8))[0].name for layer in (depthwise, pointwise)} == {"direct"}


@pytest.mark.slow
@pytest.mark.parametrize("has_zero_points", [False, True])
def test_winograd_equals_the_integer_reference(has_zero_points: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    layers = [quantized(rng, tiled_conv(rng), 8) for _ in range(CASES)]
    if has_zero_points:
        layers = [with_zero_points(rng, each) for each in layers]
    assert all(
        choose(shipped_table(), each.layer, CORTEX_M4, Widths.all(8), name="winograd").name == "winograd"
        for each in layers
    )
    assert "winograd" not in {choose(shipped_table(), each.layer, CORTEX_M4, Widths.all(8)).name for each in layers}
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-Og", "-O1", "-Os", "-O3"])
def test_c_compiles_at_every_optimisation_level(level: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    makers = (conv, dense, depthwise_conv, max_pool, average_pool)
    kernels = all_kernels([quantized(rng, maker(rng), bits) for maker in makers for bits in (8, 16)], (CORTEX_M4,))
    compile_all(
        ("arm-none-eabi-gcc", f"-mcpu={CORTEX_M4}", "-mthumb", level), tmp_path, write_layers(tmp_path, kernels)
    )
