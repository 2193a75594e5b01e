"""Check of the boards' outputs against the integer reference, and accuracy against float."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import CheckFailedError
from tinysplit.network.fixed_point.formats import FloatArray, IntArray
from tinysplit.network.integer_reference import real_outputs
from tinysplit.network.quantized_graph import QuantizedGraph


@dataclass(frozen=True)
class OutputCheck:
    """Outputs of the boards against the integer reference, and of the integer reference against float.

    `top1` and `float_top1` (accuracy) are None without labels. `agreement` is the share of samples with the same argmax
    in integers and in float. `rmse`, `mae` and `l2r` (relative error in the l2 norm) are over all samples.
    """

    samples: int  # with an output of the boards
    differing: tuple[int, ...]  # indices from 0 of those that are not bit-exact
    reference_samples: int  # computed by the integer reference and in float
    top1: float | None
    float_top1: float | None
    agreement: float
    rmse: float
    mae: float
    l2r: float

    @property
    def bit_exact(self) -> bool:
        """Whether all outputs of the boards equal those of the integer reference."""
        return not self.differing

    def check(self) -> None:
        """Raise CheckFailedError unless all outputs are bit-exact."""
        if self.differing:
            raise CheckFailedError(
                f"{len(self.differing)} of {self.samples} outputs differ from the integer reference, "
                f"first for sample {self.differing[0] + 1}"
            )


def check_outputs(
    quantized: QuantizedGraph,
    samples: Sequence[int],
    board_outputs: IntArray,
    integer_outputs: IntArray,
    float_outputs: FloatArray,
    labels: NDArray[np.integer] | None,
) -> OutputCheck:
    """Compare outputs.

    `board_outputs`: n x elements, integers in HWC order, of the n `samples` (indices from 0). `integer_outputs` and
    `float_outputs`: samples x output shape, in ONNX's order. `labels`: one class per sample.
    """
    total = len(integer_outputs)
    integers = integer_outputs.reshape(total, -1)
    floats = float_outputs.reshape(total, -1).astype(np.float64)
    differs = (board_outputs[:, quantized.graph.output_order] != integers[list(samples)]).any(axis=1)
    errors = real_outputs(quantized, integers) - floats
    classes, float_classes = integers.argmax(axis=1), floats.argmax(axis=1)
    norm = float(np.linalg.norm(floats))
    return OutputCheck(
        samples=len(set(samples)),
        differing=tuple(sorted({sample for sample, is_wrong in zip(samples, differs, strict=True) if is_wrong})),
        reference_samples=total,
        top1=None if labels is None else float((classes == labels).mean()),
        float_top1=None if labels is None else float((float_classes == labels).mean()),
        agreement=float((classes == float_classes).mean()),
        rmse=float(np.sqrt((errors**2).mean())),
        mae=float(np.abs(errors).mean()),
        l2r=float(np.linalg.norm(errors)) / norm if norm else 0.0,
    )
