"""Conv: any kernel, stride, dilation, padding and number of groups, over maps and sequences; ConvTranspose."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tinysplit.network.layers import Conv, ConvTranspose, DepthwiseConv, Layer, Pads
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import TakenPad, operator
from tinysplit.onnx_import.operators.window import MAP_RANKS, WINDOW_ATTRIBUTES, WINDOW_REFUSALS, fitting, window_of
from tinysplit.onnx_import.size_limits import check_expanded_size, check_value_size

RANK = Refusal("has {} spatial dimensions: only 1 and 2 are supported")
CHANNELS = Refusal("has weights for {} channels, but its input has {}")
KERNEL_SHAPE = Refusal("has a kernel_shape that contradicts its weights of {}x{}")
BIAS = Refusal("has a bias of {}, but {} output channels")
TRANSPOSED_GAPS = Refusal(
    "has auto_pad and strides of {}x{} above its kernel of {}x{}, from which ONNX and ONNX Runtime compute other "
    "shapes: export it with pads and output_padding"
)


@operator(
    "Conv",
    attributes=(*WINDOW_ATTRIBUTES, "group"),
    layers=(DepthwiseConv, Conv),
    refusals=(RANK, CHANNELS, KERNEL_SHAPE, BIAS, *WINDOW_REFUSALS),
    taken_pad=TakenPad.ZEROS,
)
def conv(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `DepthwiseConv` where every channel has one kernel, otherwise a `Conv`; a 1-D Conv has a height of 1.

    Raises InputError for more than 2 spatial dimensions, and if weights, bias and kernel_shape do not match.
    """
    weights = node.constant(1).astype(np.float32)
    if node.rank not in MAP_RANKS:
        raise node.error(RANK, node.rank - 2)
    producer, in_shape, padded = builder.as_map(node)
    out_channels, group_channels = weights.shape[:2]
    groups = node.attributes.get("group", 1)
    if group_channels * groups != in_shape.channels:
        raise node.error(CHANNELS, group_channels * groups, in_shape.channels)
    weights = weights.reshape(out_channels, group_channels, -1, weights.shape[-1])
    kernel = weights.shape[2], weights.shape[3]
    bias = node.optional(2)
    if node.pair("kernel_shape", 1) != kernel and "kernel_shape" in node.attributes:
        raise node.error(KERNEL_SHAPE, *kernel)
    if bias is not None and bias.shape != (out_channels,):
        raise node.error(BIAS, bias.shape, out_channels)
    common: dict[str, Any] = {
        "name": node.name,
        "inputs": (builder.source(producer),),
        "output": node.output,
        "in_shape": in_shape,
        "bias": np.zeros(out_channels, np.float32) if bias is None else bias.astype(np.float32),
        "window": fitting(node, window_of(node, in_shape, padded, kernel), in_shape),
    }
    layer: Layer
    if groups > 1 and group_channels == 1 and out_channels == in_shape.channels:
        layer = DepthwiseConv(weights=np.ascontiguousarray(weights[:, 0].transpose(1, 2, 0)), **common)
    else:
        layer = Conv(weights=np.ascontiguousarray(weights.transpose(0, 2, 3, 1)), groups=groups, **common)
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), producer=builder.append(layer))


@operator(
    "ConvTranspose",
    attributes=("auto_pad", "dilations", "group", "output_padding", "output_shape", "pads", "strides"),
    ignored=("kernel_shape",),  # that of the weights
    layers=(ConvTranspose,),
    refusals=(RANK, CHANNELS, TRANSPOSED_GAPS),
)
def conv_transpose(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `ConvTranspose`; groups become one group with zero weights.

    Raises InputError for more than 2 spatial dimensions, and if weights and input differ in their channels.
    """
    weights = node.constant(1).astype(np.float32)
    if node.rank not in MAP_RANKS:
        raise node.error(RANK, node.rank - 2)
    producer, in_shape, _ = builder.as_map(node)
    if weights.shape[0] != in_shape.channels:
        raise node.error(CHANNELS, weights.shape[0], in_shape.channels)
    groups = node.attributes.get("group", 1)
    if groups > 1:
        check_expanded_size(node.name, weights.size * groups)
    weights = _ungrouped(weights.reshape(*weights.shape[:2], -1, weights.shape[-1]), groups)
    stride, dilation = node.pair("strides", 1), node.pair("dilations", 1)
    pads, growth = _cut(node, in_shape[:2], weights.shape[2:], stride, dilation)
    bias = node.optional(2)
    layer = ConvTranspose(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        weights=np.ascontiguousarray(weights.transpose(1, 2, 3, 0)),
        bias=np.zeros(weights.shape[1], np.float32) if bias is None else bias.astype(np.float32),
        stride=stride,
        dilation=dilation,
        pads=pads,
        growth=growth,
    )
    height, width, channels = layer.out_shape
    check_value_size((height + pads.top + pads.bottom, width + pads.left + pads.right, channels))
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), producer=builder.append(layer))


def _ungrouped(weights: Constant, groups: int) -> Constant:
    """Return weights in_channels x out_channels x k_h x k_w of one group that is equal to `groups` groups."""
    whole = np.zeros((weights.shape[0], groups * weights.shape[1], *weights.shape[2:]), np.float32)
    inputs = weights.shape[0] // groups
    outputs = weights.shape[1]
    for group in range(groups):
        rows = slice(group * inputs, (group + 1) * inputs)
        whole[rows, group * outputs : (group + 1) * outputs] = weights[rows]
    return whole


def _cut(
    node: Node, sizes: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[Pads, tuple[int, int]]:
    """Return the cropping of a ConvTranspose's output and the growth at its end (ONNX operators, ConvTranspose).

    Raises InputError for SAME_* where the output is smaller than input times stride: ONNX Runtime lets it be so.
    """
    growth = (0, *node.attributes.get("output_padding", [0, 0]))[-2:]
    wanted = node.attributes.get("output_shape")
    auto_pad = node.attributes.get("auto_pad", b"NOTSET").decode()
    if wanted is None and auto_pad in ("NOTSET", "VALID"):
        values = node.attributes.get("pads", [0] * 4) if auto_pad == "NOTSET" else [0] * 4
        return (Pads(*values) if len(values) == 4 else Pads(left=values[0], right=values[1])), growth  # noqa: PLR2004
    whole = [
        s * (n - 1) + grown + d * (k - 1) + 1
        for n, k, s, d, grown in zip(sizes, kernel, stride, dilation, growth, strict=True)
    ]
    ends = (1, *wanted)[-2:] if wanted else [n * s for n, s in zip(sizes, stride, strict=True)]
    if not wanted and any(size < end for size, end in zip(whole, ends, strict=True)):
        raise node.error(TRANSPOSED_GAPS, *stride, *kernel)
    total = [max(size - end, 0) for size, end in zip(whole, ends, strict=True)]
    more_rows, more_columns = (max(end - size, 0) for size, end in zip(whole, ends, strict=True))
    small = [t // 2 for t in total]
    large = [t - t // 2 for t in total]
    begin, end = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    return Pads(*begin, *end), (growth[0] + more_rows, growth[1] + more_columns)
