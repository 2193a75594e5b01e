"""Check of the boards' outputs against the integer reference, and accuracy against float."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tinysplit.common.errors import CheckFailedError
from tinysplit.network.ends import NetworkOutput, by_name
from tinysplit.network.fixed_point.formats import FloatArray, IntArray
from tinysplit.network.integer_reference import real_outputs
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Labels


@dataclass(frozen=True)
class OutputErrors:
    """An output of the integer reference against float.

    `top1` and `float_top1` (accuracy) are None without labels. `agreement` is the share of samples with the same argmax
    in integers and in float, None for outputs without classes. `rmse`, `mae` and `l2r` (relative error in the l2 norm)
    are over all samples.
    """

    top1: float | None
    float_top1: float | None
    agreement: float | None
    rmse: float
    mae: float
    l2r: float


@dataclass(frozen=True)
class OutputCheck:
    """Outputs of the boards against the integer reference, and of the integer reference against float by their names.

    Single figures are those of the worst output.
    """

    samples: int  # with an output of the boards
    differing: tuple[int, ...]  # indices from 0 of those that are not bit-exact
    reference_samples: int  # computed by the integer reference and in float
    outputs: Mapping[str, OutputErrors]

    @property
    def worst(self) -> OutputErrors:
        """The largest errors and the least shares; of the accuracies, those of the output that loses most."""
        every = list(self.outputs.values())
        labelled = [
            (each.float_top1 - each.top1, each)
            for each in every
            if each.top1 is not None and each.float_top1 is not None
        ]
        of_labels = max(labelled, key=lambda each: each[0])[1] if labelled else every[0]
        return OutputErrors(
            of_labels.top1,
            of_labels.float_top1,
            min((each.agreement for each in every if each.agreement is not None), default=None),
            *(max(getattr(each, name) for each in every) for name in ("rmse", "mae", "l2r")),
        )

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
    labels: Mapping[str, Labels],
) -> OutputCheck:
    """Compare outputs.

    `board_outputs`: n x elements, integers in HWC order, of the n `samples` (indices from 0). `integer_outputs` and
    `float_outputs`: samples x output shape, in ONNX's order. `labels`: one class per sample, by the output's name.
    """
    total, ends = len(integer_outputs), quantized.graph.outputs
    integers = integer_outputs.reshape(total, -1)
    differs = (board_outputs[:, quantized.graph.output_order] != integers[list(samples)]).any(axis=1)
    reals, floats = by_name(ends, real_outputs(quantized, integers)), by_name(ends, float_outputs)
    return OutputCheck(
        samples=len(set(samples)),
        differing=tuple(sorted({sample for sample, is_wrong in zip(samples, differs, strict=True) if is_wrong})),
        reference_samples=total,
        outputs={end.name: _errors(end, reals[end.name], floats[end.name], labels.get(end.name)) for end in ends},
    )


def _errors(end: NetworkOutput, real: FloatArray, expected: FloatArray, labels: Labels | None) -> OutputErrors:
    found, floats = real.reshape(len(real), -1), expected.reshape(len(real), -1).astype(np.float64)
    classes, float_classes = end.classes(found), end.classes(floats)
    errors, norm = found - floats, float(np.linalg.norm(floats))
    return OutputErrors(
        top1=None if labels is None else float((classes == labels).mean()),
        float_top1=None if labels is None else float((float_classes == labels).mean()),
        agreement=float((classes == float_classes).mean()) if end.has_classes else None,
        rmse=float(np.sqrt((errors**2).mean())),
        mae=float(np.abs(errors).mean()),
        l2r=float(np.linalg.norm(errors)) / norm if norm else 0.0,
    )
