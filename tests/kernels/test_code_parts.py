"""Parts of the code of kernels: functions that layers share, against the symbols of compiled layers."""

import subprocess
from pathlib import Path

import pytest

from tinysplit.calibration.code_bytes import fit_bytes
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.layer_source import LayerSource, render_header, render_layer
from tinysplit.codegen.platformio_ini import COMPILER, Flags
from tinysplit.common import package_files
from tinysplit.kernels.armv6m.packed import Packed
from tinysplit.kernels.cost_table import ONCE, bytes_of, shipped_table
from tinysplit.kernels.dsp.dual_mac import DualMac
from tinysplit.kernels.dsp.planes import Planes
from tinysplit.kernels.selection import KERNELS
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder

STATIC = {"begin", "compute_rest", "pad", "widen_rows"}  # functions of the library that only its own call
NETWORK = NetworkBuilder("shared", Shape(9, 7, 3)).conv(8, (3, 3)).depthwise().conv(12).average_pool().dense(5).graph()


@pytest.mark.parametrize(("number", "kernel"), [(0, DualMac()), (1, Planes()), (2, DualMac()), (4, DualMac())])
def test_functions_that_a_layer_shares_are_those_of_its_object(tmp_path: Path, number: int, kernel: DualMac) -> None:
    layer = quantize_randomly(NETWORK, 8)[0].layers[number]
    source = LayerSource(layer, kernel)
    (tmp_path / "layers.h").write_text(render_header({1: source}))
    (tmp_path / "layer.c").write_text(render_layer(source, 1))
    flags, firmware = Flags(), package_files.firmware() / "common"
    command = (
        COMPILER,
        "-mcpu=cortex-m4",
        *flags.machine,
        *flags.c,
        *flags.compiler,
        f"-I{tmp_path}",
        f"-I{firmware}",
        "-c",
    )
    subprocess.run([*command, tmp_path / "layer.c", "-o", tmp_path / "layer.o"], check=True)
    names = subprocess.run(
        ["arm-none-eabi-nm", tmp_path / "layer.o"], capture_output=True, text=True, check=True
    ).stdout
    shared = {line.split()[-1] for line in names.splitlines() if line.split()[-2] in "UWV" and "dsp_" in line}
    assert shared == set(kernel.exact_code(layer).shared) - STATIC


def test_layers_of_one_shape_share_their_functions() -> None:
    layer, widths = NETWORK.layers[1], Widths.all(8)
    assert Planes().code(layer, widths).shared == Planes().code(layer, widths).shared
    assert set(Planes().code(layer, widths).shared) != set(Planes().code(layer, Widths.all(16)).shared)


def test_every_kernel_has_bytes_of_its_own_code_in_the_table() -> None:
    code = shipped_table().code
    assert (
        set(code.kernels)
        == set(code.functions)
        == {"cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"}
    )
    for core, by_bits in shipped_table().cores.items():
        for bits, kinds in by_bits.items():
            missing = set(kinds) - set(code.kernels[core][bits])
            assert not {kind for kind in missing if kind not in {"average_of_sums", "partial_sum"}}
    assert {kernel.cost_name or kernel.name for kernel in KERNELS if kernel.name not in {"direct", "view"}} <= {
        kind.partition("/")[2] for by_bits in code.kernels.values() for kinds in by_bits.values() for kind in kinds
    }


def test_expected_words_of_packed_weights_are_at_most_the_bound() -> None:
    layer = NETWORK.layers[2]
    assert 0 < Packed().expected_weights_bytes(layer, Widths.all(8)) < Packed().weights_bytes(layer, Widths.all(8))


def test_the_fit_finds_the_bytes_that_made_the_samples() -> None:
    costs = {ONCE: 40.0, "pairs": 12.0, "groups": 20.0}
    works = [{"pairs": float(n), "groups": float(n % 3), "unused": 0.0} for n in range(1, 9)]
    found = fit_bytes([(work, round(bytes_of(costs, work))) for work in works])
    assert found == pytest.approx(costs, abs=0.02)
