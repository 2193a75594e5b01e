"""Flash and RAM of programs: predicted beside built, arenas, copies, and what options of the programs add.

Nothing runs on boards. Takes some 8 minutes in all.
"""

import tempfile
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from common.bare_network import plan_network
from common.benchmark import BITS, JSON, ONLY, benchmark, boards
from common.networks import NETWORKS, QUIET, calibrated, chosen, chosen_networks
from common.tables import MarkdownTable, percent
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.build.folder import build_folder
from tinysplit.build.report import ERROR_BYTES, ERROR_SHARE, is_as_predicted
from tinysplit.calibration.networks import calibration_networks
from tinysplit.calibration.project import PlannedNetwork
from tinysplit.calibration.project import plan_network as plan_project
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.choices import Optimize, Slices
from tinysplit.common.secret_key import SecretKey
from tinysplit.context import Context
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.arena import NEAR_BEGIN, most_live_bytes
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import MOVE_CYCLES, BoardMemory, Schedule
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.pipeline import describe_split, distribute_network, plan_boards, split_network, write_projects
from tinysplit.plan.plan import BoardPlan
from tinysplit.slices.settings import Search
from tinysplit.weights_file.signing_key import SigningKey

G0, F4, L4, L4PLUS, H7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_l4r5zi", "nucleo_h743zi"


@dataclass(frozen=True)
class Case:
    """A network on boards."""

    network: str
    boards: tuple[str, ...]
    bits: int = 8
    baud: int = 1_000_000
    hand_off: HandOffMode | None = None
    driver: LinkDriver | None = None
    slices: Slices | None = None

    @property
    def boards_text(self) -> str:
        """Boards and what differs from the usual."""
        options = (self.hand_off, self.driver, self.slices and f"slices by {self.slices}")
        return ", ".join((" + ".join(self.boards), *map(str, filter(None, options))))

    @property
    def title(self) -> str:
        """The network and the boards."""
        return f"{self.network} {self.boards_text}"


CASES = (
    *(Case("Tiny-CNN", (board,)) for board in (G0, F4, L4, H7)),
    *(Case("Tiny-CNN", (board,), bits=16) for board in (G0, "nucleo_l412kb", H7)),
    Case("Tiny-CNN", (G0, F4)),
    Case("Tiny-CNN", (G0, "nucleo_l433rc_p", H7), baud=115_200, driver=LinkDriver.INTERRUPT),
    Case("Tiny-CNN", (F4, L4), bits=16, baud=115_200, driver=LinkDriver.POLLING),
    Case("Tiny-CNN", (G0, G0), baud=3_000_000, slices=Slices.ROWS),
    *(Case("KWS", (board,)) for board in (G0, "nucleo_f446re", L4PLUS, "nucleo_h723zg")),
    Case("KWS", (G0,), bits=16),
    Case("KWS", (F4, F4), hand_off=HandOffMode.STREAMED),
    Case("KWS", (G0, L4, "nucleo_h723zg"), hand_off=HandOffMode.WHOLE),
    Case("KWS", (F4, H7), bits=16),
    Case("ResNet-8", ("nucleo_f446re",)),
    Case("ResNet-8", (L4PLUS,), bits=16),
    Case("ResNet-8", (H7,)),
    Case("ResNet-8", (G0, G0), hand_off=HandOffMode.STREAMED),
    Case("ResNet-8", (G0, F4, L4)),
    Case("MobileNet v1 0.25", (H7,)),
    Case("MobileNet v1 0.25", (F4, L4PLUS)),
)


@dataclass(frozen=True)
class Program:
    """Bytes of the program of a board; static RAM with the stack's reserve."""

    network: str
    bits: int
    boards: str
    board: str
    counted_flash_bytes: int
    predicted_flash_bytes: int
    flash_bytes: int
    predicted_ram_bytes: int
    ram_bytes: int
    stack_bytes: int

    @property
    def is_kept(self) -> bool:
        """Whether both are within the error that `build` allows."""
        is_flash_kept = is_as_predicted(self.predicted_flash_bytes, self.flash_bytes)
        return is_flash_kept and is_as_predicted(self.predicted_ram_bytes, self.ram_bytes)


def programs_of(case: Case) -> Iterator[Program]:
    """Yield a row for each board of a case."""
    settings = CostSettings(
        bits=case.bits, baud=case.baud, use_all=True, hand_off=case.hand_off, link_driver=case.driver
    )
    context = Context.load(NETWORKS[case.network].model, case.boards, settings, QUIET)
    split = split_network(context, Search(slices=case.slices or Slices.NONE))
    quantized = quantize_randomly(context.graph, case.bits)[0]
    quantized, _ = distribute_network(context, quantized, split.distributions)
    plans = plan_boards(context, quantized, split.problem, split.assignments)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        project = write_projects(context, quantized, plans, describe_split(context, split), 0, out)
        report = build_folder(project, out, QUIET)
    for built in report.boards:
        own, index = built.board, built.board.number - 1
        board = context.boards[index]
        counted = split.figures.flash_bytes[index]
        yield Program(
            network=case.network,
            bits=case.bits,
            boards=case.boards_text,
            board=own.title,
            counted_flash_bytes=counted + board.device.flash.size_bytes - split.problem.devices[index].flash_bytes,
            predicted_flash_bytes=own.predicted_flash_bytes or 0,
            flash_bytes=built.sizes.flash.used_bytes,
            predicted_ram_bytes=own.predicted_ram_bytes or 0,
            ram_bytes=built.sizes.ram_bytes,
            stack_bytes=built.sizes.stack_bytes,
        )


@benchmark("programs", "5 minutes", ONLY, JSON)
def programs(options: Namespace) -> None:
    """Compare flash and static RAM as predicted from plans with those of the built programs.

    Each case is a network on some boards: split as `tinysplit split --use-all` does it, quantized with random formats,
    generated and built. Static RAM has the stack, which is stated separately, and that of the fault handler. "Counted"
    is the flash that the search counts for the same split at most.
    """
    numbers = ("counted", "flash predicted", "built", "error", "%", "RAM predicted", "built", "error", "of it stack")
    rows = MarkdownTable("network", "boards", "board", numbers=numbers).print_rows(
        (row for case in chosen(CASES, options.only) for row in programs_of(case)),
        lambda row: (
            f"{row.network}, {row.bits}",
            row.boards,
            row.board,
            row.counted_flash_bytes,
            row.predicted_flash_bytes,
            row.flash_bytes,
            f"{row.predicted_flash_bytes - row.flash_bytes:+}",
            percent(row.predicted_flash_bytes / row.flash_bytes - 1),
            row.predicted_ram_bytes,
            row.ram_bytes,
            f"{row.predicted_ram_bytes - row.ram_bytes:+}",
            row.stack_bytes,
        ),
        as_json=options.json,
    )
    if not options.json:
        kept = sum(row.is_kept for row in rows)
        print(f"\n{kept} of {len(rows)} programs within {ERROR_SHARE:.0%} and {ERROR_BYTES} bytes")


ARENA_BOARDS = (L4PLUS, G0)
PLENTY_BYTES = 1 << 30


@benchmark("arena", "15 s", ONLY, boards(*ARENA_BOARDS), BITS)
def arena(options: Namespace) -> None:
    """Compare the arena of whole networks on one board, for cycles and for RAM, with its lower bound.

    Arena bytes include the network's input and output. Lower bound: the live buffers of the step that needs most. Moved
    bytes: per inference.
    """
    numbers = ("bits", "arena bytes", "lower bound", "moved bytes", "fused pairs")
    MarkdownTable("network", "board", "optimize", numbers=numbers).print(
        (name, board.name, optimize, bits, *_arena(graph, BitWidths.of(graph, bits), board, optimize))
        for name, network in chosen_networks(options.only).items()
        for graph in [network.graph()]
        for bits in options.bits or (8, 16)
        for board in map(load_board, options.board or ARENA_BOARDS)
        for optimize in Optimize
    )


def _arena(graph: Graph, widths: BitWidths, board: Board, optimize: Optimize) -> tuple[int, int, int, int]:
    steps = [PlanStep(StepKind.RUN, number, number) for number in range(len(graph.layers))]
    memory = plan_memory(shipped_table(), graph, widths, board, steps, PLENTY_BYTES, optimize)
    moved_bytes = sum(widths.size_bytes(graph, move.tensor) for move in memory.moves)
    return memory.arena.size_bytes, _lower_bound(graph, widths, steps, memory), moved_bytes, len(memory.fused)


def _lower_bound(graph: Graph, widths: BitWidths, steps: list[PlanStep], memory: BoardMemory) -> int:
    schedule = Schedule(graph, widths, steps, memory.kernels, memory.fused, memory.moves)
    return most_live_bytes(list(schedule.buffers()))


FAMILY_BOARDS = (G0, L4PLUS, F4, H7)  # one of each family


@dataclass(frozen=True)
class Bounds:
    """Predicted cycles of a network on a board: of all layers, and of what could be hidden or saved at most."""

    network: str
    board: str
    bits: int
    cycles: float
    copies: float
    waits: float
    moves: float


def _bounds(name: str, graph: Graph, plan: BoardPlan, bits: int) -> Bounds:
    choice, memory = KernelChoice(plan.table, graph, BitWidths.all(graph, bits), plan.board), plan.memory
    far = (key for key, offset in plan.arena.offsets.items() if offset < NEAR_BEGIN)
    return Bounds(
        network=name,
        board=plan.board.name,
        bits=bits,
        cycles=sum(choice.cycles(number, kernel) for number, kernel in memory.kernels.items()),
        copies=sum(each.cost_cycles for each in plan.constants.values() if each.is_copied),
        waits=sum(memory.waits.get(key, 0.0) for key in far),
        moves=sum(_moves(graph, plan, producer, bits) for producer in memory.fused),
    )


def _moves(graph: Graph, plan: BoardPlan, producer: int, bits: int) -> float:
    """Return the cycles of moving the rows that the next tile of two fused layers needs."""
    rows, (_, width, channels) = plan.memory.fused[producer], graph.layers[producer].out_shape
    row_words = width * channels * bits / 8 / WORD_BYTES
    return MOVE_CYCLES * rows.tiles * rows.halo_rows * row_words


@benchmark("copies", "a minute", ONLY, boards(*FAMILY_BOARDS), BITS, JSON)
def copies(options: Namespace) -> None:
    """Predict the cycles of copies and waits in plans: what DMA or circular buffers could save at most.

    Of each network on one board, as planned: copies of constants to RAM, which DMA could make while the layer before is
    computed; waits for tensors that do not lie next to the core, which DMA could prefetch by rows; moves of rows
    between the tiles of fused layers, which circular buffers do without. Percent of the predicted cycles.
    """
    numbers = ("bits", "cycles", "copies", "%", "waits", "%", "moves", "%")
    MarkdownTable("network", "board", numbers=numbers).print_rows(
        _all_bounds(options),
        lambda row: (
            row.network,
            row.board,
            row.bits,
            round(row.cycles),
            *(
                cell
                for part in (row.copies, row.waits, row.moves)
                for cell in (round(part), f"{100 * part / row.cycles:.2f}")
            ),
        ),
        as_json=options.json,
    )


def _all_bounds(options: Namespace) -> Iterator[Bounds]:
    for name, network in chosen_networks(options.only).items():
        graph = network.graph()
        for bits in options.bits or (8, 16):
            quantized, _ = calibrated(network, graph, bits)
            for board in options.board or FAMILY_BOARDS:
                yield _bounds(name, quantized.dequantized, plan_network(quantized, board, bits), bits)


KEY = SecretKey(bytes(16))  # the code is the same for all keys, and for all signers
BINARY = ProgramOptions(weights_counter=1)


def _signer() -> SigningKey:
    """Return the key of this benchmark. Needs the extra `encryption`."""
    return SigningKey.from_pem(
        b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
        b"-----END PRIVATE KEY-----\n",
        "the key of this benchmark",
    )


@lru_cache
def option_pairs() -> tuple[tuple[str, ProgramOptions, ProgramOptions], ...]:
    """Return options, the programs with them, and those without."""
    return (
        ("--no-diagnostics", ProgramOptions(has_diagnostics=False), PLAIN),
        ("--markers", ProgramOptions(has_markers=True), PLAIN),
        ("--weights binary", BINARY, PLAIN),
        ("--weights binary --sign, beside --weights binary", replace(BINARY, weights_signer=_signer()), BINARY),
        ("--weights encrypted, beside --weights binary", replace(BINARY, weights_key=KEY), BINARY),
    )


@dataclass(frozen=True)
class Added:
    """Bytes that options add to the program of a board."""

    board: str
    options: str
    code_bytes: int
    ram_bytes: int


def added_to(board: str) -> Iterator[Added]:
    """Yield a row for each pair of programs of a board."""
    quantized = quantize_randomly(calibration_networks()[0], 8)[0]
    planned = plan_project(
        shipped_table(), quantized, (load_board(board),), (0,) * len(quantized.layers), CostSettings()
    )
    built = {each: _sizes(planned, each) for each in {each for _, *pair in option_pairs() for each in pair}}
    for options, present, absent in option_pairs():
        code_bytes, ram_bytes = (own - other for own, other in zip(built[present], built[absent], strict=True))
        yield Added(board, options, code_bytes, ram_bytes)


def _sizes(planned: PlannedNetwork, options: ProgramOptions) -> tuple[int, int]:
    """Return bytes of code, without the weights and their file, and of static RAM without them and the arena."""
    with tempfile.TemporaryDirectory() as name:
        project, report = planned.build(Path(name) / "out", options)
    file, built = project.boards[0].weights_file, report.boards[0].sizes
    ram_bytes = built.ram_bytes - built.arena_bytes
    if file is None:
        return built.code_bytes, ram_bytes
    return built.flash.used_bytes - file.size_bytes, ram_bytes - file.plain_bytes


@benchmark("options", "80 s, 20 s a board", boards(*FAMILY_BOARDS), JSON)
def added_bytes(options: Namespace) -> None:
    """Measure what options of programs add to code and static RAM: the same network built with and without them.

    The first network of the calibration in 8 bits on one board. What does not count: its weights, in flash or decrypted
    in RAM; what a weights file adds to them (header, layer graph, nonce and tag, signature); the arena, where some are
    decrypted in each inference.
    """
    MarkdownTable("board", "options", numbers=("code, bytes", "static RAM, bytes")).print_rows(
        (row for board in options.board or FAMILY_BOARDS for row in added_to(board)),
        lambda row: (row.board, row.options, f"{row.code_bytes:+}", f"{row.ram_bytes:+}"),
        as_json=options.json,
    )
