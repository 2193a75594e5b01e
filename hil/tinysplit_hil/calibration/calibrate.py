"""`tinysplit calibrate`: measures kernels, links and hand-offs on a rig, and makes a cost table of them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any

from rich.console import Console

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.build.compiler import compiler_version
from tinysplit.calibration.code_bytes import code_costs
from tinysplit.calibration.conditions import firmware_sha256, target_of
from tinysplit.calibration.firmware_bytes import firmware_bytes
from tinysplit.calibration.fit import CostSample, validated_fit
from tinysplit.calibration.networks import RANDOM_NETWORKS, calibration_networks, random_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.calibration.small_networks import SMALL_NETWORKS, small_network
from tinysplit.calibration.tflite_networks import tflite_networks, widths_of
from tinysplit.codegen.platformio_ini import Flags
from tinysplit.common.choices import BIT_WIDTHS, VIRTUAL
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit.kernels import candidates
from tinysplit.kernels.cost_table import CodeCosts, CycleTable, KernelCosts, shipped_table
from tinysplit.network.bit_widths import Widths
from tinysplit.network.graph import Graph
from tinysplit.settings.boards_and_links import BOARD
from tinysplit.settings.measurement import ONLY, RIG
from tinysplit_hil.bench.flash import check_flashable
from tinysplit_hil.calibration.code_waits import code_wait_table
from tinysplit_hil.calibration.handoffs import (
    fit_handoffs,
    measure_fed_asleep,
    measure_handoffs,
    measure_resuming,
    measure_taking,
)
from tinysplit_hil.calibration.layers import CalibrationBench, MeasuredLayer, measure_layers
from tinysplit_hil.calibration.links import fit_links, measure_links
from tinysplit_hil.rig.devices import read_devices

CORE_BOARDS = ("nucleo_g071rb", "stm32f103ze", "nucleo_l4r5zi", "nucleo_h743zi")  # of each core, with the most memory
LINKED_BOARDS = (  # of each family
    *("stm32f103ze", "nucleo_f303re", "nucleo_f401re", "nucleo_f767zi", "nucleo_g071rb", "nucleo_g474re"),
    *("nucleo_h743zi", "nucleo_l452re", "nucleo_u575zi_q"),
)
LINKED_ALONE = (  # with too little memory, or one UART, or costs of relatives, for all but links
    *("nucleo_c031c6", "nucleo_f072rb", "nucleo_l073rz", "nucleo_wb55rg"),
    *("nucleo_h563zi", "nucleo_l4r5zi", "nucleo_l552ze_q", "nucleo_wl55jc"),
)
# STM32C0, F0 and L0 have those of the STM32G0, of similar cores and the same drivers, G4 and WB the waits of the L4.
BY_FAMILY = ("link", "handoff", "firmware", "code_waits")
DIGITS = 4  # significant digits of a cost

ByBits = dict[str, dict[str, KernelCosts]]
Cores = dict[str, ByBits]


class OtherCosts(StrEnum):
    """Parts of the cost table that are no kernels: virtual boards measure them, whichever boards are given."""

    LINKS = "links"
    HAND_OFFS = "hand-offs"
    CODE_WAITS = "code-waits"
    CODE = "code"
    FIRMWARE = "firmware"


@dataclass(frozen=True, kw_only=True)
class CalibrationRequest:
    """What is calibrated, and where.

    `boards` are those that run the `networks`, real ones of a rig file one at a time; `kinds` the keys of the cost
    table that are fitted, None for all.
    """

    bench: CalibrationBench
    boards: Sequence[Board]
    networks: Sequence[Graph]
    bits: Sequence[int] = BIT_WIDTHS
    kinds: frozenset[str] | None = None
    others: frozenset[OtherCosts] = frozenset()


def all_networks() -> tuple[Graph, ...]:
    """Return the networks of a calibration, large ones first."""
    return (*map(random_network, RANDOM_NETWORKS), *calibration_networks(), *tflite_networks())


def calibrate(request: CalibrationRequest, base: CycleTable | None, messages: Console) -> CycleTable:
    """Return the cost table `base`, by default that of this installation, with what was measured.

    Costs of cores that `base` lacks begin with those of this installation. They hold for ideal memory: where real
    memory was measured without a `base`, the table has no other cores.

    Raises UsageError for more than one board of a rig file and for kinds that no layer has, CheckFailedError for those
    that fit no board, ToolError for times that are not plausible; other errors are those of builds and rigs.
    """
    _check(request)
    shipped, is_ideal = shipped_table(), request.bench.has_ideal_memory
    table = base.model_copy(update={"cores": {**shipped.cores, **base.cores}}) if base else shipped
    kernels = _kernel_costs(request, table, messages)
    targets = dict(table.targets) if base or is_ideal else {}
    devices = read_devices(request.bench.rig, {number: board.name for number, board in enumerate(request.boards, 1)})
    targets |= {
        board.device.core: target_of(board, has_ideal_memory=is_ideal, device=devices.get(number))
        for number, board in enumerate(request.boards, 1)
        if board.device.core in kernels
    }
    return table.model_copy(
        update={
            "made_by": f"tinysplit calibrate {RIG.option} {VIRTUAL if request.bench.rig == VIRTUAL else 'RIG'}",
            "compiler": compiler_version(),
            "flags": " ".join(flag for flag in Flags().compiler if flag.startswith("-O")),
            "firmware_sha256": firmware_sha256(),
            "targets": targets,
            "cores": {core: _replaced(table.cores.get(core, {}), kernels.get(core, {})) for core in sorted(targets)},
            **_other_costs(shipped, request, messages),
        }
    )


def known_kinds(networks: Sequence[Graph], boards: Sequence[Board]) -> frozenset[str]:
    """Return the keys of the cost table that the layers of the networks have on these boards."""
    cores = {board.device.core for board in boards}
    return frozenset(
        chain.from_iterable(_kinds(graph, core, bits) for graph in networks for core in cores for bits in BIT_WIDTHS)
    )


def _kinds(graph: Graph, core: str, bits: int) -> set[str]:
    widths = Widths.all(bits)
    return {kernel.cost_kind(layer) for layer in graph.layers for kernel in candidates(layer, core, widths)}


def _check(request: CalibrationRequest) -> None:
    """Raise UsageError or the errors of the rig before anything is built."""
    rig = request.bench.rig
    names = [board.name for board in request.boards]
    if rig != VIRTUAL and (len(names) != 1 or request.others):
        what = ", ".join(sorted(request.others)) or f"{len(names)} boards"
        raise UsageError(
            f"{RIG} {rig} calibrates the kernels of one board at a time, not {what}: name its board with one {BOARD}"
        )
    check_flashable(rig, names, request.bench.programmer)
    known = known_kinds(request.networks, request.boards)
    for kind in sorted((request.kinds or frozenset()) - known):
        raise UsageError(f"{ONLY} {kind}: expected one of {', '.join((*sorted(known), *OtherCosts))}")


# Kernels


def _kernel_costs(request: CalibrationRequest, table: CycleTable, messages: Console) -> Cores:
    """Return the costs of all kernels that were measured, by core, bits and kind."""
    if request.kinds is not None and not request.kinds:
        return {}
    groups: dict[tuple[str, int, str], list[MeasuredLayer]] = defaultdict(list)
    for layer in _measured_layers(request, table, messages):
        groups[layer.core, layer.bits, layer.kind].append(layer)
    costs: Cores = defaultdict(lambda: defaultdict(dict))
    with steps(messages, f"fitting {counted(len(groups), 'kernel')}", len(groups)) as advance:
        for number, ((core, bits, kind), layers) in enumerate(sorted(groups.items()), 1):
            costs[core][str(bits)][kind] = _fitted(layers)
            advance(number)
    for kind in sorted((request.kinds or frozenset()) - {kind for _, _, kind in groups}):
        raise CheckFailedError(f"{kind} was not measured: no network that has it fits the board")
    return costs


def _fitted(layers: Sequence[MeasuredLayer]) -> KernelCosts:
    costs, quality = validated_fit([CostSample(layer.work, layer.kernel_cycles, layer.cycles) for layer in layers])
    cycles = {part: float(f"{cost:.{DIGITS}g}") for part, cost in costs.items()}
    return KernelCosts(cycles=cycles, code_bytes=max(layer.code_bytes for layer in layers), quality=quality)


def _measured_layers(request: CalibrationRequest, table: CycleTable, messages: Console) -> Iterator[MeasuredLayer]:
    """Yield the layers of all networks, side by side where boards are virtual."""
    cases = [
        (table, graph, bits, board, request.bench, request.kinds)
        for graph in request.networks
        for bits in widths_of(graph)
        if bits in request.bits
        for board in request.boards
        if request.kinds is None or request.kinds & _kinds(graph, board.device.core, bits)
    ]
    workers = None if request.bench.rig == VIRTUAL else 1
    what = f"measuring {counted(len(cases), 'network')}"
    with (
        process_pool(workers) as pool,
        steps(messages, what, len(cases)) as advance,
    ):
        running = [pool.submit(_network_layers, *case) for case in cases]
        for number, done in enumerate(running, 1):  # in this order, on which the intervals depend
            yield from done.result()
            advance(number)


def _network_layers(
    table: CycleTable, graph: Graph, bits: int, board: Board, bench: CalibrationBench, kinds: frozenset[str] | None
) -> list[MeasuredLayer]:
    return list(measure_layers(table, *quantize_randomly(graph, bits), board, bench, kinds))


def _replaced(old: ByBits, new: ByBits) -> ByBits:
    """Return the costs of a core with those that are new."""
    return {bits: dict(sorted({**old.get(bits, {}), **new.get(bits, {})}.items())) for bits in sorted({*old, *new})}


# Links, hand-offs, code in flash, firmware


def _code_costs() -> CodeCosts:
    networks = (*all_networks(), *map(small_network, SMALL_NETWORKS))
    return code_costs(networks, [load_board(name) for name in CORE_BOARDS])


def _other_costs(table: CycleTable, request: CalibrationRequest, messages: Console) -> dict[str, Any]:
    """Return the other parts of the cost table, by their keys; what is measured is planned by the costs of `table`."""
    boards = [load_board(name) for name in LINKED_BOARDS]
    linked = [*boards, *(load_board(name) for name in LINKED_ALONE)]
    measured: dict[OtherCosts, tuple[str, Callable[[], Any]]] = {
        OtherCosts.LINKS: ("link", lambda: fit_links(measure_links(table, linked))),
        OtherCosts.HAND_OFFS: (
            "handoff",
            lambda: {
                b.device.family: fit_handoffs(
                    measure_handoffs(table, b),
                    measure_fed_asleep(table, b),
                    measure_resuming(table, b),
                    measure_taking(table, b),
                )
                for b in boards
            },
        ),
        OtherCosts.CODE_WAITS: ("code_waits", lambda: code_wait_table(table)),
        OtherCosts.CODE: ("code", _code_costs),
        OtherCosts.FIRMWARE: ("firmware", lambda: firmware_bytes(table)),
    }
    costs = {}
    for other in OtherCosts:
        if other in request.others:
            key, measure = measured[other]
            with steps(messages, f"measuring {other}"):
                costs[key] = measure()
    return {key: _kept(table, key) | new if key in BY_FAMILY else new for key, new in costs.items()}


def _kept(table: CycleTable, key: str) -> dict[str, Any]:
    """Return what the table has by families: those of too little memory to be measured have the costs of others."""
    return dict(getattr(table, key))
