"""Runs samples on the boards of a rig and reads the times of all layers and cuts, on the boards' own clocks."""

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
TIMEOUT_FACTOR = 5.0  # time-out as a multiple of the estimated latency
LINK_TIMEOUT_S = 6.0  # a board reports a dead link within this time
SETTLE_S = 0.5  # between two reads of incomplete time records

Records = dict[tuple[RecordKind, int], list[TimeRecord]]


@dataclass(frozen=True)
class Spread:
    """Mean, minimum and maximum over all samples."""

    mean: float
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return the spread of `values`; there must be at least one."""
        return cls(sum(values) / len(values), min(values), max(values))


@dataclass(frozen=True)
class LayerTime:
    """Cycles and seconds of layer `number` (from 1) on board `board` (from 1), by that board's clock."""

    number: int
    board: int
    cycles: Spread
    seconds: float


@dataclass(frozen=True)
class CutTime:
    """Cut `number` (from 1): from the start of sending to the last acknowledgement, by the sender's clock."""

    number: int
    seconds: Spread
    repeats: int  # retransmissions over all samples


@dataclass(frozen=True, eq=False)
class Measurement:
    """Times and outputs of the boards; `outputs`: samples x elements, integers in HWC order."""

    rig: Rig
    identities: Mapping[int, Identity]
    layers: tuple[LayerTime, ...]
    cuts: tuple[CutTime, ...]
    outputs: IntArray

    @property
    def l_s(self) -> float:
        """L in seconds (Santamaria 2021, formula 2), mean over samples."""
        return sum(layer.seconds for layer in self.layers)

    @property
    def t_s(self) -> float:
        """T in seconds (Santamaria 2021, formula 4), mean over samples."""
        return sum(cut.seconds.mean for cut in self.cuts)


def measure(
    project: Project, rig: Rig, inputs: IntArray, on_sample: Callable[[int], None] = lambda _: None
) -> Measurement:
    """Run `inputs` (N x H x W x C, integers in the network's input format) one after the other.

    `on_sample` is called with the number of completed samples. Raises ToolError when a board runs other firmware,
    reports an error, or does not reply in time.
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
    """Raise ToolError unless the board runs the firmware that was generated for `board`, at its clock."""
    if identity.protocol != PROTOCOL_VERSION:
        raise ToolError(
            f"{name} has protocol version {identity.protocol} instead of {PROTOCOL_VERSION}: build and flash it again"
        )
    if identity.project_hash != project.project_hash:
        raise ToolError(
            f"{name} runs firmware of project {identity.project_hash:08x} instead of {project.project_hash:08x}: "
            "build and flash it again"
        )
    if identity.board_index != board.number - 1:
        raise ToolError(
            f"{name} runs the firmware of board {identity.board_index + 1}: check that the ports are in board order"
        )
    if not identity.clock_ok:
        raise ToolError(f"{name} could not set its clock to {board.core_hz / 1e6:g} MHz: check supply and oscillator")
    if identity.core_hz != board.core_hz:
        raise ToolError(
            f"{name} runs at {identity.core_hz / 1e6:g} MHz instead of {board.core_hz / 1e6:g} MHz: "
            "build and flash it again"
        )


def _check_input(number: int, identity: Identity, inputs: IntArray) -> None:
    sample_bytes = inputs.nbytes // len(inputs)
    if identity.input_bytes != sample_bytes:
        raise ToolError(
            f"board {number} expects inputs of {identity.input_bytes} bytes, the samples have {sample_bytes}: "
            "generate, build and flash the project again"
        )


def _infer(project: Project, clients: Mapping[int, BoardClient], data: bytes, output_bytes: int) -> bytes:
    """Run one inference and return the bytes of its output."""
    _reset_all(project, clients)
    for number in project.input_boards:
        clients[number].load(data)
    for number in project.input_boards:
        clients[number].start()
    estimated_s = project.estimated_l_s + project.estimated_t_s
    try:
        clients[project.output_board].wait_done(TIMEOUT_FACTOR * estimated_s + LINK_TIMEOUT_S)
    except ToolError:
        _raise_cause(clients)
        raise
    return clients[project.output_board].read_output(output_bytes)


def _reset_all(project: Project, clients: Mapping[int, BoardClient]) -> None:
    """Stop all boards before the first reset, so that no data of an earlier inference is left on the links."""
    longest_layer_s = max(layer.estimated_s for layer in project.layers)
    for client in clients.values():
        client.stop(REPLY_TIMEOUT_S + TIMEOUT_FACTOR * longest_layer_s)
    for number in sorted(clients, reverse=True):
        clients[number].reset()


def _raise_cause(clients: Mapping[int, BoardClient]) -> None:
    """Raise the error that a board reports for an inference that timed out, or its line errors, if there are any."""
    for client in clients.values():
        client.check_events()
    for client in clients.values():
        count = client.identify().line_errors
        if count:
            raise ToolError(f"{client.name} counted {count} line errors: check pins, ground and baud rate")


def _read_times(project: Project, clients: Mapping[int, BoardClient]) -> Iterable[TimeRecord]:
    """Yield the time records of all boards, which must be exactly those of their layers and cuts."""
    for board in project.boards:
        layers = [layer.number for layer in project.layers if layer.board == board.number]
        cuts = [cut.number - 1 for cut in project.cuts if cut.from_board == board.number]
        expected = [(RecordKind.LAYER, i) for i in layers] + [(RecordKind.TRANSFER, i) for i in cuts]
        yield from _settled_times(clients[board.number], sorted(expected))


def _settled_times(client: BoardClient, expected: Sequence[tuple[RecordKind, int]]) -> Sequence[TimeRecord]:
    """Return the time records of one board.

    Waits for a sender whose last acknowledgement was lost: it still retransmits when the output is complete.
    """
    for pause_s in (SETTLE_S, SETTLE_S, LINK_TIMEOUT_S, 0):
        records = [record for record in client.read_times() if record.ticks]
        if sorted((record.kind, record.index) for record in records) == expected:
            return records
        client.check_events(pause_s)
    raise ToolError(f"{client.name} sent {len(records)} time records that do not match its layers and cuts")


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
