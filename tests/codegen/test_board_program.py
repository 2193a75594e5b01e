"""What the program of each board has, by which its files and the manifest are written."""

from pathlib import Path

import onnx
import pytest
from rich.console import Console

from example import CALIBRATION, MODEL
from tinysplit import pipeline
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.project import PlannedNetwork, plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.mlperf import Mlperf
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.codegen.projects import generate
from tinysplit.common.choices import Copies
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.costs.settings import CostSettings
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.slices.settings import Search

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


def example() -> QuantizedGraph:
    return quantize_randomly(import_model(MODEL), 8)[0]


def planned(*assignment: int) -> PlannedNetwork:
    return plan_network(example(), (load_board(G0), load_board(F4)), assignment, CostSettings())


def test_each_layer_is_in_one_program_and_once_in_the_manifest(tmp_path: Path) -> None:
    network = planned(0, 1, 0, 1, 1, 0, 1)
    project = generate(network.quantized, (network.plan,), (115_200, 115_200), 0, onnx.ModelProto(), tmp_path / "out")
    first, second = (network.program(own) for own in network.plan.boards)
    assert ([*first.sources], [*second.sources]) == ([0, 2, 5], [1, 3, 4, 6])
    layers = network.quantized.graph.layers
    computed = [number for number, layer in enumerate(layers, 1) if not layer.is_view]
    assert [layer.number for layer in project.layers] == computed
    assert [layer.board for layer in project.layers] == [(1, 2, 1, 2, 2, 1, 2)[number - 1] for number in computed]
    for board in project.boards:
        files = (tmp_path / "out" / board.directory / "src").glob("layer_*.c")
        own = {layer.number for layer in project.layers if layer.board == board.number}
        assert {int(path.name.split("_")[1]) for path in files} == own


def test_only_the_board_that_reads_the_input_speaks_mlperf() -> None:
    settings = CostSettings(returns_output=True)
    boards = (load_board(G0), load_board(F4))
    network = plan_network(example(), boards, (1, 1, 1, 0, 0, 0, 0), settings)
    programs = [network.program(own, ProgramOptions(mlperf=Mlperf("tiny"))) for own in network.plan.boards]
    hosts = {each.number: (each.host, each.firmware.host, each.planned.host) for each in programs}
    assert hosts == {1: (HostProtocol.TINYSPLIT,) * 3, 2: (HostProtocol.MLPERF,) * 3}


@pytest.mark.parametrize("counter", [None, 3])
def test_a_weights_file_adds_to_the_prediction(counter: int | None) -> None:
    network = planned(0, 0, 0, 0, 1, 1, 1)
    own = network.plan.boards[1]
    program = network.program(own, ProgramOptions(weights_counter=counter))
    plain = network.program(own).predicted
    assert (program.weights is None) == (counter is None)
    added = (program.weights.added_bytes, program.weights.added_ram_bytes) if program.weights else (0, 0)
    assert program.predicted.flash_bytes - plain.flash_bytes == added[0]
    assert program.predicted.ram_bytes - plain.ram_bytes == added[1]


def test_copies_have_programs_and_entries_of_their_own(tmp_path: Path) -> None:
    context = pipeline.Context.load(MODEL, (G0, F4, G0), CostSettings(), Console(quiet=True))
    split = pipeline.split_network(context, Search(copies=Copies.ALWAYS))
    described = pipeline.describe_split(context, split)
    project = pipeline.generate_folder(context, described, CALIBRATION, tmp_path / "out")
    assert project.copies == ((1,), (2,), (3,))
    (first, second, third) = project.pipelines
    assert [layer.number for layer in second.layers] == [layer.number for layer in first.layers]
    same = [each.model_copy(update={"board": 1}) for each in third.layers]
    assert same == list(first.layers) != list(second.layers)
    flash_bytes = [board.predicted_flash_bytes for board in project.boards]
    assert flash_bytes[0] == flash_bytes[2] != flash_bytes[1]
