"""Random chains in random layouts: whatever the operators, every layer agrees with ONNX Runtime."""

from pathlib import Path

import numpy as np
import pytest

from models.import_check import check
from models.onnx_builder import OnnxBuilder, batch_normalization, conv, weights
from session.profiles import cases

NHWC_TO_NCHW, NCHW_TO_NHWC = [0, 3, 1, 2], [0, 2, 3, 1]


@pytest.mark.parametrize("seed", range(cases(quick=10, full=40, nightly=400)))
def test_random_chain(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    channels, (height, width) = int(rng.integers(1, 5)), rng.integers(6, 14, 2).tolist()
    channels_last = rng.random() < 0.5
    builder = OnnxBuilder(["n", height, width, channels] if channels_last else ["n", channels, height, width])
    if rng.random() < 0.3:
        builder.node("Mul", builder.constant(0.5))
    if channels_last:
        builder.node("Transpose", perm=NHWC_TO_NCHW)
    for _ in range(rng.integers(1, 5)):
        channels = _convolution(builder, rng, channels)
        _pointwise(builder, rng, channels)
        if rng.random() < 0.5:
            _pool(builder, rng)
        if rng.random() < 0.3:
            _pointwise(builder, rng, channels)
    _classifier(builder, rng, channels)
    check(builder.save(tmp_path), samples=1)


def _convolution(builder: OnnxBuilder, rng: np.random.Generator, channels: int) -> int:
    kernel = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    strides = rng.integers(1, 3, 2).tolist()
    auto_pad = str(rng.choice(["SAME_UPPER", "SAME_LOWER"]))
    if rng.random() < 0.3:
        before = rng.integers(0, 2, 4).tolist()
        builder.node("Pad", builder.shape(0, 0, *before[:2], 0, 0, *before[2:]))
    if rng.random() < 0.4 and channels > 1:
        conv(builder, channels, 1, kernel, group=channels, auto_pad=auto_pad, strides=strides)
        return channels
    out = int(rng.integers(1, 7))
    if rng.random() < 0.5:
        conv(builder, out, channels, kernel, auto_pad=auto_pad, strides=strides)
    else:
        conv(builder, out, channels, kernel, pads=[2, 1, 1, 2], dilations=rng.integers(1, 3, 2).tolist())
    return out


def _pointwise(builder: OnnxBuilder, rng: np.random.Generator, channels: int) -> None:
    turned = rng.random() < 0.3
    if rng.random() < 0.4:
        batch_normalization(builder, channels)
    if turned:
        builder.node("Transpose", perm=NCHW_TO_NHWC)
        builder.node("Add", builder.constant(weights(channels)))
    if rng.random() < 0.4:
        builder.node("Relu")
    elif rng.random() < 0.5:
        builder.node("Clip", builder.constant(-0.5), builder.constant(6.0))
    if turned:
        builder.node("Transpose", perm=NHWC_TO_NCHW)


def _pool(builder: OnnxBuilder, rng: np.random.Generator) -> None:
    operator = str(rng.choice(["MaxPool", "AveragePool"]))
    strides = rng.integers(1, 3, 2).tolist()
    if rng.random() < 0.5:
        builder.node(operator, kernel_shape=[3, 2], strides=strides, auto_pad="SAME_UPPER")
    else:
        builder.node(operator, kernel_shape=[2, 2], strides=strides, pads=[1, 1, 1, 1], ceil_mode=1)


def _classifier(builder: OnnxBuilder, rng: np.random.Generator, channels: int) -> None:
    builder.node("GlobalAveragePool")
    if rng.random() < 0.5:
        builder.node("Flatten")
        builder.node("Gemm", builder.constant(weights(channels, 4)), builder.constant(weights(4)))
    else:
        builder.node("Reshape", builder.shape(0, -1))
        builder.node("MatMul", builder.constant(weights(channels, 4)))
        builder.node("Add", builder.constant(weights(4)))
    if rng.random() < 0.5:
        builder.node("Softmax")
