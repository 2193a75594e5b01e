"""Costs against hand counts, the wire protocol and the published tables of Santamaria 2021."""

from dataclasses import replace

import numpy as np
import pytest

from models.networks import chain, dense, tiny_cnn
from session.shared_models import MOBILENET, shared_model
from splits.exhaustive import exhaustive_search
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.choices import Optimize
from tinysplit.common.errors import CheckFailedError, ToolError, UsageError
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.transfers import link_seconds
from tinysplit.kernels import choose, flash_bytes
from tinysplit.kernels.cost_table import CycleTable, shipped_table
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import layer_ram_bytes
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import KINDS, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.onnx_import import import_model
from tinysplit.papers.reproduce.networks import mobilenet_v1, yamnet_256
from tinysplit.papers.solvers.branch_and_bound import branch_and_bound
from tinysplit.plan.plan import make_plan
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.kernels import with_kernels_of
from tinysplit.split.solve import solve

PAPER = CostSettings(cost_model="santamaria-2021")


def boards(*names: str) -> tuple[Board, ...]:
    return tuple(load_board(name) for name in names)


G0_TWICE = boards("nucleo_g071rb", "nucleo_g071rb")
H7_AND_L4 = boards("nucleo_h743zi", "nucleo_l4r5zi")
H7_AND_F4 = boards("nucleo_h743zi", "nucleo_f401re")


def test_a_board_with_all_layers_has_the_kernels_of_an_only_board() -> None:
    net = NetworkBuilder("wide", Shape(16, 16, 32)).conv(32, (3, 3)).conv(64, (3, 3), 2).conv(64, (3, 3))
    graph = net.average_pool().dense(10).graph()
    one, two = (make_problem(shipped_table(), graph, pair, CostSettings()) for pair in (G0_TWICE[:1], G0_TWICE))
    alone = evaluate(one, (0,) * len(graph.layers))
    assert sum(layer.seconds[0] for layer in two.layers) > alone.l_s
    for device in (0, 1):
        assignment = (device,) * len(graph.layers)
        own = evaluate(two, assignment)
        assert (own.l_s, own.flash_bytes[device]) == (alone.l_s, alone.flash_bytes[0])
        planned = make_plan(shipped_table(), graph, 8, G0_TWICE, two, assignment, LinkSettings(115_200)).boards[0]
        only = make_plan(shipped_table(), graph, 8, G0_TWICE[:1], one, (0,) * len(graph.layers), LinkSettings(115_200))
        assert planned.memory.kernels == only.boards[0].memory.kernels
    apart = (0,) * (len(graph.layers) - 1) + (1,)
    assert evaluate(two, apart).layer_seconds == tuple(
        layer.seconds[device] for layer, device in zip(two.layers, apart, strict=True)
    )
    assert solve(two).objective <= alone.i_s


@pytest.mark.parametrize(
    ("graph", "pair", "latency_s", "n_splits", "nodes"),
    [
        (mobilenet_v1(0.25), H7_AND_L4, "0.2683", 2, 66),
        (mobilenet_v1(0.30), H7_AND_F4, "1.8388", 3, 69),
        (mobilenet_v1(0.35), H7_AND_L4, "0.4484", 2, 63),
        (yamnet_256(), H7_AND_L4, "4.3311", 2, 60),
    ],
    ids=["mobilenet_025", "mobilenet_030", "mobilenet_035", "yamnet"],
)
def test_latencies_of_table_4(graph: Graph, pair: tuple[Board, ...], latency_s: str, n_splits: int, nodes: int) -> None:
    problem = make_problem(shipped_table(), graph, pair, PAPER)
    published = branch_and_bound(problem)
    for split in (published, solve(problem)):
        assert split.proved
        assert f"{split.objective:.4f}" == latency_s
        assert len(split.sub_models) == n_splits
        assert {cut.seconds for cut in split.cuts} == {cut.payload_bytes * 8 / 115200 for cut in split.cuts}
    assert published.explored == nodes


def test_the_onnx_file_gives_the_published_figures() -> None:
    graph = import_model(shared_model(MOBILENET))
    split = branch_and_bound(make_problem(shipped_table(), graph, H7_AND_L4, PAPER))
    assert f"{split.objective:.4f}" == "0.2683"
    assert (len(split.sub_models), split.explored) == (2, 66)


def test_exhaustive_search_proves_a_published_latency() -> None:
    problem = make_problem(shipped_table(), yamnet_256(), H7_AND_L4, PAPER)
    split = exhaustive_search(problem)
    assert split.explored == 2**13
    assert split.proved
    assert f"{split.objective:.3f}" == "4.331"


def test_transfer_as_the_protocol_says() -> None:
    sender, receiver = (board.link_uarts[0] for board in boards("nucleo_g071rb", "nucleo_f401re"))
    # Frames of 2048 + 15 and 452 + 4 + 15 bytes, the last with the CRC of the tensor, whose end the receiver is awake
    # for. The rate nearest to 115200 that the divider makes is 64 MHz / 556.
    expected = 10 * (2063 + 471) / (64e6 / 556)
    ends, dma = (sender, receiver), LinkDriver.DMA
    assert link_seconds(2500, ends, dma, 115200) == pytest.approx(expected, rel=1e-12)
    assert link_seconds(2500, ends, dma, 115200, 8) == pytest.approx(0.8 * expected, rel=1e-12)
    assert link_seconds(2048, ends, dma, 115200) < link_seconds(2049, ends, dma, 115200) - 8e-5


def test_a_receiver_that_needs_no_idle_line_looks_at_once() -> None:
    g0, f4 = (board.link_uarts[0] for board in boards("nucleo_g071rb", "nucleo_f401re"))  # with and without FIFO
    one_way = 10 * 115 / g0.actual_baud(4_000_000)
    ticks = 10 * 115 / 4_000_000 / 0.001  # in a frame, of which a half finds its end near
    by_dma = (1 - 104 / 128) * (1 - ticks * 104 / 115 / 2)  # nor does the ring interrupt behind the header
    missed = 1 - ticks / 2
    for receiver, driver, idle_bytes, slow in (
        (g0, LinkDriver.POLLING, 0, 0),
        (g0, LinkDriver.INTERRUPT, missed, 0.5),
        (g0, LinkDriver.DMA, by_dma, (1 - 104 / 128) / 2),
        (f4, LinkDriver.POLLING, 0, 0),
        (f4, LinkDriver.INTERRUPT, 0, 0),
        (f4, LinkDriver.DMA, by_dma, (1 - 104 / 128) / 2),
    ):
        expected = one_way + 10 * idle_bytes / receiver.actual_baud(4_000_000)
        assert link_seconds(100, (g0, receiver), driver, 4_000_000) == pytest.approx(expected, rel=1e-9)
        long_s = 10 * (115 / g0.actual_baud(115_200) + slow / receiver.actual_baud(115_200))
        assert link_seconds(100, (g0, receiver), driver, 115_200) == pytest.approx(long_s, rel=1e-12)


def test_costs_of_the_network_that_will_run() -> None:
    graph = tiny_cnn()
    for bits in (8, 16):
        problem = make_problem(shipped_table(), graph, G0_TWICE, CostSettings(bits=bits, baud=115_200))
        first, pool = problem.layers[0], problem.layers[1]
        widths = Widths.all(bits)
        kernel = choose(shipped_table(), graph.layers[0], "cortex-m0plus", widths)
        code_bytes = shipped_table().kernel("cortex-m0plus", bits, kernel.cost_kind(graph.layers[0])).code_bytes
        assert first.flash_bytes == (kernel.weights_bytes(graph.layers[0], widths) + code_bytes,) * 2
        assert first.ram_bytes == (layer_ram_bytes(graph, 0, bits, kernel),) * 2
        assert first.out_bytes == pool.out_bytes * 4 == 28 * 28 * 8 * bits // 8
        choice = KernelChoice(shipped_table(), graph, BitWidths.all(graph, bits), G0_TWICE[0])
        waits = choice.waits(0, kernel)  # for the constants of the layer
        cycles = kernel_cycles(shipped_table(), graph.layers[0], "cortex-m0plus", widths, kernel)
        of_code = choice.code_waits(0, kernel).cycles
        assert list(first.seconds) == pytest.approx([(cycles + waits + of_code) / 64e6] * 2)
        assert min(waits, of_code) > 0
        n_bytes, uart = pool.out_bytes, G0_TWICE[0].link_uarts[0]
        link = shipped_table().link["stm32g0"]["dma"]
        handoff = shipped_table().handoff["stm32g0"]
        turnaround_s = (link.sending + link.receiving + handoff.resuming) / 64e6
        copies_s = 2 * n_bytes * handoff.copying / 64e6
        expected = link_seconds(n_bytes, (uart, uart), LinkDriver.DMA, 115200) + turnaround_s + copies_s
        there_s = problem.transfer_seconds[1][0][1]
        assert problem.transfer_seconds[1] == ((0.0, there_s), (there_s, 0.0))
        assert there_s == pytest.approx(expected)


def test_a_layer_whose_sums_may_need_more_than_24_bits_takes_a_byte_for_each_weight() -> None:
    weights = np.random.default_rng(1).uniform(-1.0, 1.0, (80, 1280))
    graph, board = chain(dense(weights, np.zeros(80))), load_board("nucleo_l412kb")
    problem = make_problem(shipped_table(), graph, (board,), CostSettings())
    flash_bytes = problem.devices[0].flash_bytes
    assert weights.size < flash_bytes < 2 * weights.size
    assert solve(problem).assignment == (0,)


@pytest.mark.slow
def test_least_ram_counts_the_flash_of_the_kernels_that_a_plan_takes() -> None:
    graph, pair = mobilenet_v1(0.25), boards("nucleo_g071rb", "nucleo_l4r5zi")
    problem = make_problem(shipped_table(), graph, pair, CostSettings(optimize=Optimize.RAM))
    widths, layers = BitWidths.all(graph, 8), range(len(graph.layers))
    for device, board in enumerate(pair):
        core = board.device.core
        steps = [PlanStep(StepKind.RUN, number, number) for number in layers]
        own = with_kernels_of(problem, (device,) * len(graph.layers))
        of_board = (shipped_table(), graph, widths, board, steps, 0, Optimize.RAM)
        taken = plan_memory(*of_board, is_alone=True, small=own.small).kernels
        for number, layer in enumerate(graph.layers):
            needed = flash_bytes(shipped_table(), taken[number], layer, core, widths.of_layer(layer))
            assert needed == own.layers[number].flash_bytes[device], layer.name


def test_a_board_needs_the_same_memory_in_every_company() -> None:
    """Kernels of Cortex-M0+ and Cortex-M4 pack weights differently; neither is charged for the other's."""
    graph = mobilenet_v1(0.25)
    pair = boards("nucleo_g071rb", "nucleo_l4r5zi")
    together = make_problem(shipped_table(), graph, pair, CostSettings())
    for device, board in enumerate(pair):
        alike = make_problem(shipped_table(), graph, (board, board), CostSettings())
        for layer, own in zip(together.layers, alike.layers, strict=True):
            assert (layer.flash_bytes[device],) * 2 == own.flash_bytes
            assert (layer.ram_bytes[device],) * 2 == own.ram_bytes
    whole = (1,) * len(graph.layers)
    assert evaluate(together, whole).is_feasible
    flash_bytes = evaluate(together, whole).flash_bytes[1]
    assert flash_bytes < sum(max(layer.flash_bytes) for layer in together.layers)
    tight = replace(together.devices[1], flash_bytes=flash_bytes)
    exact = replace(together, devices=(together.devices[0], tight))
    assert solve(exact).objective <= evaluate(exact, whole).i_s


def test_ram_is_what_the_arena_planner_makes() -> None:
    graph = tiny_cnn()
    problem = make_problem(shipped_table(), graph, G0_TWICE, CostSettings())
    assignment = (0, 0, 0, 1, 1, 0, 0)
    plan = make_plan(shipped_table(), graph, 8, G0_TWICE, problem, assignment, LinkSettings(115200))
    assert tuple(board.arena.size_bytes for board in plan.boards) == evaluate(problem, assignment).ram_bytes


def test_limits_are_what_the_firmware_leaves() -> None:
    problem = make_problem(shipped_table(), tiny_cnn(), H7_AND_F4, CostSettings())
    firmware = shipped_table().firmware
    h7, f4 = problem.devices
    assert (h7.flash_bytes, f4.flash_bytes) == (
        2048 * 1024 - firmware["stm32h7"].flash_bytes - firmware["stm32h7"].link_flash_bytes,
        512 * 1024 - firmware["stm32f4"].flash_bytes - firmware["stm32f4"].link_flash_bytes,
    )
    read_ahead_bytes = 8  # behind the arena, by the kernels of Cortex-M7
    assert h7.ram_bytes == 512 * 1024 - read_ahead_bytes  # AXI SRAM: variables and stack lie in DTCM
    assert f4.ram_bytes == 96 * 1024 - firmware["stm32f4"].ram_bytes


def test_a_board_that_is_too_small_for_the_firmware() -> None:
    device = G0_TWICE[0].device
    tiny = replace(G0_TWICE[0], device=replace(device, flash=replace(device.flash, size_bytes=1024)))
    with pytest.raises(CheckFailedError, match="nucleo_g071rb is too small for the firmware"):
        make_problem(shipped_table(), tiny_cnn(), (tiny,), CostSettings())


def test_a_baud_rate_that_no_divider_makes() -> None:
    with pytest.raises(UsageError, match="cannot make 50000000 baud within 2%"):
        make_problem(shipped_table(), tiny_cnn(), G0_TWICE, CostSettings(baud=50_000_000))
    make_problem(shipped_table(), tiny_cnn(), G0_TWICE[:1], CostSettings(baud=50_000_000))  # no transfers


def test_the_table_is_complete() -> None:
    table = shipped_table()
    assert set(table.cores) == {"cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"}
    families = {
        "stm32c0",
        "stm32l0",
        "stm32wb",
        "stm32wl",
        "stm32f0",
        "stm32u5",
        "stm32h5",
        "stm32l5",
        "stm32f1",
        "stm32f3",
        "stm32f4",
        "stm32f7",
        "stm32g0",
        "stm32g4",
        "stm32h7",
        "stm32l4",
    }
    assert families == set(table.link) - {"stm32l4+"} == set(table.handoff) == set(table.firmware)
    for core in table.cores:
        for bits in (8, 16):
            for kind in (*(name for name, layer in KINDS.items() if not layer.is_view), "pointwise_conv"):
                assert table.kernel(core, bits, kind).code_bytes > 0
    with pytest.raises(ToolError, match="has no conv with 8 bits on cortex-m55: run "):
        table.kernel("cortex-m55", 8, "conv")


def test_split_of_the_quantized_network_uses_both_boards_when_asked() -> None:
    problem = make_problem(shipped_table(), tiny_cnn(), G0_TWICE, CostSettings(use_all=True))
    split = exhaustive_search(problem)
    assert len(set(split.assignment)) == 2
    alone = exhaustive_search(make_problem(shipped_table(), tiny_cnn(), G0_TWICE, CostSettings()))
    assert set(alone.assignment) == {0}
    assert alone.objective < split.objective


def test_the_schema_forbids_unknown_keys() -> None:
    data = shipped_table().model_dump()
    with pytest.raises(ValueError, match="extra"):
        CycleTable.model_validate({**data, "surprise": 1})
