"""Runs of generated firmware on two virtual boards: who joins them, and what ends them."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from example_folders.example import shared_example
from tinysplit.project.manifest import Project
from tinysplit_hil.rig.rig import open_rig
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import BoardError, ErrorCode, Identity, MessageType
from tinysplit_hil.wire.request_port import Port
from virtual_stm32 import ResetCause, VirtualRig
from virtual_stm32.registry import find

INPUT = bytes(784)
PIN, SOFTWARE = 2, 4  # reset causes
FLASH_START = 0x08000000

pytestmark = pytest.mark.slow


@dataclass
class Host:
    """The host of one board; all waits are bounded by virtual time."""

    port: Port
    sequence: int = 0
    events: list[Frame] = field(default_factory=list)
    decoder: FrameDecoder = field(default_factory=FrameDecoder)

    def frames(self, timeout_s: float) -> Iterator[Frame]:
        self.port.timeout = timeout_s
        while data := self.port.read(1):
            yield from self.decoder.feed(data)

    def ask(self, kind: MessageType, payload: bytes = b"") -> Frame:
        self.sequence += 1
        self.port.write(Frame(kind, self.sequence, payload).encode())
        for frame in self.frames(2.0):
            if frame.sequence == self.sequence:
                return frame
            self.events.append(frame)
        pytest.fail(f"no reply to {kind.name}")

    def event(self, kind: MessageType) -> bytes:
        for frame in (*self.events, *self.frames(2.0)):
            if frame.type == kind:
                self.events.clear()
                return frame.payload
        pytest.fail(f"no {kind.name}")

    def identify(self) -> Identity:
        return Identity.unpack(self.ask(MessageType.IDENTIFY).payload)

    def reset(self, run: int) -> None:
        assert self.ask(MessageType.RESET, struct.pack("<I", run)).payload == b""


@dataclass
class Pair:
    """Two boards, of which the first takes the input and the second gives the output."""

    rig: VirtualRig
    first: Host
    second: Host

    def start(self) -> None:
        """Start inference 0 of a run."""
        load = struct.pack("<II", 0, 0) + INPUT
        assert self.first.ask(MessageType.LOAD, load).type == MessageType.LOAD | 0x80
        assert self.first.ask(MessageType.START, struct.pack("<II", 0, zlib.crc32(INPUT))).payload == b""

    def infer(self) -> None:
        """Run inference 0 of a run."""
        self.start()
        self.finish()

    def finish(self) -> None:
        """Wait for the output of inference 0."""
        number, crc = struct.unpack("<II", self.second.event(MessageType.DONE))
        output = self.second.ask(MessageType.READ_OUTPUT, struct.pack("<IIH", 0, 0, 10)).payload
        assert (number, crc) == (0, zlib.crc32(output))


@pytest.fixture
def pair() -> Iterator[Pair]:
    project, folder = shared_example("nucleo_g071rb", "nucleo_g071rb", baud=921600)
    with open_rig("virtual", project, folder) as rig:
        virtual = find(_name(project))
        assert virtual is not None
        pair = Pair(virtual, *(Host(rig.ports[board.number]) for board in project.boards))
        virtual.run_until(10**10)  # until the boards have started
        yield pair


def _name(project: Project) -> str:
    return f"{project.project_hash:08x}"


def test_a_board_joins_the_run_of_its_neighbour(pair: Pair) -> None:
    pair.first.reset(7)
    pair.infer()
    assert pair.second.identify().run == 7


@pytest.mark.parametrize("after_ms", [1, 15, 30, 40])
def test_a_repeated_reset_changes_nothing(pair: Pair, after_ms: int) -> None:
    pair.first.reset(7)
    pair.second.reset(7)
    pair.start()
    pair.rig.run_until(pair.rig.time_ps + after_ms * 10**9)
    pair.first.reset(7)
    pair.second.reset(7)
    pair.finish()


def test_a_neighbour_that_restarts_ends_the_run_and_the_next_one_is_right(pair: Pair) -> None:
    pair.first.reset(7)
    pair.infer()
    pair.rig.reset_board(1, ResetCause.PIN)
    assert BoardError.unpack(pair.first.event(MessageType.ERROR)).code == ErrorCode.LINK_PEER_RESTARTED
    identity = pair.second.identify()
    assert (identity.reset_cause, identity.boot_count) == (PIN, 2)
    pair.first.reset(8)
    pair.infer()


def test_a_board_that_is_asked_to_reboots(pair: Pair) -> None:
    assert pair.first.ask(MessageType.REBOOT).payload == b""
    assert list(pair.first.frames(0.1)) == []
    identity = pair.first.identify()
    assert (identity.reset_cause, identity.boot_count) == (SOFTWARE, 2)


def test_a_flipped_bit_of_flash_is_found_on_demand_and_at_the_start(pair: Pair) -> None:
    pair.first.reset(7)
    assert pair.first.ask(MessageType.CHECK).payload == b""
    pair.rig.flip_flash_bit(0, FLASH_START + 12000, 3)
    refused = [pair.first.ask(MessageType.CHECK), pair.first.ask(MessageType.RESET, struct.pack("<I", 8))]
    assert [BoardError.unpack(each.payload).code for each in refused] == [ErrorCode.FLASH_CORRUPT] * 2
