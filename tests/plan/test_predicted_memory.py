"""Memory that is predicted from plans: before and after weights and values have formats, and what it counts."""

from dataclasses import replace

import pytest
from rich.console import Console

from example_folders import example
from tinysplit import pipeline
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.onnx_import import import_model
from tinysplit.plan.predicted_memory import PlannedProgram
from tinysplit.plan.predicted_split import predict_split
from tinysplit.slices.settings import Search

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


def programs(*names: str, settings: CostSettings | None = None) -> list[PlannedProgram]:
    """Return the programs of the example, divided into as many runs of layers as there are boards."""
    quantized = quantize_randomly(import_model(example.MODEL), 8, may_be_free=False)[0]
    count = len(quantized.layers)
    assignment = tuple(number * len(names) // count for number in range(count))
    network = plan_network(
        shipped_table(), quantized, list(map(load_board, names)), assignment, settings or CostSettings()
    )
    return [network.program(own).planned for own in network.plan.boards]


def test_arena_buffers_constants_and_vectors_are_known() -> None:
    (alone,) = programs(G0)
    vectors = 16 + 31  # RM0444, table of vectors: positions 0 to 30
    assert alone.known.flash_bytes == 4 * vectors + len("tiny_cnn" + G0 + alone.board_plan.board.device.name)
    assert alone.known.ram_bytes == alone.board_plan.arena_bytes
    first, second = programs(G0, F4)
    for linked in (first, second):
        constants_bytes = linked.board_plan.resident_bytes
        assert linked.known.ram_bytes == linked.board_plan.arena_bytes + constants_bytes + 256 + 2 * 128  # DMA's
    assert second.board_plan.resident_bytes > 0


def test_entries_of_tables_are_counted() -> None:
    first, second = programs(G0, F4)
    assert (first.parts["steps"], second.parts["steps"]) == (4 + 2, 3 + 2)  # input or output, and a transfer
    assert (first.parts["only_sending"], second.parts["only_receiving"]) == (1, 1)
    assert first.parts["transfers"] == second.parts["transfers"] == 1
    assert first.parts["links_dma"] == first.parts["host_tinysplit_linked"] == 1
    assert replace(first, host=HostProtocol.MLPERF).parts["host_mlperf_linked"] == 1


def test_links_and_more_layers_take_flash() -> None:
    (alone,), (first, _) = programs(G0), programs(G0, G0)
    fewer = replace(alone, layers={number: alone.layers[number] for number in first.layers})
    assert fewer.predicted.flash_bytes < alone.predicted.flash_bytes
    assert fewer.predicted.flash_bytes + 10_000 < first.predicted.flash_bytes


@pytest.mark.parametrize("name", [G0, F4, "nucleo_h743zi"])
def test_a_split_is_predicted_before_there_are_formats(name: str) -> None:
    context = Context.load(example.MODEL, (name,), CostSettings(), Console(quiet=True))
    split = pipeline.split_network(context, Search())
    predicted = predict_split(shipped_table(), context.graph, context.boards, split, context.settings)
    (exact,) = programs(name)
    assert predicted[1].flash_bytes == pytest.approx(exact.predicted.flash_bytes, rel=0.02, abs=256)
    assert predicted[1].ram_bytes <= exact.predicted.ram_bytes  # without copies of constants
