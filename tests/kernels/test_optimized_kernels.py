"""What a compiler at -O3, which vectorizes and moves loads ahead of stores, makes of kernels that work in place.

The other tests compile for the host with sanitizers at -O1, and for boards at -O2.
"""

from pathlib import Path

import numpy as np
import pytest

from kernel_cases import dsp_layers, m0plus_layers
from kernel_cases.kernels_on_host import all_kernels, assert_c_equals_the_reference, overlap, run_on_host
from kernel_cases.layer_cases import MAKERS, random_mixed, random_quantized
from session.profiles import cases
from tinysplit.kernels import candidates
from tinysplit.network.bit_widths import Widths

pytestmark = pytest.mark.slow

OPTIMIZED = ("gcc", "-O3")
CASES = cases(quick=2, full=3, nightly=16)
NEVER_IN_PLACE = {"arg_max", "conv_transpose", "matmul", "recurrent"}
DSP_MAKERS = (
    dsp_layers.conv,
    dsp_layers.tiled_conv,
    dsp_layers.dense,
    dsp_layers.depthwise_conv,
    dsp_layers.max_pool,
    dsp_layers.average_pool,
)


@pytest.mark.parametrize("kind", MAKERS)
def test_kernels_of_every_kind_equal_the_reference_at_their_lead(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    layers = [random_quantized(rng, kind, bits) for bits in (8, 16) for _ in range(CASES)]
    layers += [random_mixed(rng, kind) for _ in range(CASES)]
    in_place = [kernel for kernel in all_kernels(layers).values() if overlap(kernel, 0) != "NONE"]
    assert bool(in_place) == (kind not in NEVER_IN_PLACE) or kind == "permute"  # if it takes a part
    assert_c_equals_the_reference(tmp_path, rng, layers, OPTIMIZED)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("maker", DSP_MAKERS)
def test_kernels_of_dsp_cores_equal_the_reference_at_their_lead(
    maker: dsp_layers.Maker, bits: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(9)
    layers = [dsp_layers.quantized(rng, maker(rng), bits) for _ in range(CASES)]
    assert any(len(candidates(each.layer, "cortex-m4", Widths.all(bits))) > 1 for each in layers)
    assert_c_equals_the_reference(tmp_path, rng, layers, OPTIMIZED)


@pytest.mark.parametrize("kind", m0plus_layers.MAKERS)
def test_kernels_of_m0plus_equal_the_reference_at_their_lead(kind: str, tmp_path: Path) -> None:
    kernels = m0plus_layers.random_kernels(kind)
    inputs = [m0plus_layers.allowed_inputs(kernel) for kernel in kernels.values()]
    pairs = zip(kernels.values(), inputs, strict=True)
    expected = b"".join(m0plus_layers.reference(kernel, xs) for kernel, xs in pairs)
    assert run_on_host(tmp_path, kernels, inputs, OPTIMIZED) == expected
