"""A network in fixed point, from its samples: 8 bits, 16 bits, or each value and weight as `--bits auto` needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from tinysplit.auto_widths import BoardLimits, Goal, Limits, choose_widths
from tinysplit.boards import load_all
from tinysplit.cost_model import free_memory
from tinysplit.fidelity import Fidelity, FloatScores
from tinysplit.graph import Graph
from tinysplit.odd_values import odd_values
from tinysplit.progress import steps
from tinysplit.quantize import choose_formats, quantize, widest
from tinysplit.quantize_report import QuantizeReport
from tinysplit.quantized import QuantizedGraph
from tinysplit.range_analysis import Statistics, clipped_ranges, value_statistics
from tinysplit.samples import Samples


def quantize_graph(
    graph: Graph, model: Path, samples: Samples, bits: int | Limits, messages: Console
) -> QuantizedGraph:
    """Return the network in the formats that lose least on the samples; `bits` 8, 16 or what auto has to keep."""
    with steps(messages, f"calibrating on {len(samples.x)} samples"):
        statistics = value_statistics(model, graph.value_names, samples.x)
        if isinstance(bits, Limits):
            quantized = choose_widths(graph, statistics, FloatScores.of(graph, model, samples), bits).quantized
        else:
            quantized = _in_width(graph, statistics, bits)
    for text in odd_values(quantized, statistics):
        messages.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)
    return quantized


def quantize_model(
    graph: Graph, model: Path, samples: Samples, calibration_count: int, bits: int | Limits, messages: Console
) -> QuantizeReport:
    """Quantize on the first `calibration_count` samples and measure on all; `bits` 8, 16 or what auto has to keep."""
    calibration = samples.first(calibration_count)
    with steps(messages, f"statistics of {len(calibration.x)} samples"):
        statistics = value_statistics(model, graph.value_names, calibration.x)
    with steps(messages, f"quantizing, and measuring on {len(samples.x)} samples"):
        floats = FloatScores.of(graph, model, samples)
        if isinstance(bits, Limits):
            scores = FloatScores(calibration, floats.scores[:calibration_count])
            auto = choose_widths(graph, statistics, scores, bits)
            return QuantizeReport(auto.quantized, statistics, Fidelity.of(auto.quantized, floats), auto)
        quantized = _in_width(graph, statistics, bits)
        return QuantizeReport(quantized, statistics, Fidelity.of(quantized, floats))


def auto_limits(board_names: Sequence[str], goal: Goal, assignment: Sequence[int] = ()) -> Limits:
    """Return what `--bits auto` has to keep on boards, on the first of them where there is no assignment."""
    boards = load_all(board_names)
    free = [free_memory(board) for board in boards]
    limits = (
        BoardLimits(board.device.core, own.flash_bytes, own.ram_bytes) for board, own in zip(boards, free, strict=True)
    )
    return Limits(goal, tuple(limits), tuple(assignment))


def _in_width(graph: Graph, statistics: Mapping[str, Statistics], bits: int) -> QuantizedGraph:
    formats = choose_formats(graph, clipped_ranges(statistics, bits), bits)
    return quantize(graph, formats, widest(formats))
