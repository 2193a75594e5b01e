from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from tinysplit.common.errors import CheckFailedError
from tinysplit.network.ends import NetworkOutput
from tinysplit.network.fixed_point.formats import QFormat
from tinysplit_hil.measure.outputs import check_outputs

if TYPE_CHECKING:
    from tinysplit.network.quantized_graph import QuantizedGraph

# ONNX's order of a 2 x 2 x 3 output in HWC, as an exporter's CHW.
OUTPUT_ORDER = np.arange(12).reshape(2, 2, 3).transpose(2, 0, 1).ravel()
QUANTIZED = cast(
    "QuantizedGraph",
    SimpleNamespace(
        graph=SimpleNamespace(
            output_order=OUTPUT_ORDER,
            outputs=(NetworkOutput(name="y", shape=(3, 2, 2), order=OUTPUT_ORDER, value="y"),),
        ),
        output_formats=(QFormat(8, 4),),
    ),
)


@pytest.fixture
def hwc() -> np.ndarray[tuple[int, int, int, int], np.dtype[np.int8]]:
    return np.random.default_rng(1).integers(-128, 128, (5, 2, 2, 3), np.int8)


def test_outputs_are_compared_in_one_order(hwc: np.ndarray[tuple[int, int, int, int], np.dtype[np.int8]]) -> None:
    chw = hwc.transpose(0, 3, 1, 2)
    floats = chw / 16
    labels = floats.reshape(5, -1).argmax(axis=1)
    labels[0] += 1
    check = check_outputs(QUANTIZED, (0, 1, 2), hwc[:3].reshape(3, -1), chw, floats, {"y": labels})
    assert check.bit_exact
    assert (check.samples, check.reference_samples) == (3, 5)
    assert (check.worst.top1, check.worst.float_top1, check.worst.agreement) == (0.8, 0.8, None)
    assert (check.worst.rmse, check.worst.mae, check.worst.l2r) == (0, 0, 0)


def test_differences_are_found_and_named(hwc: np.ndarray[tuple[int, int, int, int], np.dtype[np.int8]]) -> None:
    boards = hwc.reshape(5, -1).copy()
    boards[2, 11] ^= 1
    chw = hwc.transpose(0, 3, 1, 2)
    check = check_outputs(QUANTIZED, range(5), boards, chw, chw / 16 + 0.5, {})
    assert check.differing == (2,)
    assert check.worst.top1 is None
    assert check.worst.rmse == pytest.approx(0.5)
    assert check.worst.mae == pytest.approx(0.5)
    assert check.worst.l2r == pytest.approx(0.5 * np.sqrt(60) / np.linalg.norm(chw / 16 + 0.5))
    with pytest.raises(CheckFailedError, match=r"1 of 5 outputs differ .* first for sample 3"):
        check.check()


def test_samples_without_output_are_left_out(hwc: np.ndarray[tuple[int, int, int, int], np.dtype[np.int8]]) -> None:
    chw = hwc.transpose(0, 3, 1, 2)
    boards = hwc.reshape(5, -1)[[0, 4, 3, 0]].copy()
    boards[1, 0] ^= 1
    check = check_outputs(QUANTIZED, (0, 4, 3, 0), boards, chw, chw / 16, {})
    assert (check.samples, check.differing) == (3, (4,))
