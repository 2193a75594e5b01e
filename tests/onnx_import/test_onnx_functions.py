"""Operators that become layers of their own: functions, ConvTranspose, Resize, Pads and changes of order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from models.value_ranges import ranges_of
from session.profiles import cases
from tinysplit.common.errors import InputError
from tinysplit.network.layers import (
    Add,
    AveragePool,
    Conv,
    ConvTranspose,
    DepthwiseConv,
    Lookup,
    MaxPool,
    Pad,
    Permute,
    PRelu,
    Softmax,
    Upsample,
)
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize

Build = Callable[[OnnxBuilder], Any]


def a_map(opset: int = 16) -> OnnxBuilder:
    return OnnxBuilder(["n", 3, 5, 7], opset)


def gated(b: OnnxBuilder) -> None:
    x = b.value
    b.node("Sigmoid")
    b.node("Mul", x)


def mish_in_pieces(b: OnnxBuilder) -> None:
    x = b.value
    b.node("Softplus")
    b.node("Tanh")
    b.node("Mul", x)


def gelu_in_pieces(b: OnnxBuilder) -> None:
    """As PyTorch's exporter writes it for opsets before 20."""
    x = b.value
    b.node("Div", b.constant(2**0.5))
    b.node("Erf")
    b.node("Add", b.constant(1.0))
    b.node("Mul", x, "@")
    b.node("Mul", b.constant(0.5))


def softsign_in_pieces(b: OnnxBuilder) -> None:
    x = b.value
    b.node("Abs")
    b.node("Add", b.constant(1.0))
    b.node("Div", x, "@")


def hard_swish_in_pieces(b: OnnxBuilder) -> None:
    x = b.value
    b.node("Add", b.constant(3.0))
    b.node("Clip", b.constant(0.0), b.constant(6.0))
    b.node("Mul", x)
    b.node("Div", b.constant(6.0))


@pytest.mark.parametrize(
    "build",
    [
        lambda b: b.node("Sigmoid"),
        lambda b: b.node("HardSigmoid", alpha=0.3, beta=0.4),
        lambda b: b.node("Elu", alpha=0.5),
        lambda b: b.node("Celu", alpha=0.5),
        lambda b: b.node("Selu"),
        lambda b: b.node("Gelu"),
        lambda b: b.node("Gelu", approximate="tanh"),
        lambda b: b.node("Pow", b.constant([3])),
        lambda b: (b.node("Exp"), b.node("Reciprocal")),
        lambda b: (b.node("Abs"), b.node("Sqrt"), b.node("Mul", b.constant(0.5)), b.node("Clip", b.constant(0.2))),
        lambda b: b.node("Mul", b.value),
        gated,
        mish_in_pieces,
        gelu_in_pieces,
        softsign_in_pieces,
        hard_swish_in_pieces,
    ],
)
def test_functions(tmp_path: Path, build: Build) -> None:
    builder = a_map(20)
    conv(builder, 4, 3)
    build(builder)
    conv(builder, 2, 4)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Lookup, Conv]


def test_a_function_of_other_values_is_none_of_one_value(tmp_path: Path) -> None:
    builder = a_map()
    first = conv(builder, 4, 3)
    gate = builder.node("Sigmoid")
    builder.value = "x"
    conv(builder, 4, 3)
    builder.node("Tanh")
    builder.node("Mul", gate)
    builder.node("Add", first)
    graph = check(builder.save(tmp_path))
    assert sorted(each.kind for each in kinds(graph)) == ["add", "conv", "conv", "lookup", "lookup", "mul"]


def test_other_scales_of_channels_are_no_function(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 3)
    builder.node("Tanh")
    builder.node("Mul", builder.constant(weights(4, 1, 1)))
    builder.node("Exp")
    assert kinds(check(builder.save(tmp_path))) == [Conv, Lookup, DepthwiseConv, Lookup]


def test_a_function_that_several_read_is_computed_once(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 3)
    silu = builder.node("HardSwish")
    first = conv(builder, 2, 4)
    builder.value = silu
    conv(builder, 2, 4)
    builder.node("Add", first)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Lookup, Conv, Conv, Add]


def test_a_function_of_the_network_input_waits_for_its_layout(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 4, 5, 3])
    builder.node("Div", builder.constant(4.0))
    builder.node("Sub", builder.constant(weights(3)))
    gated(builder)
    builder.node("Transpose", perm=[0, 3, 1, 2])
    conv(builder, 2, 3)
    assert kinds(check(builder.save(tmp_path))) == [DepthwiseConv, Lookup, Conv]


def test_slopes(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("LeakyRelu", alpha=0.2)
    builder.node("PRelu", builder.constant(weights(3, 1, 1)))
    assert kinds(check(builder.save(tmp_path))) == [PRelu, PRelu]


@pytest.mark.parametrize("seed", range(cases(quick=4, full=12, nightly=100)))
def test_transposed_convolutions(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    attributes: dict[str, Any] = {
        "strides": rng.integers(1, 4, 2).tolist(),
        "dilations": rng.integers(1, 3, 2).tolist(),
    }
    if seed % 3 == 0:
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER"]))
    elif seed % 3 == 1:
        attributes |= {
            "pads": rng.integers(0, 2, 4).tolist(),
            "output_padding": [0, min(1, attributes["strides"][1] - 1)],
        }
    builder = a_map()
    kernel = rng.integers(2, 4, 2).tolist()
    builder.node("ConvTranspose", builder.constant(weights(3, 2, *kernel)), builder.constant(weights(2)), **attributes)
    assert kinds(check(builder.save(tmp_path))) == [ConvTranspose]


@pytest.mark.parametrize(
    "attributes",
    [{}, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}],
    ids=["half_pixel", "asymmetric"],
)
def test_upsampling(tmp_path: Path, attributes: dict[str, Any]) -> None:
    builder = a_map()
    builder.node("Resize", "", builder.constant([1, 1, 2, 3]), **attributes)
    builder.node("Resize", "", "", builder.shape(1, 3, 20, 42), **attributes)
    assert kinds(check(builder.save(tmp_path))) == [Upsample, Upsample]


@pytest.mark.parametrize(
    ("transformation", "rounding", "factor"),
    [
        ("tf_half_pixel_for_nn", "floor", 2),  # tf2onnx, for UpSampling2D of Keras
        ("tf_half_pixel_for_nn", "floor", 3),
        ("half_pixel", "round_prefer_ceil", 4),
        ("half_pixel_symmetric", "round_prefer_floor", 2),
        ("pytorch_half_pixel", "round_prefer_floor", 3),
        ("asymmetric", "floor", 5),
        ("align_corners", "round_prefer_floor", 2),
        ("tf_crop_and_resize", "round_prefer_floor", 2),
    ],
)
def test_every_way_of_repeating_pixels(tmp_path: Path, transformation: str, rounding: str, factor: int) -> None:
    opset = {"tf_half_pixel_for_nn": 11, "half_pixel_symmetric": 19}.get(transformation, 13)
    builder = OnnxBuilder(["n", 3, 2, 2], opset)
    conv(builder, 2, 3, (1, 1))
    roi = builder.constant([0, 0, 0, 0, 1, 1, 1, 1])
    attributes = {"coordinate_transformation_mode": transformation, "nearest_mode": rounding}
    builder.node("Resize", roi, builder.constant([1, 1, factor, factor]), **attributes)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Upsample]


@pytest.mark.parametrize(
    ("transformation", "factors"),
    [
        ("half_pixel", [2, 2]),
        ("half_pixel", [3, 4]),
        ("half_pixel", [1, 5]),
        ("pytorch_half_pixel", [2, 3]),
        ("half_pixel_symmetric", [4, 2]),
        ("asymmetric", [2, 2]),
        ("asymmetric", [3, 1]),
    ],
)
def test_linear_interpolation(tmp_path: Path, transformation: str, factors: list[float]) -> None:
    builder = a_map(19)
    conv(builder, 4, 3, (1, 1))
    attributes = {"mode": "linear", "coordinate_transformation_mode": transformation}
    builder.node("Resize", "", builder.constant([1, 1, *factors]), **attributes)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Permute, DepthwiseConv]
    ranges = ranges_of(graph, builder.save(tmp_path), np.ones((1, 3, 5, 7), np.float32))
    integers = quantize(graph, choose_formats(graph, ranges, 8), 8).layers[-1].constants["weights"]
    assert sorted(np.unique(integers)) == sorted(
        {a * b for a in units(transformation, factors[0]) for b in units(transformation, factors[1])}
    )


def units(transformation: str, factor: float) -> set[int]:
    """Return the weights of neighbours in an average of `factor` copies of pixels, in their smallest unit."""
    return {1, 2} if factor % 2 == 0 and transformation != "asymmetric" else {1}


def test_interpolation_from_the_first_pixel_to_the_last(tmp_path: Path) -> None:
    builder = a_map()
    attributes = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    builder.node("Resize", "", "", builder.shape(1, 3, 9, 19), **attributes)
    builder.node("Relu")
    assert kinds(check(builder.save(tmp_path))) == [Permute, DepthwiseConv]


def test_interpolation_of_a_sequence(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 7])
    builder.node("Resize", "", builder.constant([1, 1, 4]), mode="linear")
    conv(builder, 2, 3, (3,))
    assert kinds(check(builder.save(tmp_path))) == [Permute, DepthwiseConv, Conv]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation_of_a_single_pixel(tmp_path: Path, mode: str) -> None:
    builder = a_map()
    builder.node("GlobalAveragePool")
    builder.node("Resize", "", builder.constant([1, 1, 4, 5]), mode=mode)
    assert kinds(check(builder.save(tmp_path))) == [AveragePool, Upsample]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("transformation", ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("size", [(13, 4), (8, 7), (5, 11), (1, 3), (21, 15)])
def test_any_size(tmp_path: Path, mode: str, transformation: str, size: tuple[int, int]) -> None:
    builder = a_map()
    conv(builder, 4, 3, (1, 1))
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transformation, "cubic_coeff_a": -0.5}
    builder.node("Resize", "", "", builder.shape(1, 4, *size), **attributes)
    conv(builder, 3, 4, (1, 1))
    graph = check(builder.save(tmp_path))
    assert kinds(graph).count(Conv) <= 4  # two for two axes


@pytest.mark.parametrize("scales", [(1.3, 1), (1, 0.7), (1.3, 0.7), (0.6, 0.45), (2.6, 1.7)])
@pytest.mark.parametrize(
    ("transformation", "rounding"), [("half_pixel", "round_prefer_floor"), ("asymmetric", "floor")]
)
def test_nearest_pixels_of_any_scale(
    tmp_path: Path, transformation: str, rounding: str, scales: tuple[float, float]
) -> None:
    builder = OnnxBuilder(["n", 3, 7, 10])
    conv(builder, 3, 3, (1, 1))
    attributes = {"coordinate_transformation_mode": transformation, "nearest_mode": rounding}
    builder.node("Resize", "", builder.constant([1, 1, *scales]), **attributes)
    assert set(kinds(check(builder.save(tmp_path)))) == {Conv, Permute}


@pytest.mark.parametrize("attributes", [{"exclude_outside": 1}, {"cubic_coeff_a": -0.5}, {}])
def test_cubic_interpolation(tmp_path: Path, attributes: dict[str, Any]) -> None:
    builder = a_map()
    builder.node("Resize", "", builder.constant([1, 1, 1.7, 0.6]), mode="cubic", **attributes)
    assert kinds(check(builder.save(tmp_path))).count(Conv) == 2


def test_a_sequence_of_any_length(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 7])
    builder.node("Resize", "", builder.constant([1, 1, 1.5]), mode="linear")
    conv(builder, 2, 3, (3,))
    assert Conv in kinds(check(builder.save(tmp_path)))


@pytest.mark.parametrize(
    ("scales", "attributes", "text"),
    [
        ([1, 1, 0.5, 1], {"mode": "linear", "antialias": 1}, "fewer pixels with antialias"),
        ([1, 2, 1, 1], {}, "only height and width"),
        ([1, 1, 2, 2], {"coordinate_transformation_mode": "own"}, "coordinate_transformation_mode own, which ONNX"),
    ],
)
def test_resizing_otherwise_is_refused(
    tmp_path: Path, scales: list[float], attributes: dict[str, Any], text: str
) -> None:
    builder = a_map(19)
    builder.node("Resize", "", builder.constant(scales), **attributes)
    with pytest.raises(InputError, match=text):
        import_model(builder.save(tmp_path))


@pytest.mark.parametrize(
    ("value", "build", "expected"),
    [
        (1.0, lambda b: conv(b, 2, 3), [Pad, Conv]),
        (1.0, lambda b: b.node("MaxPool", kernel_shape=[3, 3]), [Pad, MaxPool]),
        (2.0, lambda b: b.node("Tanh"), [Pad, Lookup]),
        (0.0, lambda b: b.node("Relu"), [Pad, MaxPool]),
    ],
    ids=["conv", "max_pool", "tanh", "relu"],
)
def test_pads_that_nothing_takes(tmp_path: Path, value: float, build: Build, expected: list[type]) -> None:
    builder = a_map()
    builder.node("Pad", builder.shape(0, 0, 1, 2, 0, 0, 0, 1), builder.constant(value))
    build(builder)
    assert kinds(check(builder.save(tmp_path))) == expected


def test_a_padded_value_that_two_read_is_padded_once(tmp_path: Path) -> None:
    builder = a_map()
    padded = builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(1.0))
    first = conv(builder, 2, 3)
    builder.value = padded
    conv(builder, 2, 3)
    builder.node("Add", first)
    assert kinds(check(builder.save(tmp_path))) == [Pad, Conv, Conv, Add]


def test_orders_that_change(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 3, (1, 1))
    builder.node("Transpose", perm=[0, 2, 1, 3])
    conv(builder, 2, 5)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Permute, Conv]


def test_channel_shuffle(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 6, 3, (1, 1))
    builder.node("Reshape", builder.shape(1, 2, 3, 5, 7))
    builder.node("Transpose", perm=[0, 2, 1, 3, 4])
    builder.node("Reshape", builder.shape(1, 6, 5, 7))
    conv(builder, 2, 6)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Permute, Conv]
    assert isinstance(graph.layers[1], Permute)
    assert [loop[:2] for loop in graph.layers[1].loops] == [(35, 6), (3, 1), (2, 3)]


def test_branches_in_other_orders(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 5, 5])
    straight = builder.node("Relu")
    builder.node("Transpose", perm=[0, 1, 3, 2])
    builder.node("Add", straight)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [MaxPool, Permute, Add]


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_pads_of_copies(mode: str, tmp_path: Path) -> None:
    builder = a_map(19)
    builder.node("Pad", builder.shape(0, 0, 1, 2, 0, 0, 2, 1), mode=mode)
    conv(builder, 2, 3)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Permute, Conv]
    assert [bool(loop.offsets) for loop in graph.layers[0].loops] == [True, True, False]  # type: ignore[attr-defined]


def test_pads_that_cut_and_pads_behind_pads(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Softmax", axis=1)
    builder.node("Pad", builder.shape(0, 0, -1, 1, 0, 0, 0, -2))
    builder.node("Pad", builder.shape(0, 0, 1, 0, 0, 0, 2, 0))
    conv(builder, 2, 3)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Softmax, Permute, Conv]


@pytest.mark.parametrize("axes", [[1], [2, 3], [1, 2, 3], [3]])
def test_sums(axes: list[int], tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 3)
    builder.node("ReduceSum", builder.shape(*axes), keepdims=0)
    assert DepthwiseConv in kinds(check(builder.save(tmp_path)))


@pytest.mark.parametrize("operator", ["Relu", "Conv", "MaxPool"])
def test_pads_of_channels(operator: str, tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Softmax", axis=1)
    builder.node("Pad", builder.shape(0, 1, 1, 0, 0, 2, 0, 1))
    if operator == "Conv":
        conv(builder, 2, 6)
    else:
        attributes: dict[str, Any] = {"kernel_shape": [2, 2]} if operator == "MaxPool" else {}
        builder.node(operator, **attributes)
    graph = check(builder.save(tmp_path))
    assert [layer.kind for layer in graph.layers][:2] == ["softmax", "pad"]
