"""The operators of .tflite files in ONNX operators."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tflite

from tinysplit.tflite_import.lstm import lstm
from tinysplit.tflite_import.tflite_file import TfliteOperator, TfliteTensor
from tinysplit.tflite_import.translation import TO_MAP, RefusedError, Translation

Translator = Callable[[Translation, TfliteOperator], None]
OPERATORS: dict[str, Translator] = {"UNIDIRECTIONAL_SEQUENCE_LSTM": lstm}
SIMPLE = {
    "ABS": "Abs",
    "ADD": "Add",
    "CEIL": "Ceil",
    "COS": "Cos",
    "DIV": "Div",
    "ELU": "Elu",
    "EXP": "Exp",
    "FLOOR": "Floor",
    "HARD_SWISH": "HardSwish",
    "LOG": "Log",
    "LOGISTIC": "Sigmoid",
    "MAXIMUM": "Max",
    "MINIMUM": "Min",
    "MUL": "Mul",
    "NEG": "Neg",
    "RELU": "Relu",
    "SIN": "Sin",
    "SQRT": "Sqrt",
    "SUB": "Sub",
    "TANH": "Tanh",
}  # computed element by element, as ONNX's operator does
BOUNDS = {"RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}
ACTIVATIONS = {code: name for name, code in vars(tflite.ActivationFunctionType).items() if isinstance(code, int)}
MAP_RANK = 4
INPUTS_FIRST = (3, 0, 1, 2)  # of weights: outputs x height x width x inputs, and 1 x height x width x outputs


def _translates(*kinds: str) -> Callable[[Translator], Translator]:
    def register(translator: Translator) -> Translator:
        OPERATORS.update(dict.fromkeys(kinds, translator))
        return translator

    return register


def unsupported(_: Translation, __: TfliteOperator) -> None:
    """Refuse an operator that is not in `OPERATORS`."""
    raise RefusedError("not supported (docs/reference/operators.md lists the operators that are)")


def _activated(to: Translation, operator: TfliteOperator, value: str) -> str:
    """Return `value` behind the activation function that is fused to an operator."""
    return _function(to, ACTIVATIONS[int(operator.options.get("FusedActivationFunction", 0))], value)


def _function(to: Translation, kind: str, value: str) -> str:
    if kind == "NONE":
        return value
    if kind in BOUNDS:
        return to.node("Clip", [value, *(to.constant(np.array(bound, np.float32)) for bound in BOUNDS[kind])])
    if kind in ("RELU", "TANH"):
        return to.node(SIMPLE[kind], [value])
    raise RefusedError(f"the fused activation {kind} is not supported")


@_translates(*SIMPLE)
def _simple(to: Translation, operator: TfliteOperator) -> None:
    value = to.node(SIMPLE[operator.kind], [to.read(i) for i in operator.inputs])
    to.write(operator.outputs[0], _activated(to, operator, value))


@_translates(*BOUNDS)
def _bounded(to: Translation, operator: TfliteOperator) -> None:
    to.write(operator.outputs[0], _function(to, operator.kind, to.read(operator.inputs[0])))


@_translates("LEAKY_RELU")
def _leaky_relu(to: Translation, operator: TfliteOperator) -> None:
    given = [to.read(operator.inputs[0])]
    to.write(operator.outputs[0], to.node("LeakyRelu", given, alpha=operator.options["Alpha"]))


@_translates("GELU")
def _gelu(to: Translation, operator: TfliteOperator) -> None:
    form = "tanh" if operator.options["Approximate"] else "none"
    to.write(operator.outputs[0], to.node("Gelu", [to.read(operator.inputs[0])], approximate=form))


@_translates("PRELU")
def _prelu(to: Translation, operator: TfliteOperator) -> None:
    x, slope = operator.inputs
    slopes = to.tensor(slope).real(to.known(slope))
    is_map = len(to.tensor(x).shape) == MAP_RANK
    if is_map:
        slopes = slopes.reshape((1,) * (MAP_RANK - slopes.ndim) + slopes.shape).transpose(TO_MAP)[0]
    value = to.node("PRelu", [to.read(x, is_map=is_map), to.constant(slopes)])
    to.write(operator.outputs[0], value, is_map=is_map)


@_translates("SOFTMAX")
def _softmax(to: Translation, operator: TfliteOperator) -> None:
    value, beta = to.read(operator.inputs[0]), operator.options["Beta"]
    if beta != 1:
        value = to.node("Mul", [value, to.constant(np.array(beta, np.float32))])
    to.write(operator.outputs[0], to.node("Softmax", [value], axis=-1))


@_translates("ARG_MAX")
def _arg_max(to: Translation, operator: TfliteOperator) -> None:
    x, axis = operator.inputs
    value = to.node("ArgMax", [to.read(x)], axis=int(to.known(axis)), keepdims=0)
    to.write_number(operator.outputs[0], value)


def _window(
    operator: TfliteOperator, kernel: Sequence[int], sizes: tuple[int, ...], outputs: tuple[int, ...]
) -> dict[str, Any]:
    """Return ONNX's attributes of a window over a map of the given height and width."""
    options = operator.options
    strides = [int(options["StrideH"]), int(options["StrideW"])]
    dilations = [int(options.get("DilationHFactor", 1)), int(options.get("DilationWFactor", 1))]
    begins, ends = [0, 0], [0, 0]
    if options["Padding"] == tflite.Padding.SAME:
        for axis, (size, n_outputs) in enumerate(zip(sizes, outputs, strict=True)):
            covered = (n_outputs - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
            begins[axis] = max(covered - size, 0) // 2
            ends[axis] = max(covered - size, 0) - begins[axis]
    return {"kernel_shape": list(kernel), "strides": strides, "pads": begins + ends} | (
        {"dilations": dilations} if "DilationHFactor" in options else {}
    )


def _bias(to: Translation, operator: TfliteOperator, position: int, x: int, weights: int) -> list[str]:
    """Return the name of the bias, if there is one. Integers are in steps of the products."""
    index = operator.inputs[position] if position < len(operator.inputs) else -1
    if index == -1:
        return []
    stored = to.known(index)
    if stored.dtype.kind != "i":
        return [to.constant(stored.astype(np.float32))]
    steps = to.tensor(x).scales.astype(np.float64) * to.tensor(weights).scales
    return [to.constant((stored * steps).astype(np.float32))]


@_translates("CONV_2D", "DEPTHWISE_CONV_2D")
def _convolution(to: Translation, operator: TfliteOperator) -> None:
    x, weights = operator.inputs[:2]
    (result,) = operator.outputs
    channels, shape = to.tensor(x).shape[3], to.tensor(weights).shape
    is_depthwise = operator.kind == "DEPTHWISE_CONV_2D"
    window = _window(operator, shape[1:3], to.tensor(x).shape[1:3], to.tensor(result).shape[1:3])
    value = to.node(
        "Conv",
        [
            to.read(x, is_map=True),
            to.weights(weights, INPUTS_FIRST if is_depthwise else TO_MAP),
            *_bias(to, operator, 2, x, weights),
        ],
        group=channels if is_depthwise else channels // shape[3],
        **window,
    )
    to.write(result, _activated(to, operator, value), is_map=True)


@_translates("TRANSPOSE_CONV")
def _transposed_convolution(to: Translation, operator: TfliteOperator) -> None:
    _, weights, x = operator.inputs[:3]
    (result,) = operator.outputs
    kernel, sizes = to.tensor(weights).shape[1:3], to.tensor(x).shape[1:3]
    strides = [int(operator.options["StrideH"]), int(operator.options["StrideW"])]
    begins, ends, added = [0, 0], [0, 0], [0, 0]
    for axis, n_outputs in enumerate(to.tensor(result).shape[1:3]):
        surplus = (sizes[axis] - 1) * strides[axis] + kernel[axis] - n_outputs
        added[axis] = max(-surplus, 0)
        begins[axis] = max(surplus, 0) // 2 if operator.options["Padding"] == tflite.Padding.SAME else 0
        ends[axis] = max(surplus, 0) - begins[axis]
    value = to.node(
        "ConvTranspose",
        [to.read(x, is_map=True), to.weights(weights, INPUTS_FIRST), *_bias(to, operator, 3, x, weights)],
        kernel_shape=list(kernel),
        strides=strides,
        pads=begins + ends,
        output_padding=added,
    )
    to.write(result, _activated(to, operator, value), is_map=True)


@_translates("FULLY_CONNECTED")
def _fully_connected(to: Translation, operator: TfliteOperator) -> None:
    x, weights = operator.inputs[:2]
    n_inputs = to.tensor(weights).shape[1]
    rows = (int(np.prod(to.tensor(x).shape)) // n_inputs, n_inputs)
    given = _reshaped(to, to.read(x), to.tensor(x).shape, rows)
    operands = [given, to.weights(weights, (0, 1)), *_bias(to, operator, 2, x, weights)]
    value = _activated(to, operator, to.node("Gemm", operands, transB=1))
    (result,) = operator.outputs
    to.write(result, _reshaped(to, value, (rows[0], to.tensor(weights).shape[0]), to.tensor(result).shape))


def _reshaped(to: Translation, value: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    return value if shape == wanted else to.node("Reshape", [value, to.constant(np.array(wanted, np.int64))])


@_translates("MAX_POOL_2D", "AVERAGE_POOL_2D")
def _pool(to: Translation, operator: TfliteOperator) -> None:
    (x,), (result,) = operator.inputs, operator.outputs
    kernel = [int(operator.options["FilterHeight"]), int(operator.options["FilterWidth"])]
    window = _window(operator, kernel, to.tensor(x).shape[1:3], to.tensor(result).shape[1:3])
    kind = "MaxPool" if operator.kind == "MAX_POOL_2D" else "AveragePool"
    value = to.node(kind, [to.read(x, is_map=True)], **window)
    to.write(result, _activated(to, operator, value), is_map=True)


@_translates("MEAN", "SUM")
def _reduced(to: Translation, operator: TfliteOperator) -> None:
    x, axes = operator.inputs
    kind = "ReduceMean" if operator.kind == "MEAN" else "ReduceSum"
    given = [to.read(x), to.constant(np.atleast_1d(to.known(axes)).astype(np.int64))]
    to.write(operator.outputs[0], to.node(kind, given, keepdims=int(operator.options["KeepDims"])))


@_translates("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
def _reshape(to: Translation, operator: TfliteOperator) -> None:
    """Reshape to the sizes that the file has for the output."""
    x, result = operator.inputs[0], operator.outputs[0]
    to.write(result, to.node("Reshape", [to.read(x), to.constant(np.array(to.tensor(result).shape, np.int64))]))


@_translates("TRANSPOSE")
def _transpose(to: Translation, operator: TfliteOperator) -> None:
    x, order = operator.inputs
    to.write(operator.outputs[0], to.node("Transpose", [to.read(x)], perm=to.known(order).tolist()))


@_translates("CONCATENATION")
def _concatenation(to: Translation, operator: TfliteOperator) -> None:
    value = to.node("Concat", [to.read(i) for i in operator.inputs], axis=int(operator.options["Axis"]))
    to.write(operator.outputs[0], _activated(to, operator, value))


@_translates("PAD", "PADV2")
def _pad(to: Translation, operator: TfliteOperator) -> None:
    x, widths, *value = operator.inputs
    given = [to.read(x), to.constant(to.known(widths).T.ravel().astype(np.int64))]
    given += [to.constant(to.tensor(i).real(to.known(i)).reshape(())) for i in value]
    to.write(operator.outputs[0], to.node("Pad", given))


@_translates("STRIDED_SLICE")
def _strided_slice(to: Translation, operator: TfliteOperator) -> None:
    x, begins, ends, strides = operator.inputs
    options, (result,) = operator.options, operator.outputs
    if options["EllipsisMask"] or options["NewAxisMask"]:
        raise RefusedError("its ellipsis_mask and new_axis_mask are not supported")
    ranges = []
    for axis, (begin, end, step) in enumerate(
        zip(*(to.known(i).tolist() for i in (begins, ends, strides)), strict=True)
    ):
        is_single = bool(int(options["ShrinkAxisMask"]) >> axis & 1)
        first = None if int(options["BeginMask"]) >> axis & 1 else begin
        last = None if int(options["EndMask"]) >> axis & 1 else end
        ranges.append(slice(first, (begin + 1) or None if is_single else last, 1 if is_single else step))
    if to.is_known(x):
        to.constants[result] = to.known(x)[tuple(ranges)].reshape(to.tensor(result).shape)
        return
    _sliced(to, x, result, ranges)


def _sliced(to: Translation, x: int, result: int, ranges: list[slice]) -> None:
    shape = to.tensor(x).shape
    starts, ends = [], []
    for each, size in zip(ranges, shape, strict=False):
        first, last, _ = each.indices(size)
        starts.append(first)
        ends.append(last if last >= 0 else np.iinfo(np.int64).min)
    steps = [each.step or 1 for each in ranges]
    arrays = (starts, ends, list(range(len(ranges))), steps)
    value = to.node("Slice", [to.read(x), *(to.constant(np.array(each, np.int64)) for each in arrays)])
    part = tuple(len(range(*each.indices(size))) for each, size in zip(ranges, shape, strict=False))
    to.write(result, _reshaped(to, value, part + shape[len(part) :], to.tensor(result).shape))


@_translates("SLICE")
def _slice(to: Translation, operator: TfliteOperator) -> None:
    x, begins, sizes = operator.inputs
    pairs = zip(to.known(begins).tolist(), to.known(sizes).tolist(), strict=True)
    _sliced(to, x, operator.outputs[0], [slice(begin, None if n == -1 else begin + n) for begin, n in pairs])


@_translates("SPLIT", "SPLIT_V")
def _split(to: Translation, operator: TfliteOperator) -> None:
    axis, x = operator.inputs if operator.kind == "SPLIT" else (operator.inputs[2], operator.inputs[0])
    along = int(to.known(axis).item())
    sizes = to.constant(np.array([to.tensor(i).shape[along] for i in operator.outputs], np.int64))
    parts = to.node_outputs("Split", [to.read(x), sizes], len(operator.outputs), axis=along)
    for result, part in zip(operator.outputs, parts, strict=True):
        to.write(result, part)


@_translates("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(to: Translation, operator: TfliteOperator) -> None:
    x, (result,) = operator.inputs[0], operator.outputs
    _, height, width, channels = to.tensor(result).shape
    mode, rounding = "asymmetric", "floor"
    if operator.options["AlignCorners"]:
        mode, rounding = "align_corners", "round_prefer_ceil"
    elif operator.options["HalfPixelCenters"]:
        mode, rounding = "half_pixel", "round_prefer_ceil"
    sizes = to.constant(np.array([1, channels, height, width], np.int64))
    names = [to.read(x, is_map=True), "", "", sizes]
    kind = "linear" if operator.kind == "RESIZE_BILINEAR" else "nearest"
    value = to.node("Resize", names, mode=kind, coordinate_transformation_mode=mode, nearest_mode=rounding)
    to.write(result, value, is_map=True)


@_translates("QUANTIZE", "DEQUANTIZE")
def _quantize(to: Translation, operator: TfliteOperator) -> None:
    """Change the type alone, where all integers of the input have one in the output."""
    (x,), (result,) = operator.inputs, operator.outputs
    given, wanted = to.tensor(x), to.tensor(result)
    if to.is_known(x):
        if wanted.is_quantized:
            raise RefusedError("quantizes a constant, which is not supported")
        to.constants[result] = given.real(to.known(x))
    elif not wanted.is_quantized or (given.is_quantized and _ends(given) == _ends(wanted)):
        to.alias(result, x)
    else:
        to.write(result, to.read(x))


def _ends(tensor: TfliteTensor) -> tuple[float, int, int]:
    """Return the scale, and the steps from zero to both ends."""
    info = np.iinfo(str(tensor.dtype))
    zero_point = int(tensor.zero_points[0])
    return float(tensor.scales[0]), info.min - zero_point, info.max - zero_point


@_translates("SHAPE")
def _shape(to: Translation, operator: TfliteOperator) -> None:
    to.constants[operator.outputs[0]] = np.array(to.tensor(operator.inputs[0]).shape, np.int32)


@_translates("PACK")
def _pack(to: Translation, operator: TfliteOperator) -> None:
    parts = [to.known(i) for i in operator.inputs]
    to.constants[operator.outputs[0]] = np.stack(parts, int(operator.options["Axis"]))
