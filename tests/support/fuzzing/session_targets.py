"""Whole sessions with boards that send mutated frames: measurements, streams, timelines, updates and notes.

An input names the session, and which frames of the boards are changed how (`_Edit`). The boards run in virtual time.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
from rich.console import Console

from fuzzing.files import scratch_folder
from fuzzing.target import Target
from rigs.fake_boards import BAUD, FakePort
from rigs.fake_rig import FakeRig, make_inputs, make_project
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import ToolError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.project.manifest import Project, ProjectWeightsFile
from tinysplit.weights_file.file import FileIdentity as WeightsOf
from tinysplit.weights_file.file import encode, read_weights_file
from tinysplit.weights_file.layers import LayerEntry
from tinysplit_hil.bench.check import BenchCheck
from tinysplit_hil.bench.images import running_images
from tinysplit_hil.bench.update import update_boards
from tinysplit_hil.bench.wiring import trial_of
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.measure.timeline.recording import record_inferences
from tinysplit_hil.measure.timeline.report import TimelineReport
from tinysplit_hil.measure.wiring_client import REPORT_BYTES, REQUEST_BYTES, End, WiringClient
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import (
    IDENTIFY_STACK,
    IDENTIFY_STAGING,
    IDENTIFY_WEIGHTS,
    REPLY_BIT,
    MessageType,
    StackUse,
)
from tinysplit_hil.wire.weights_protocol import WeightsIdentity

_REPEATED = 0x80  # bit of the kind of an edit: all frames from this one on
_SET_BYTES, _WITH_TYPE = 1, (2, 6)  # kinds
_BOUNDS = [
    (value % (1 << 8 * size)).to_bytes(size, "little")
    for size in (1, 2, 4, 8)
    for value in (0, 1, 2, -1, 255, 300, 1 << 15, 1 << 16, 1 << 31, 1 << 32)
]


@dataclass(frozen=True)
class _Edit:
    """A change of the frame that is sent as number `index` of all boards of a session."""

    index: int
    kind: int
    data: bytes

    def applied(self, sent: bytes) -> bytes:
        """Return the bytes that arrive in place of those of a frame."""
        frame, first, rest = next(FrameDecoder().feed(sent)), self.data[0] if self.data else 0, self.data[1:]
        match self.kind & 7:
            case 0:
                arrived = replace(frame, payload=self.data).encode()
            case 1:
                payload = frame.payload[:first] + rest + frame.payload[first + len(rest) :]
                arrived = replace(frame, payload=payload).encode()
            case 2:
                arrived = replace(frame, type=first, payload=rest or frame.payload).encode()
            case 3:
                arrived = replace(frame, sequence=first, payload=rest or frame.payload).encode()
            case 4:
                arrived = b""
            case 5:
                arrived = self.data + sent
            case 6:
                arrived = sent + Frame(first, 0, rest).encode()
            case _:
                arrived = sent[:first] + bytes(a ^ b for a, b in zip(sent[first:], rest, strict=False))
        return arrived


def _edits(content: bytes) -> Iterator[_Edit]:
    """Yield the edits of an input behind its first byte: index, kind, number of bytes, bytes."""
    at = 1
    while at + 3 <= len(content):
        index, kind, size = content[at : at + 3]
        yield _Edit(index, kind, content[at + 3 : at + 3 + size])
        at += 3 + size


def _changed_edits(random: Random, content: bytes) -> bytes:
    """Return an input with other edits, many of which set a few bytes of a payload to a bound of their type."""
    edits = [] if random.random() < 0.5 else [content[1:]]
    for _ in range(1 + int(random.random() * 3)):
        index, kind = int(random.random() ** 2 * 64), int(random.random() * 8) | random.choice((0, 0, _REPEATED))
        data = random.choice(_BOUNDS) if random.random() < 0.6 else random.randbytes(int(random.random() ** 2 * 120))
        if kind & 7 == _SET_BYTES:
            data = bytes([int(random.random() * 20) * 4]) + data
        elif kind & 7 in _WITH_TYPE:
            data = bytes([random.choice((*MessageType, *(each | REPLY_BIT for each in MessageType)))]) + data
        edits.append(bytes([index, kind, len(data)]) + data)
    return bytes([int(random.random() * len(_SESSIONS))]) + b"".join(edits)


class _Line:
    """The line from a board to its port: it changes what edits say. The numbers of frames are those of all lines."""

    def __init__(self, port: FakePort, edits: Sequence[_Edit], sent: list[int]) -> None:
        self._port = port
        self._edits = edits
        self._sent = sent

    def carry(self, data: bytes) -> None:
        for edit in self._edits:
            if edit.index == self._sent[0] or (edit.kind & _REPEATED and edit.index < self._sent[0]):
                with suppress(StopIteration):  # an edit before has made it no frame
                    data = edit.applied(data)
        self._sent[0] += 1
        if data:
            self._port.carry(data)


_WEIGHTS = encode(
    WeightsOf(board_index=0, structure=5, counter=3, model=7),
    (LayerEntry(1, "conv", (0,), 8, 0.03125, 0, 8, (1, 12)),),
    {"layer_1_weights": np.arange(300, dtype=np.int8)},
)
_LINE_OF_NOTE = b'm-tinysplit-[{"board":1,"project_hash":"12345678"}]\r\n'
_QUIET = Console(quiet=True)
_G0 = load_board("nucleo_g071rb")


@cache
def _updatable() -> tuple[Project, Path]:
    """Return the project with weights in files, and a folder with these."""
    project, folder = make_project(), scratch_folder() / "updated"
    board = project.boards[0]
    own = ProjectWeightsFile(address=0, size_bytes=len(_WEIGHTS), slot_bytes=8192, is_updatable=True, crc=0)
    path = board.model_copy(update={"weights_file": own}).weights_path(folder)
    path.parent.mkdir(parents=True)
    path.write_bytes(_WEIGHTS)
    own = own.model_copy(update={"crc": read_weights_file(path).crc})
    boards = (board.model_copy(update={"weights_file": own}),)
    return project.model_copy(update={"boards": boards, "weights_counter": 3, "cuts": (), "links": ()}), folder


def _measured(fake: FakeRig) -> None:
    measured = measure(make_project(), fake.rig, make_inputs(1))
    for statistics in (measured.l_s, measured.t_s, measured.i_s):
        statistics.to_json()


def _streamed(fake: FakeRig) -> None:
    stream(make_project(), fake.rig, make_inputs(8))


def _recorded(fake: FakeRig) -> None:
    first, last = fake.boards
    first.ends_s, first.started_s = (0.001, 0.011, 0.012, 0.0122), (0.0123,)
    last.ends_s, last.started_s = (0.031, 0.0312), (0.0,)
    project = make_project()
    TimelineReport(project, record_inferences(project, fake.rig, make_inputs(1))).to_json()


def _asked(fake: FakeRig) -> None:
    running_images(make_project(), fake.rig, [1, 2])


def _updated(fake: FakeRig) -> None:
    project, folder = _updatable()
    own = project.boards[0].weights_file
    board = fake.boards[0]
    board.identity = replace(board.identity, input_bytes=300)
    board.facts = {
        IDENTIFY_STACK: StackUse(2048, 700).pack(),
        IDENTIFY_WEIGHTS: WeightsIdentity(5, 2).pack(),
        IDENTIFY_STAGING: (8192).to_bytes(4, "little") + (256).to_bytes(4, "little"),
    }
    fake.time.after(
        1.0, lambda: board.facts.update({IDENTIFY_WEIGHTS: WeightsIdentity(own.crc if own else 0, 3).pack()})
    )
    update_boards(project, folder, fake.rig, _QUIET, may_be_older=False)


_SESSIONS: Sequence[Callable[[FakeRig], None]] = (_measured, _streamed, _recorded, _asked, _updated)


def _session(content: bytes) -> None:
    fake, sent, edits = FakeRig.make(), [0], list(_edits(content))
    for board in fake.boards:
        board.port = _Line(board.port, edits, sent)  # type: ignore[assignment,arg-type]
    _SESSIONS[content[0] % len(_SESSIONS) if content else 0](fake)


def _tested(content: bytes) -> None:
    """Test the wiring of boards that report these bytes one after the other."""
    network = make_project()
    boards = tuple(each.model_copy(update={"takes_input": True, "gives_output": True}) for each in network.boards)
    no_network: dict[str, object] = {"layers": (), "copies": (), "cuts": (), "boards": boards}
    fake, at = FakeRig.make(), count()

    def report(_: bytes) -> bytes:
        begin = next(at) * REPORT_BYTES % (len(content) + 1)
        return content[begin : begin + REPORT_BYTES].ljust(REPORT_BYTES, b"\0")

    for board in fake.boards:
        board.identity = replace(board.identity, input_bytes=REQUEST_BYTES, output_bytes=REPORT_BYTES)
        board.following, board.takes_input, board.compute = None, True, report
    uarts = [End(board, uart) for board in (0, 1) for uart in range(len(_G0.link_uarts))]
    client = WiringClient(network.model_copy(update=no_network), fake.rig)
    client.begin()
    heard = client.exchange(dict.fromkeys(uarts, BAUD), frames=1)
    check = BenchCheck((_G0, _G0), {end: heard[end] for end in uarts}, (), (), {})
    assert check.faults
    trial_of(BAUD, (uarts[0], uarts[-1]), 1, heard)


def _report(other: int) -> bytes:
    """Return a report: the clock, and on the first UART frames of the other board."""
    return struct.pack("<II", 100, 7) + struct.pack("<IIIIBBxx", 9, 0, 0, 0, other, 0) + bytes(60)


class _LinesPort(FakePort):
    """A port of a board that speaks in lines: it sends the same bytes for each request."""

    answer = b""

    def write(self, data: bytes, /) -> int:
        self._time.after(0.01, lambda: self.arrive(self.answer))
        return len(data)


def _lines(content: bytes) -> None:
    project = make_project().model_copy(update={"host_protocol": HostProtocol.MLPERF})
    fake = FakeRig.make()
    port = _LinesPort(fake.boards[0], "fake://lines")
    port.timeout, port.answer = 0, content
    rig = replace(fake.rig, ports={**fake.rig.ports, 1: port})
    running_images(project, rig, [1])


def session_targets() -> list[Target]:
    """Return the sessions."""
    seeds = [bytes([number]) for number in range(len(_SESSIONS))]
    return [
        Target("wiring-test", _tested, lambda: [_report(1) + _report(0)], (ToolError,)),
        Target("sessions", _session, lambda: seeds, (ToolError,), changes=(_changed_edits,) * 3),
        Target("mlperf-lines", _lines, lambda: [_LINE_OF_NOTE, b"m-ready\r\n" + _LINE_OF_NOTE], (ToolError,)),
    ]
