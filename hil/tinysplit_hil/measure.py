"""Run samples on the boards of a rig and read what every layer and every cut took on the boards' own clocks."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tinysplit.common.errors import ToolError
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit_hil.client import REPLY_TIMEOUT_S, BoardClient
from tinysplit_hil.protocol import Identity, RecordKind, TimeRecord
from tinysplit_hil.rig import Rig

PROTOCOL_VERSION = 1
PATIENCE = 5.0  # times the estimated inference until a board counts as stuck
LINK_GIVES_UP_S = 6.0  # so that a board can tell of a dead link before we call it stuck
SETTLE_S = 0.5

Records = dict[tuple[RecordKind, int], list[TimeRecord]]


@dataclass(frozen=True)
class Spread:
    """Mean, smallest and largest over all samples."""

    mean: float
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Summarise `values`, which are not empty."""
        return cls(sum(values) / len(values), min(values), max(values))


@dataclass(frozen=True)
class LayerTime:
    """Layer `number` (from 1) on board `board` (from 1), on that board's clock."""

    number: int
    board: int
    cycles: Spread
    seconds: float


@dataclass(frozen=True)
class CutTime:
    """Cut `number` (from 1): from the call that sends its tensor to the last acknowledgement, on the sender's clock."""

    number: int
    seconds: Spread
    repeats: int  # how often the sender had to go back, over all samples


@dataclass(frozen=True, eq=False)
class Measurement:
    """What the boards took and gave; `outputs` is samples x elements in the boards' HWC order."""

    rig: Rig
    identities: Mapping[int, Identity]
    layers: tuple[LayerTime, ...]
    cuts: tuple[CutTime, ...]
    outputs: IntArray

    @property
    def l_s(self) -> float:
        """L in seconds (seed 000, formula 2), mean over samples."""
        return sum(layer.seconds for layer in self.layers)

    @property
    def t_s(self) -> float:
        """T in seconds (seed 000, formula 4), mean over samples."""
        return sum(cut.seconds.mean for cut in self.cuts)


def measure(
    project: Project, rig: Rig, inputs: IntArray, on_sample: Callable[[int], None] = lambda _: None
) -> Measurement:
    """Run `inputs` (N x H x W x C, in the network's input format) one after the other.

    `on_sample` is told how many are done. Raises ToolError when a board is not the planned one, reports an error, or
    does not answer in time.
    """
    clients = rig.clients(project)
    identities = {board.number: clients[board.number].identify() for board in project.boards}
    for board in project.boards:
        _check_identity(project, board, identities[board.number], clients[board.number].name)
    for number in project.input_boards:
        _check_input(number, identities[number], inputs)
    output_bytes = identities[project.output_board].output_bytes
    records: Records = defaultdict(list)
    outputs = []
    for count, sample in enumerate(inputs, start=1):
        outputs.append(_infer(project, clients, sample.tobytes(), output_bytes))
        for record in _read_times(project, clients):
            records[record.kind, record.index].append(record)
        on_sample(count)
    output_type = np.dtype(f"<i{project.layers[-1].formats.output.bits // 8}")
    integers = np.frombuffer(b"".join(outputs), output_type).reshape(len(inputs), -1)
    layers = _layer_times(project, identities, records)
    return Measurement(rig, identities, layers, _cut_times(project, identities, records), integers)


def _check_identity(project: Project, board: ProjectBoard, identity: Identity, name: str) -> None:
    """Raise ToolError when another firmware answers than the one that was generated for `board`."""
    if identity.protocol != PROTOCOL_VERSION:
        raise ToolError(f"{name} speaks protocol {identity.protocol}, not {PROTOCOL_VERSION}: build and flash it again")
    if identity.project_hash != project.project_hash:
        raise ToolError(
            f"{name} runs firmware of project {identity.project_hash:08x}, not of {project.project_hash:08x}: "
            "build and flash it again"
        )
    if identity.board_index != board.number - 1:
        raise ToolError(f"{name} runs the firmware of board {identity.board_index + 1}: are the ports in board order?")
    if not identity.clock_ok:
        raise ToolError(
            f"{name} could not raise its clock to {board.core_hz / 1e6:g} MHz: are supply and oscillator good?"
        )
    if identity.core_hz != board.core_hz:
        raise ToolError(
            f"{name} runs at {identity.core_hz / 1e6:g} MHz, not at the planned {board.core_hz / 1e6:g} MHz: "
            "build and flash it again"
        )


def _check_input(number: int, identity: Identity, inputs: IntArray) -> None:
    sample_bytes = inputs.nbytes // len(inputs)
    if identity.input_bytes != sample_bytes:
        raise ToolError(
            f"board {number} takes inputs of {identity.input_bytes} bytes, not {sample_bytes}: "
            "generate, build and flash the project again"
        )


def _infer(project: Project, clients: Mapping[int, BoardClient], data: bytes, output_bytes: int) -> bytes:
    """Run one inference and return the output's bytes."""
    _begin_afresh(project, clients)
    for number in project.input_boards:
        clients[number].load(data)
    for number in project.input_boards:
        clients[number].start()
    estimated_s = project.estimated_l_s + project.estimated_t_s
    try:
        clients[project.output_board].wait_done(PATIENCE * estimated_s + LINK_GIVES_UP_S)
    except ToolError:
        _ask_for_the_cause(clients)
        raise
    return clients[project.output_board].read_output(output_bytes)


def _begin_afresh(project: Project, clients: Mapping[int, BoardClient]) -> None:
    """Silence every board before the first one listens again: nothing of an older inference is on the links then."""
    longest_layer_s = max(layer.estimated_s for layer in project.layers)
    for client in clients.values():
        client.stop(REPLY_TIMEOUT_S + PATIENCE * longest_layer_s)
    for number in sorted(clients, reverse=True):
        clients[number].reset()


def _ask_for_the_cause(clients: Mapping[int, BoardClient]) -> None:
    """Raise what another board knows about an inference that does not end; it says it better than a time-out."""
    for client in clients.values():
        client.check_events()
    for client in clients.values():
        count = client.identify().line_errors
        if count:
            raise ToolError(f"{client.name} saw {count} line errors: are pins, ground and baud rate right?")


def _read_times(project: Project, clients: Mapping[int, BoardClient]) -> Iterable[TimeRecord]:
    """Yield the time stamps of all boards, each board's exactly those of its layers and cuts."""
    for board in project.boards:
        layers = [layer.number for layer in project.layers if layer.board == board.number]
        cuts = [cut.number - 1 for cut in project.cuts if cut.from_board == board.number]
        expected = [(RecordKind.LAYER, i) for i in layers] + [(RecordKind.TRANSFER, i) for i in cuts]
        yield from _settled_times(clients[board.number], sorted(expected))


def _settled_times(client: BoardClient, expected: Sequence[tuple[RecordKind, int]]) -> Sequence[TimeRecord]:
    """Return the time stamps of one board.

    A sender whose last acknowledgement was lost still repeats while the output is done already: it is given time.
    """
    for pause_s in (SETTLE_S, SETTLE_S, LINK_GIVES_UP_S, 0):
        records = [record for record in client.read_times() if record.ticks]
        if sorted((record.kind, record.index) for record in records) == expected:
            return records
        client.check_events(pause_s)
    raise ToolError(f"{client.name} sent {len(records)} time stamps that are not those of its layers and cuts")


def _layer_times(project: Project, identities: Mapping[int, Identity], records: Records) -> tuple[LayerTime, ...]:
    times = []
    for layer in project.layers:
        identity = identities[layer.board]
        cycles_per_tick = identity.core_hz / identity.timer_hz
        cycles = Spread.of([r.ticks * cycles_per_tick for r in records[RecordKind.LAYER, layer.number]])
        times.append(LayerTime(layer.number, layer.board, cycles, cycles.mean / identity.core_hz))
    return tuple(times)


def _cut_times(project: Project, identities: Mapping[int, Identity], records: Records) -> tuple[CutTime, ...]:
    times = []
    for cut in project.cuts:
        own = records[RecordKind.TRANSFER, cut.number - 1]
        seconds = Spread.of([record.ticks / identities[cut.from_board].timer_hz for record in own])
        times.append(CutTime(cut.number, seconds, sum(record.repeats for record in own)))
    return tuple(times)
