import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_cases.average_cases import KINDS_OF_AVERAGES, global_average, in_tiles, inputs_of_tiles, random_tiles
from kernel_cases.kernels_on_host import CORES, all_kernels, assert_c_equals_the_reference, compile_all, write_layers
from kernel_cases.layer_cases import (
    KINDS_AND_BITS,
    MAKERS,
    as_tflite,
    quantize_one,
    random_mixed,
    random_quantized,
    with_other_scales,
    with_zero_points,
)
from session.profiles import cases
from tinysplit.codegen.layer_source import LayerSource, render_layer
from tinysplit.common import package_files
from tinysplit.kernels import Direct, candidates
from tinysplit.kernels.dsp.dual_mac import DualMac
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import (
    KINDS,
    Activation,
    Add,
    ArgMax,
    AveragePool,
    Cell,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MatMul,
    MaxPool,
    Mul,
    Normalization,
    Pad,
    Pads,
    Permute,
    PRelu,
    Recurrent,
    Shape,
    Softmax,
    Upsample,
    Window,
)
from tinysplit.network.quantized_graph import QuantizedLayer

GOLDEN = Path(__file__).parents[1] / "golden"
COMPUTED = {name for name, kind in KINDS.items() if not kind.is_view}  # views have no C
OWN_FORMATS = {"arg_max", "softmax"}  # of outputs
WEIGHTED = ("conv", "depthwise_conv", "dense", "conv_transpose")
CASES_A_KIND = cases(quick=2, full=5, nightly=64)


def test_every_kind_has_a_template_and_every_template_a_kind() -> None:
    templates = {path.name.removesuffix(".c.j2") for path in (package_files.templates() / "layers").glob("*.j2")}
    assert templates == COMPUTED == {*MAKERS, *KINDS_OF_AVERAGES}


@pytest.mark.parametrize(("kind", "bits"), KINDS_AND_BITS)
def test_c_equals_the_integer_reference_bit_by_bit(kind: str, bits: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(bits)
    assert_c_equals_the_reference(tmp_path, rng, [random_quantized(rng, kind, bits) for _ in range(CASES_A_KIND)])


@pytest.mark.parametrize("kind", MAKERS)
def test_c_equals_the_integer_reference_with_mixed_widths(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    layers = [random_mixed(rng, kind) for _ in range(CASES_A_KIND)]
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("kind", sorted(set(MAKERS) - OWN_FORMATS))
def test_c_equals_the_integer_reference_with_zero_points(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    layers = [with_zero_points(rng, random_quantized(rng, kind, 8)) for _ in range(CASES_A_KIND)]
    assert sum(quantized.formats.x.zero_point != 0 for quantized in layers) > CASES_A_KIND // 2
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("kind", ["add", "average_pool", "concat", "mul", "prelu"])  # that bring values to other scales
def test_c_equals_the_integer_reference_with_other_scales(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    layers = [with_other_scales(rng, random_quantized(rng, kind, bits)) for bits in (8, 16) for _ in range(4)]
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("kind", WEIGHTED)
def test_c_equals_the_integer_reference_with_requantization_of_tflite(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    layers = [as_tflite(rng, random_quantized(rng, kind, 8)) for _ in range(CASES_A_KIND)]
    assert sum(isinstance(each.formats.requantization, TfliteRequantization) for each in layers) > CASES_A_KIND // 2
    assert_c_equals_the_reference(tmp_path, rng, layers)


def test_c_equals_the_integer_reference_with_averages_of_tflite(tmp_path: Path) -> None:
    rng = np.random.default_rng(13)
    drawn = [random_quantized(rng, "average_pool", 8) for _ in range(2 * CASES_A_KIND)]
    layers = [
        QuantizedLayer.of(replace(each.layer, tflite="AVERAGE_POOL_2D"), replace(each.formats, y=each.formats.x))
        for each in drawn
    ]
    layers += [QuantizedLayer.of(replace(each.layer, tflite="MEAN"), each.formats) for each in drawn]
    assert any(each.layer.mean(each.formats) for each in layers if isinstance(each.layer, AveragePool))
    assert_c_equals_the_reference(tmp_path, rng, layers)


def test_c_equals_the_integer_reference_with_zero_points_of_16_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    layers = [with_zero_points(rng, random_quantized(rng, "mul", 16)) for _ in range(8)]
    assert any(quantized.layer.is_halved(quantized.formats) for quantized in layers if isinstance(quantized.layer, Mul))
    assert_c_equals_the_reference(tmp_path, rng, layers)


def test_sums_of_rows_and_their_average_equal_the_average_of_the_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    for number in range(CASES_A_KIND):
        tiles = random_tiles(rng)
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_c_equals_the_reference(folder, rng, tiles, given=inputs_of_tiles(rng, tiles))


def very_large_pools(rng: np.random.Generator) -> list[QuantizedLayer]:
    """Return global averages of maps that no sum of 32 bits holds, square and long, and one of an odd scale."""
    pools = [
        AveragePool(
            name="case", inputs=("x",), output="y", in_shape=Shape(height, width, 2), window=Window((height, width))
        )
        for height, width in ((300, 300), (1, 70_000), (70_000, 1))
    ]
    square, *_ = whole = [quantize_one(pool, (-1.0, 0.9), (-0.1, 0.1), 16) for pool in pools]
    lanes = AveragePool(name="case", inputs=("x",), output="y", in_shape=Shape(4, 4, 4), window=Window((4, 4)))
    formats = LayerFormats((ValueFormat.of(8, 1.1, -7),), ValueFormat.of(8, 0.0001, 3))
    return [*whole, with_other_scales(rng, with_zero_points(rng, square)), QuantizedLayer.of(lanes, formats)]


def test_averages_over_sums_of_64_bits_equal_the_integer_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    layers = very_large_pools(rng)
    assert all(layer.layer.needs_64_bits(layer.formats) for layer in layers if isinstance(layer.layer, AveragePool))
    assert_c_equals_the_reference(tmp_path, rng, layers)


@pytest.mark.parametrize("core", CORES)
def test_flash_that_a_kernel_promises_holds_its_constants(core: str) -> None:
    rng = np.random.default_rng(2)
    for kind in MAKERS:
        layers = [random_mixed(rng, kind) for _ in range(cases(quick=4, full=12, nightly=100))]
        layers += [random_quantized(rng, kind, 16) for _ in range(4)]
        for quantized in layers:
            assert_promises_hold(quantized, core)
            if kind not in OWN_FORMATS:
                assert_promises_hold(with_zero_points(rng, quantized), core)


def random_large(rng: np.random.Generator) -> QuantizedLayer:
    """Return a fully connected layer of 8 bits whose sums may need more than 24, with biases like its products."""
    channels, inputs = int(rng.integers(1, 6)), int(2.0 ** rng.uniform(7, 12))
    choices = (rng.normal(size=(channels, inputs)), rng.choice([-1.0, 1.0], (channels, inputs)))
    weights = choices[rng.integers(2)] + rng.choice([0, 0, 3])
    bias = 16 * rng.normal(size=channels)
    dense = Dense(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=Shape(1, 1, inputs),
        weights=weights.astype(np.float32),
        bias=bias.astype(np.float32),
    )
    return quantize_one(dense, (-1.0, 1.0), (-64.0, 64.0), 8)


def test_weights_of_eight_bits_take_a_byte_each_whether_words_are_shared_or_not() -> None:
    rng = np.random.default_rng(8)
    large = [random_large(rng) for _ in range(cases(quick=30, full=60, nightly=300))]
    for quantized in large:
        assert_promises_hold(quantized, "cortex-m4")
        assert_promises_hold(with_zero_points(rng, quantized), "cortex-m4")
    widths = [DualMac().context(quantized).weight_layout for quantized in large]
    assert {"packed", "bytes"} == set(widths)


def test_sums_of_more_than_24_bits_equal_the_integer_reference(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    dense = Dense(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=Shape(1, 1, 700),
        weights=rng.choice([-1.0, 1.0], (6, 700)).astype(np.float32),
        bias=rng.normal(size=6).astype(np.float32),
    )
    conv = Conv(
        name="case",
        inputs=("x",),
        output="y",
        in_shape=Shape(3, 5, 128),
        weights=rng.choice([-1.0, 1.0], (6, 3, 3, 128)).astype(np.float32),
        bias=rng.normal(size=6).astype(np.float32),
        window=Window((3, 3), pads=Pads(1, 1, 1, 1)),
    )
    large = [quantize_one(layer, (-1.0, 1.0), (-64.0, 64.0), 8) for layer in (dense, conv)]
    large += [*(with_zero_points(rng, each) for each in large), *(as_tflite(rng, each) for each in large)]
    assert {DualMac().context(quantized).weight_layout for quantized in large} == {"bytes"}
    assert_c_equals_the_reference(tmp_path, rng, large)


def assert_promises_hold(quantized: QuantizedLayer, core: str) -> None:
    widths = Widths.of(quantized.formats)
    for kernel in candidates(quantized.layer, core, widths):
        needed, promised = LayerSource(quantized, kernel).weights_bytes, kernel.weights_bytes(quantized.layer, widths)
        assert needed <= promised, (kernel.name, quantized.layer, widths)


@pytest.mark.slow
@pytest.mark.parametrize("core", CORES)
def test_c_compiles_without_warnings_for_the_cores(core: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    layers = [
        *(random_quantized(rng, kind, bits) for kind, bits in KINDS_AND_BITS),
        *very_large_pools(rng),
        *random_tiles(rng),
    ]
    kernels = all_kernels(layers, (core,))
    compile_all(("arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-O2"), tmp_path, write_layers(tmp_path, kernels))


def test_constants_are_symbols_of_their_size_in_their_own_sections(tmp_path: Path) -> None:
    source = golden_kernels()["conv"]
    [path] = write_layers(tmp_path, {3: source})
    [target] = compile_all(("arm-none-eabi-gcc", "-mcpu=cortex-m0plus", "-mthumb", "-O2"), tmp_path, [path])
    command = ["arm-none-eabi-objdump", "--syms", str(target)]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # address, flags ("O" is an object), section, size, name
    objects = {row[-1]: row[-3:-1] for row in map(str.split, table.splitlines()) if "O" in row}
    assert objects == {
        f"layer_3_{name}": [f".weights.layer_3_{name}", f"{values.nbytes:08x}"]
        for name, values in source.constants.items()
    }


@pytest.mark.parametrize(
    "name", ["plain", "ends */ the comment", "/* nested", "back\\", "two\nlines", "ünïcode", "long" * 100]
)
def test_any_layer_name_leaves_valid_c(name: str, tmp_path: Path) -> None:
    layer = Softmax(name=name, inputs=("x",), output="y", in_shape=Shape(1, 1, 2))
    quantized = quantize_one(layer, (-1.0, 1.0), (0.0, 1.0), 8)
    compile_all(("gcc",), tmp_path, write_layers(tmp_path, {1: LayerSource(quantized, Direct())}))


RAMP = np.linspace(-1, 1, 36, dtype=np.float32)
SMALL_SHAPE = Shape(4, 4, 2)
SMALL: dict[str, Any] = {"name": "example", "inputs": ("x",), "output": "y", "in_shape": SMALL_SHAPE}


@pytest.mark.parametrize(("groups", "unit"), [(1, 1), (2, 2)])
def test_groups_of_channels_over_a_map_are_in_place_by_whole_pixels(groups: int, unit: int) -> None:
    layer = Normalization(**SMALL, gamma=RAMP[:2], beta=RAMP[:2], epsilon=0.0, groups=groups, over_map=True)
    assert Direct().lead(layer, 0, Widths(8, 8, 8)) == (0, unit)


def golden_kernels() -> dict[str, LayerSource]:
    """Return the plain kernel of one small layer a kind; between them they show all that the templates can print."""
    layers = (*golden_layers_with_weights(), *golden_layers_without_weights())
    quantized = [quantize_one(layer, (-4.0, 3.9), (-1.9, 3.9), bits) for layer, bits in layers]
    average = quantize_one(global_average(SMALL_SHAPE), (-4.0, 3.9), (-1.9, 3.9), 8)
    return {each.layer.kind: LayerSource(each, Direct()) for each in (*quantized, *in_tiles(average, [3, 1]))}


def golden_layers_with_weights() -> list[tuple[Layer, int]]:
    """Return layers and their bits."""
    conv = Conv(
        **SMALL,
        weights=np.resize(RAMP, (3, 3, 3, 2)),
        bias=np.array([0.5, -0.25, 0], np.float32),
        window=Window((3, 3), pads=Pads(1, 1, 1, 1)),
        activation=Activation(0.0, 6.0),
    )
    depthwise = DepthwiseConv(
        **SMALL,
        weights=np.resize(RAMP, (3, 3, 2)),
        bias=np.zeros(2, np.float32),
        window=Window((3, 3), (2, 2), pads=Pads(0, 0, 1, 1)),
        activation=Activation(0.0, np.inf),
    )
    vector: dict[str, Any] = SMALL | {"in_shape": Shape(1, 1, 4)}
    dense = Dense(**vector, weights=RAMP[:12].reshape(3, 4), bias=np.ones(3, np.float32))
    transposed = ConvTranspose(
        **SMALL,
        weights=np.resize(RAMP, (3, 2, 2, 2)),
        bias=np.ones(3, np.float32),
        stride=(2, 2),
        dilation=(1, 1),
        pads=Pads(),
        growth=(0, 0),
    )
    return [(conv, 8), (depthwise, 8), (dense, 16), (transposed, 8)]


def recurrent_layer() -> Recurrent:
    """Return an LSTM of two units, from the last step to the first."""
    return Recurrent(
        **SMALL | {"in_shape": Shape(1, 3, 2)},
        cell=Cell.LSTM,
        weights_x=np.resize(RAMP, (8, 2)),
        weights_h=np.resize(RAMP[::-1], (8, 2)),
        bias_x=RAMP[:8],
        bias_h=RAMP[8:16],
        first_h=np.array([0.5, -0.25], np.float32),
        first_c=np.zeros(0, np.float32),
        reverse=True,
    )


def golden_layers_without_weights() -> list[tuple[Layer, int]]:
    """Return layers and their bits."""
    window, vector = Window((2, 2), (2, 2)), SMALL | {"in_shape": Shape(1, 1, 4)}
    turned = np.arange(32).reshape(4, 4, 2).transpose(0, 2, 1).ravel()
    joined: dict[str, Any] = SMALL | {"inputs": ("x", "v"), "activation": Activation(0.0)}
    return [
        (MaxPool(**SMALL, window=window), 8),
        (AveragePool(**SMALL, window=window), 8),
        (Softmax(**vector), 16),
        (ArgMax(**SMALL, picks_last=True), 8),
        (Add(**joined, other_shapes=(SMALL_SHAPE,), signs=(1, -1)), 8),
        (Mul(**joined, other_shapes=(Shape(1, 1, 2),)), 8),
        (Concat(**joined, other_shapes=(Shape(4, 4, 3),)), 8),
        (Lookup(**vector, function=np.tanh), 8),
        (PRelu(**SMALL, slopes=np.array([0.25, -0.5], np.float32)), 8),
        (Normalization(**SMALL, gamma=RAMP[-2:], beta=RAMP[:2], epsilon=1e-5, over_map=True), 8),
        (Upsample(**SMALL, factors=(2, 3)), 8),
        (Pad(**SMALL, pads=Pads(1, 0, 2, 1), value=1.5), 8),
        (MatMul(**joined, other_shapes=(Shape(2, 4, 3),), transposed=False, scale=0.5), 16),
        (recurrent_layer(), 8),
        (Permute(**SMALL, new_shape=Shape(4, 2, 4), order=turned), 8),
    ]


@pytest.mark.parametrize("kind", sorted(COMPUTED))
def test_c_reads_as_the_golden_file(kind: str, request: pytest.FixtureRequest) -> None:
    path = GOLDEN / f"{kind}.c"
    rendered = render_layer(golden_kernels()[kind], 3)
    if request.config.getoption("--refresh-golden"):
        path.write_text(rendered)
    assert rendered == path.read_text(), "if the new C is what you want: pytest --refresh-golden"
