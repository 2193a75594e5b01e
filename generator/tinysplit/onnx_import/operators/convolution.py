"""Conv: any kernel, stride, dilation, padding and number of groups, over maps and sequences."""

from typing import Any

import numpy as np

from tinysplit.layers import Conv, DepthwiseConv, Layer
from tinysplit.onnx_import.chain import Chain
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.operators.window import MAP_RANKS, window_of


def conv(node: Node, chain: Chain) -> Tensor:
    """Add a `DepthwiseConv` where every channel has one kernel, a `Conv` elsewhere; a 1-D Conv has a height of 1."""
    weights = node.constant(1).astype(np.float32)
    if node.rank not in MAP_RANKS:
        raise node.error(f"has {node.rank - 2} spatial dimensions: only 1 and 2 are supported")
    producer, in_shape, padded = chain.as_map(node)
    if any(padded) and node.tensor.layout.pad_value != 0:
        raise node.error(f"follows a Pad with {node.tensor.layout.pad_value:g}: only 0 can be folded into a Conv")
    out_channels, group_channels = weights.shape[:2]
    groups = node.attributes.get("group", 1)
    if group_channels * groups != in_shape.channels:
        raise node.error(f"has weights for {group_channels * groups} channels, but its input has {in_shape.channels}")
    weights = weights.reshape(out_channels, group_channels, -1, weights.shape[-1])
    kernel = weights.shape[2], weights.shape[3]
    bias = node.optional(2)
    if node.pair("kernel_shape", 1) != kernel and "kernel_shape" in node.attributes:
        raise node.error(f"has a kernel_shape that contradicts its weights of {kernel[0]}x{kernel[1]}")
    if bias is not None and bias.shape != (out_channels,):
        raise node.error(f"has a bias of {bias.shape}, but {out_channels} output channels")
    common: dict[str, Any] = {
        "name": node.name,
        "inputs": (chain.source(producer),),
        "output": node.output,
        "in_shape": in_shape,
        "bias": np.zeros(out_channels, np.float32) if bias is None else bias.astype(np.float32),
        "window": window_of(node, in_shape, padded, kernel),
    }
    layer: Layer
    if groups > 1 and group_channels == 1 and out_channels == in_shape.channels:
        layer = DepthwiseConv(weights=np.ascontiguousarray(weights[:, 0].transpose(1, 2, 0)), **common)
    else:
        layer = Conv(weights=np.ascontiguousarray(weights.transpose(0, 2, 3, 1)), groups=groups, **common)
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), chain.append(layer))
