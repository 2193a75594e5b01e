"""The C, and in it the assembler, that the kernels of Cortex-M0+ and of values a word at a time print."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_cases.layer_cases import quantize_one
from tinysplit.codegen.layer_source import LayerSource, render_layer
from tinysplit.kernels import Kernel
from tinysplit.kernels.armv6m.packed import Packed
from tinysplit.kernels.armv6m.sliding import Sliding
from tinysplit.kernels.armv6m.swar import Swar
from tinysplit.kernels.armv6m.unpacked import Unpacked
from tinysplit.kernels.armv6m.wide import Wide
from tinysplit.kernels.cores import CORTEX_M0PLUS
from tinysplit.kernels.dsp.lanes import Lanes
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import Activation, Add, Conv, DepthwiseConv, Layer, Pads, Shape, Window

GOLDEN = Path(__file__).parents[1] / "golden"
COMMON: dict[str, Any] = {"name": "example", "output": "y", "activation": Activation(0.0)}
SHAPE = Shape(4, 4, 2)
RAMP = np.linspace(-1, 1, 36, dtype=np.float32)


def conv() -> Layer:
    """Return a padded convolution of four channels."""
    weights, bias = np.resize(RAMP, (4, 3, 3, 2)), np.array([0.5, -0.25, 0, 1], np.float32)
    window = Window((3, 3), pads=Pads(1, 1, 1, 1))
    return Conv(**COMMON, inputs=("x",), in_shape=SHAPE, weights=weights, bias=bias, window=window)


def depthwise() -> Layer:
    """Return a depthwise convolution at stride 2."""
    window = Window((3, 3), (2, 2), pads=Pads(0, 0, 1, 1))
    weights, bias = np.resize(RAMP, (3, 3, 2)), np.zeros(2, np.float32)
    return DepthwiseConv(**COMMON, inputs=("x",), in_shape=SHAPE, weights=weights, bias=bias, window=window)


def add() -> Layer:
    """Return a sum whose inputs have different scales."""
    return Add(**COMMON, inputs=("x", "v"), in_shape=SHAPE, other_shapes=(SHAPE,), signs=(1, 1))


CASES: dict[str, tuple[Layer, Kernel, str, int]] = {
    "packed": (conv(), Packed(), CORTEX_M0PLUS, 8),
    "unpacked": (conv(), Unpacked(), CORTEX_M0PLUS, 8),
    "wide": (conv(), Wide(), CORTEX_M0PLUS, 16),
    "sliding": (depthwise(), Sliding(), CORTEX_M0PLUS, 8),
    "swar": (add(), Swar(), CORTEX_M0PLUS, 8),
    "lanes": (add(), Lanes(), "cortex-m4", 16),
}


@pytest.mark.parametrize("name", CASES)
def test_c_reads_as_the_golden_file(name: str, request: pytest.FixtureRequest) -> None:
    layer, kernel, core, bits = CASES[name]
    assert kernel.fits(layer, core, Widths.all(bits))
    path = GOLDEN / f"{layer.kind}_{name}.c"
    rendered = render_layer(LayerSource(quantize_one(layer, (-4.0, 3.9), (-1.9, 3.9), bits), kernel), 3)
    if request.config.getoption("--refresh-golden"):
        path.write_text(rendered)
    assert rendered == path.read_text(), "if the new C is what you want: pytest --refresh-golden"
