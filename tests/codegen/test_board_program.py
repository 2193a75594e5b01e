"""What the program of each board has, by which its files and the manifest are written."""

import json
import re
from pathlib import Path

import onnx
import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL
from tinysplit import pipeline
from tinysplit.boards.catalog import load_board
from tinysplit.boards.marker_pins import MarkerPins
from tinysplit.calibration.project import PlannedNetwork, plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.mlperf import Mlperf
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.codegen.projects import generate
from tinysplit.common.choices import Copies
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.slices.settings import Search

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


def example() -> QuantizedGraph:
    return quantize_randomly(import_model(MODEL), 8)[0]


def planned(*assignment: int) -> PlannedNetwork:
    return plan_network(shipped_table(), example(), (load_board(G0), load_board(F4)), assignment, CostSettings())


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


def test_the_first_layer_behind_an_input_has_the_interrupts_that_say_so() -> None:
    net = NetworkBuilder("pools", Shape(8, 8, 4)).max_pool(1, 1).max_pool(1, 1).max_pool(1, 1)
    boards = (load_board(F4), load_board(F4))
    network = plan_network(shipped_table(), quantize_randomly(net.graph(), 8)[0], boards, (0, 0, 1), CostSettings())
    first, second = (network.program(own).layers for own in network.plan.boards)
    steady = {layer.estimated_cycles for layer in (*first[1:], *second)}
    assert {first[0].estimated_cycles - cycles for cycles in steady} == {shipped_table().handoff["stm32f4"].taking}


def test_only_the_board_that_reads_the_input_speaks_mlperf() -> None:
    settings = CostSettings(returns_output=True)
    boards = (load_board(G0), load_board(F4))
    network = plan_network(shipped_table(), example(), boards, (1, 1, 1, 0, 0, 0, 0), settings)
    programs = [network.program(own, ProgramOptions(mlperf=Mlperf("tiny"))) for own in network.plan.boards]
    hosts = {each.number: (each.host, each.firmware.host, each.planned.host) for each in programs}
    assert hosts == {1: (HostProtocol.TINYSPLIT,) * 3, 2: (HostProtocol.MLPERF,) * 3}


def test_each_program_says_what_it_is(tmp_path: Path) -> None:
    network, out = planned(0, 0, 0, 0, 1, 1, 1), tmp_path / "out"
    project = generate(network.quantized, (network.plan,), (115_200, 921_600), 0, onnx.ModelProto(), out)
    for board in project.boards:
        source = (out / board.directory / "src" / "project_hash.c").read_text()
        pieces = re.findall(r'^ +"(.*)",?$', source.split(".text =")[1], re.MULTILINE)
        assert json.loads("".join(pieces).replace('\\"', '"')) == {
            "tinysplit": project.tinysplit_version,
            "protocol": 2,
            "model": project.model.name,
            "model_sha256": project.model.sha256,
            "board": board.number,
            "name": (G0, F4)[board.number - 1],
            "device": ("stm32g071rbt6", "stm32f401ret6")[board.number - 1],
            "clock": "hsi",
            "core_hz": board.core_hz,
            "host_protocol": "tinysplit",
            "host_baud": 921_600,
            "link_bauds": [4_000_000],
            "project_hash": f"{project.project_hash:08x}",
        }


def test_options_reach_firmware_and_prediction() -> None:
    network = planned(0, 0, 0, 0, 1, 1, 1)
    own = network.plan.boards[0]
    plain, other = (
        network.program(own, options)
        for options in (ProgramOptions(), ProgramOptions(has_markers=True, has_diagnostics=False))
    )
    assert (plain.firmware.markers, plain.firmware.has_diagnostics) == (None, True)
    assert other.firmware.markers == MarkerPins.of(G0)
    assert not other.firmware.has_diagnostics
    counted = [(each.planned.parts["markers"], each.planned.parts["diagnostics"]) for each in (plain, other)]
    assert counted == [(0, 1), (1, 0)]


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
    context = Context.load(MODEL, (G0, F4, G0), CostSettings(), Console(quiet=True))
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
