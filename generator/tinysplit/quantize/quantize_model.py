"""A network in fixed point from calibration samples: in 8 bits, in 16 bits, or in mixed precision."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tinysplit.common.choices import LONG_BITS
from tinysplit.common.progress import steps
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_allocation import Limits, MixedPrecision, allocate_bits
from tinysplit.quantize.scale_search import TimeLimit


@dataclass(frozen=True, eq=False)
class Quantization:
    """A network in fixed point, the calibration that it follows from, and how its bit widths were found.

    `mixed_precision` is None where all values and weights have one width.
    """

    calibration: Calibration
    quantized: QuantizedGraph
    mixed_precision: MixedPrecision | None = None


def print_scales(calibration: Calibration, messages: Console) -> None:
    """Choose the free scales of 8-bit values, and print what they bring. The errors are those of `scales`."""
    with steps(messages, f"choosing scales of {calibration.graph.name}"):
        line = calibration.scales.line(calibration.limit)
    messages.print(line, highlight=False, soft_wrap=True)


def quantize_model(
    graph: Graph,
    model: Path,
    samples: Samples,
    bits: int | Limits | Sequence[LayerFormats],
    messages: Console,
    limit: TimeLimit | None = None,
) -> Quantization:
    """Calibrate on `samples` and quantize to 8 or 16 bits, in mixed precision within limits, or in given formats.

    Free scales may take as long as `limit` says, or as usual; a line tells what they bring.

    Raises InputError where no formats keep the accumulators in 32 bits, CheckFailedError where no bit widths are
    accurate enough within the limits; the errors of given formats are those of `keep_structure`.
    """
    calibration = Calibration.of(graph, model, samples, messages, limit)
    if isinstance(bits, Sequence):
        return Quantization(calibration, calibration.in_structure(bits))
    if bits != LONG_BITS:
        print_scales(calibration, messages)
    if not isinstance(bits, Limits):
        return Quantization(calibration, calibration.best(BitWidths.of(graph, bits)))
    with steps(messages, f"choosing bit widths of {graph.name}"):
        mixed = allocate_bits(calibration, bits)
    return Quantization(calibration, mixed.quantized, mixed)
