"""Flash and static RAM of a board's program, predicted from its plan before anything is generated.

Exact are weights, arena, buffers and the vector table. Code and tables are counts of parts times the expected bytes of
each part, which `tinysplit calibrate` has measured: of the layers' code (`kernels/code_parts.py`), and of the firmware.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.kernels.code_parts import Code, SharedFunction
from tinysplit.kernels.cost_table import Work, bytes_of
from tinysplit.memory.code_in_ram import RamCode
from tinysplit.memory.external_weights import EXPECTED_DRIVER_BYTES
from tinysplit.memory.link_memory import BITMAP_SHARE
from tinysplit.memory.schedule import StepKind
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import BoardPlan, Plan

CORE_VECTORS = 16
LINKS_CALL = frozenset(("memmove",))  # functions that the firmware has for its links anyway
_MEASURED = (StepKind.SEND, StepKind.RECEIVE)


@dataclass(frozen=True)
class LayerProgram:
    """What a layer adds to a program: kind and bits of its kernel in the cost table, its code, bytes of constants."""

    kind: str
    bits: int
    code: Code
    weights_bytes: int


@dataclass(frozen=True)
class PredictedMemory:
    """Expected bytes of a program: flash with initial values of variables, static RAM with the stack's reserve."""

    flash_bytes: int
    ram_bytes: int


EXPECTED_STANDALONE = PredictedMemory(1400, 64)  # of runs without a host, with an application that does nothing
EXPECTED_STOP_MODE = PredictedMemory(2200, 32)  # beside it
NOTHING = PredictedMemory(0, 0)


@dataclass(frozen=True)
class PlannedProgram:
    """The program of a board: `layers` by number from 0, `host` the protocol of its host port."""

    plan: Plan
    board_plan: BoardPlan
    graph: Graph
    layers: Mapping[int, LayerProgram]
    host: HostProtocol = HostProtocol.TINYSPLIT
    host_ram_bytes: int = 0  # of the host's protocol, for an input
    has_markers: bool = False
    has_diagnostics: bool = True
    is_standalone: bool = False
    has_stop_mode: bool = False

    @property
    def predicted(self) -> PredictedMemory:
        """The memory that the program takes."""
        firmware, parts = self.board_plan.table.firmware[self.board_plan.board.device.family], self.parts
        known, external = self.known, self.board_plan.external
        weights_bytes = sum(layer.weights_bytes for number, layer in self.layers.items() if number not in external)
        weights_bytes += EXPECTED_DRIVER_BYTES if external else 0
        flash_bytes = bytes_of(firmware.flash_parts, parts) + known.flash_bytes + weights_bytes + self.code_bytes
        ram_bytes = bytes_of(firmware.ram_parts, parts) + known.ram_bytes + self._ram_code_bytes
        own = EXPECTED_STANDALONE if self.is_standalone else NOTHING
        stop = EXPECTED_STOP_MODE if self.has_stop_mode else NOTHING
        return PredictedMemory(
            round(flash_bytes) + own.flash_bytes + stop.flash_bytes, round(ram_bytes) + own.ram_bytes + stop.ram_bytes
        )

    @property
    def known(self) -> PredictedMemory:
        """Bytes of vector table and names in the note; of the arena, what lies next to the core, and links' buffers."""
        plan, board = self.board_plan, self.board_plan.board
        vectors = CORE_VECTORS + max(each.position for each in board.device.interrupts) + 1
        return PredictedMemory(
            WORD_BYTES * vectors + len(self.graph.name) + len(board.name) + len(board.device.name),
            plan.arena_bytes
            + plan.near_arena_bytes
            + plan.resident_bytes
            + len(plan.links) * plan.link_driving.buffer_bytes
            + self.host_ram_bytes,
        )

    @property
    def code_bytes(self) -> float:
        """Expected bytes of the code of the layers, with the functions that they share."""
        return self._code_bytes(self.layers, self._shared)

    @property
    def _shared(self) -> Mapping[str, tuple[int, SharedFunction]]:
        """The functions that layers share, by name, each with the first of its layers."""
        every = (
            (name, number, each) for number in self.layers for name, each in self.layers[number].code.shared.items()
        )
        shared: dict[str, tuple[int, SharedFunction]] = {}
        for name, number, each in every:
            shared.setdefault(name, (number, each))
        return shared

    def _code_bytes(self, numbers: Iterable[int], shared: Mapping[str, tuple[int, SharedFunction]]) -> float:
        code, core = self.board_plan.table.code, self.board_plan.board.device.core
        layers = [self.layers[number] for number in numbers]
        own = sum(code.own_bytes(core, layer.bits, layer.kind, layer.code.own) for layer in layers)
        called = (each for name, (_, each) in shared.items() if not (self.board_plan.links and name in LINKS_CALL))
        return own + sum(code.shared_bytes(core, each.kind, each.parts) for each in called)

    @property
    def _ram_code_bytes(self) -> float:
        """Return the expected bytes of the code that lies in RAM, too: of single layers, all of their files."""
        placed, shared = self.board_plan.code, self._shared
        if placed.in_ram is RamCode.NONE:
            return 0.0
        numbers = placed.layers or tuple(self.layers)
        if placed.layers:
            shared = {name: of for name, of in shared.items() if of[1].is_in_layers and of[0] in placed.layers}
        return self._code_bytes(numbers, shared) - sum(self.layers[number].code.constant_bytes for number in numbers)

    @property
    def parts(self) -> Work:
        """How often the program has each part of the firmware.

        Entries of tables: `steps`, `transfers`, `waits`, `links` after the first one, bytes of `bitmaps`. Code: `calls`
        of kernels and their `arguments`, `moves`, `copies` of constants, `fused` layers, `streams` of rows, and once
        what these need; calls to code in RAM; the protocol of the host port with its `diagnostics`, `markers`, and the
        driver of links, which send, receive or both.
        """
        return {name: float(count) for part in (self._step_parts, self._link_parts) for name, count in part.items()}

    @property
    def _step_parts(self) -> Work:
        plan, memory = self.board_plan, self.board_plan.memory
        transfers = sum(step.kind is not StepKind.RUN for step in plan.steps)
        gives_output = self.plan.output_board == plan.index
        arguments = sum(len(self.graph.predecessors[number]) + 1 for number in self.layers)
        in_ram = plan.code.in_ram is not RamCode.NONE
        copied = [each for each in plan.constants.values() if each.is_copied and not each.is_reused]
        return {
            f"host_{self.host}{'_linked' if plan.links else ''}": 1,
            "diagnostics": self.has_diagnostics and self.host is HostProtocol.TINYSPLIT,
            "markers": self.has_markers,
            "steps": len(self.layers) + transfers + plan.takes_input + gives_output,
            "calls": len(self.layers),
            "arguments": arguments,
            "moves": len(memory.moves),
            "moving": bool(memory.moves),
            "copies": len(copied),
            "copied": sum(len(each.offsets) for each in copied),
            "copying": bool(copied),
            "fused": len(memory.fused),
            "near": plan.near_arena_bytes > 0,
            "calls_to_ram": in_ram * (len(plan.code.layers or self.layers) + len(copied)),
            "code_in_ram": in_ram,
        }

    @property
    def _link_parts(self) -> Work:
        plan = self.board_plan
        if not plan.links:
            return {}
        own = [step for step in plan.steps if step.kind in _MEASURED]
        kinds = {step.kind for step in own}
        ends = list(self._streamed_ends())
        return {
            f"links_{plan.link_driving.driver}": 1,
            "links": len(plan.links) - 1,
            "transfers": len(own),
            "only_sending": kinds == {StepKind.SEND},
            "only_receiving": kinds == {StepKind.RECEIVE},
            "both_ways": len(kinds) > 1,
            "waits": sum(step.kind not in (*_MEASURED, StepKind.RUN) for step in plan.steps),
            "distributed": self.graph.is_distributed,
            "bitmaps": sum(-(-self.plan.cuts[step.item].cut.payload_bytes // BITMAP_SHARE) for step in own),
            "streams": len(ends),
            "streaming": bool(ends),
        }

    def _streamed_ends(self) -> Iterator[int]:
        """Yield the cut of each end of a transfer at this board that is streamed."""
        for number, each in enumerate(self.plan.cuts):
            if each.hand_off.gives is not None and each.cut.sender == self.board_plan.index:
                yield number
            if each.hand_off.takes is not None and each.cut.receiver == self.board_plan.index:
                yield number
