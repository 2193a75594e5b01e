"""Whether the boards gave the right outputs, and how good these are beside float."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import CheckFailedError
from tinysplit.network.fixed_point.formats import FloatArray, IntArray
from tinysplit.network.quantized_graph import QuantizedGraph


@dataclass(frozen=True)
class OutputCheck:
    """Outputs of the boards against the integer reference, and of the integer reference against float.

    `top1` and `float_top1` are None without labels; `agreement` is the share of samples whose largest output is the
    same in integers and in float. `rmse`, `mae` and `l2r` (relative error in the l2 norm) are over all samples.
    """

    samples: int  # that ran on the boards
    differing: tuple[int, ...]  # their indices from 0
    reference_samples: int  # that ran in the integer reference and in float
    top1: float | None
    float_top1: float | None
    agreement: float
    rmse: float
    mae: float
    l2r: float

    @property
    def bit_exact(self) -> bool:
        """Whether every output of the boards is that of the integer reference."""
        return not self.differing

    def check(self) -> None:
        """Raise CheckFailedError unless all outputs are bit-exact."""
        if self.differing:
            raise CheckFailedError(
                f"{len(self.differing)} of {self.samples} outputs differ from the integer reference, "
                f"that of sample {self.differing[0] + 1} first"
            )


def check_outputs(
    quantized: QuantizedGraph,
    board_outputs: IntArray,
    integer_outputs: IntArray,
    float_outputs: FloatArray,
    labels: NDArray[np.integer] | None,
) -> OutputCheck:
    """Compare outputs.

    `board_outputs` is samples x elements in the boards' order, of the first of the samples; `integer_outputs` and
    `float_outputs` are all samples x output shape in ONNX's order; `labels` has one class a sample.
    """
    samples, total = len(board_outputs), len(integer_outputs)
    integers = integer_outputs.reshape(total, -1)
    floats = float_outputs.reshape(total, -1).astype(np.float64)
    differs = (board_outputs[:, quantized.graph.output_order] != integers[:samples]).any(axis=1)
    errors = quantized.output_format.dequantize(integers) - floats
    classes, float_classes = integers.argmax(axis=1), floats.argmax(axis=1)
    norm = float(np.linalg.norm(floats))
    return OutputCheck(
        samples=samples,
        differing=tuple(int(i) for i in np.flatnonzero(differs)),
        reference_samples=total,
        top1=None if labels is None else float((classes == labels).mean()),
        float_top1=None if labels is None else float((float_classes == labels).mean()),
        agreement=float((classes == float_classes).mean()),
        rmse=float(np.sqrt((errors**2).mean())),
        mae=float(np.abs(errors).mean()),
        l2r=float(np.linalg.norm(errors)) / norm if norm else 0.0,
    )
