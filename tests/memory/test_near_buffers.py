"""Arenas larger than the DTCM of an H7: what lies next to the core, as that memory shrinks and grows."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from rich.console import Console

from models.onnx_builder import OnnxBuilder, conv
from tinysplit.boards.board import Device
from tinysplit.boards.catalog import load_board, load_file
from tinysplit.boards.devices import load_device
from tinysplit.build.folder import build_folder
from tinysplit.codegen.memory_report import describe_memory
from tinysplit.codegen.projects import generate
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.arena import NEAR_BEGIN
from tinysplit.memory.layout import BufferId, Schedule
from tinysplit.memory.near_buffers import buffer_waits
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.constants import with_constants_in_ram
from tinysplit.plan.plan import BoardPlan, Plan, make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder

QUIET = Console(quiet=True)
SETTINGS = CostSettings(bits=16)
SIZES = (6 << 10, 14 << 10, 24 << 10, 128 << 10)
SAME = [1, 1, 1, 1]


@pytest.fixture
def resize(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Return a function that gives the DTCM of all boards another size."""

    def to(size_bytes: int) -> None:
        def load(*part: object) -> Device:
            device = load_device(*part)  # type: ignore[arg-type]
            ram = tuple(replace(each, size_bytes=size_bytes) if each.name == "dtcm" else each for each in device.ram)
            return replace(device, ram=ram)

        monkeypatch.setattr("tinysplit.boards.catalog.load_device", load)
        load_file.cache_clear()

    yield to
    monkeypatch.undo()
    load_file.cache_clear()


def model(folder: Path) -> Path:
    """Save a network with depthwise layers on maps of 18 and 36 KB."""
    builder = OnnxBuilder(["n", 4, 24, 24])
    channels = 4
    for outputs, groups, stride in ((16, 1, 1), (16, 16, 1), (32, 1, 1), (32, 32, 2), (16, 1, 1)):
        size = 3 if groups > 1 else 1
        pads = SAME if groups > 1 else None
        conv(builder, outputs, channels // groups, (size, size), pads=pads, group=groups, strides=[stride, stride])
        builder.node("Relu")
        channels = outputs
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    return builder.save(folder)


def plan(graph: Graph) -> Plan:
    boards = (load_board("nucleo_h743zi"),)
    problem = make_problem(shipped_table(), graph, boards, SETTINGS)
    return make_plan(
        shipped_table(), graph, 16, boards, problem, (0,) * len(graph.layers), SETTINGS.link_settings_on(boards)
    )


def far_waits(graph: Graph, own: BoardPlan) -> float:
    """Return the cycles for which the layers wait for what does not lie next to the core."""
    memory, widths = own.memory, BitWidths.all(graph, 16)
    schedule = Schedule(graph, widths, own.steps, memory.kernels, memory.fused, memory.moves)
    waits = buffer_waits(schedule, own.board)
    return sum(waits.get(key, 0.0) for key, offset in memory.arena.offsets.items() if offset < NEAR_BEGIN)


def test_the_arena_lies_next_to_the_core_if_all_fits(tmp_path: Path) -> None:
    graph = import_model(model(tmp_path))
    (own,) = plan(graph).boards
    assert own.arena_memory.name == "dtcm"
    assert own.arena.near_bytes == 0


@pytest.mark.parametrize("size_bytes", SIZES[:-1])
def test_what_does_not_fit_goes_elsewhere(resize: Callable[[int], None], tmp_path: Path, size_bytes: int) -> None:
    resize(size_bytes)
    graph = import_model(model(tmp_path))
    (own,) = plan(graph).boards
    offsets = own.arena.offsets
    assert own.arena_memory.name == "d1_sram"
    assert 0 < own.arena.near_bytes <= own.near_bytes - own.board.read_ahead_bytes
    assert offsets[BufferId(NETWORK_INPUT)] < NEAR_BEGIN  # the host writes it
    assert offsets[BufferId(len(graph.layers) - 1)] < NEAR_BEGIN
    ends = [end for number in own.layers for _, end in own.memory.in_use[number] if end > NEAR_BEGIN]
    assert max(ends) - NEAR_BEGIN <= own.arena.near_bytes
    choice = own.kernel_choice(graph, BitWidths.all(graph, 16))
    for number in own.layers:
        name = "dtcm, without" if offsets[BufferId(number)] >= NEAR_BEGIN else "d1_sram, with"
        assert f"; output in {name} " in describe_memory(choice, own, number).why


@pytest.mark.slow
def test_cycles_follow_the_size_of_the_memory(resize: Callable[[int], None], tmp_path: Path) -> None:
    """Waits are predicted in the order in which cycles are measured; outputs are bit-exact."""
    path = model(tmp_path)
    x = np.random.default_rng(0).normal(size=(2, 4, 24, 24)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=x)
    graph = import_model(path)
    quantized = quantize_model(graph, path, Samples(x), 16, QUIET).quantized
    waits, cycles = [], []
    for size_bytes in SIZES:
        resize(size_bytes)
        planned, out = with_constants_in_ram(plan(graph), quantized), tmp_path / str(size_bytes)
        own = planned.boards[0]
        bauds = (115_200, SETTINGS.host_baud_on([each.board for each in planned.boards]))
        project = generate(quantized, (planned,), bauds, len(x), onnx.load(path), out)
        build_folder(project, out, QUIET).check()
        report = measure_folder(project, out, tmp_path / "samples.npz", MeasureSettings(sample_count=1), QUIET)
        assert report.outputs.bit_exact
        waits.append(far_waits(graph, own) if own.arena_memory.name != "dtcm" else 0.0)
        cycles.append(sum(layer.cycles.mean for layer in report.measurement.layers))
    assert all(more > less for more, less in pairwise(waits))
    assert all(more > less for more, less in pairwise(cycles))
