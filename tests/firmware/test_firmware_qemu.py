"""The firmware on an independent emulator: QEMU's STM32F405 runs the ELF of the F401RE unchanged.

Its RCC and DWT read 0, so the clock stays on HSI and all ticks are 0; its UARTs know no baud rate. Its core runs at
168 MHz, so that is what the firmware is told of HSI: a millisecond is one.
"""

import binascii
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import serial

from programs.firmware_build import SubModel, linked_elf, network_source, write_project
from programs.virtual_firmware import address_of
from tinysplit.boards.board import Board, Uart
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.request_port import ReportedError
from tinysplit_hil.wire.tasks import T, Task

IDENTIFY, RESET, LOAD, START, READ_OUTPUT, READ_TIMES, STOP, DONE, TAKEN, ERROR = (*range(1, 8), 0xE0, 0xE1, 0xEE)
REPLY = 0x80
LAYER = 0
UNKNOWN_TYPE, BAD_LENGTH, BAD_RANGE, BUSY, LINK_NO_ANSWER, BAD_CRC, FAULT, STOPPED = 1, 2, 3, 5, 6, 8, 10, 19
STACK_OVERFLOW = 21
QEMU_HZ = 168_000_000
TIMEOUT_S = 120  # on a busy machine
REPLY_TIMEOUT_S = 0.5

pytestmark = pytest.mark.slow

Frame = tuple[int, int, bytes]  # type, sequence, payload


class Host:
    """Speaks with one board; every wait ends.

    A board forgets a request that comes with pauses of 50 ms, as on a busy machine: ask again.
    """

    def __init__(self, port: int) -> None:
        self.port = serial.serial_for_url(f"socket://127.0.0.1:{port}")
        self.events: list[Frame] = []

    def send(self, kind: int, sequence: int, payload: bytes = b"") -> None:
        body = struct.pack("<BBBH", kind, 0, sequence, len(payload)) + payload
        self.port.write(b"\xa5" + body + struct.pack("<H", binascii.crc_hqx(body, 0xFFFF)))

    def receive(self) -> Frame | None:
        self.port.timeout = REPLY_TIMEOUT_S
        sync = self.port.read(1)
        if not sync:
            return None
        self.port.timeout = TIMEOUT_S  # what has begun comes whole, with pauses on a busy machine
        head = self.port.read(5)
        kind, tag, sequence, length = struct.unpack("<BBBH", head)
        payload, crc = self.port.read(length), self.port.read(2)
        assert (sync, tag) == (b"\xa5", 0)
        assert struct.unpack("<H", crc)[0] == binascii.crc_hqx(head + payload, 0xFFFF)
        return kind, sequence, payload

    def answer(self, kind: int, sequence: int, payload: bytes = b"") -> tuple[int, bytes]:
        for _ in range(int(TIMEOUT_S / REPLY_TIMEOUT_S)):
            self.send(kind, sequence, payload)
            while frame := self.receive():
                if frame[1] == sequence:
                    return frame[0], frame[2]
                self.events += [frame] if frame[1] == 0 else []
        pytest.fail("the board does not reply")

    def event(self) -> Frame:
        end = time.monotonic() + TIMEOUT_S
        while not self.events:
            frame = self.receive()
            self.events += [frame] if frame and frame[1] == 0 else []
            assert time.monotonic() < end, "the board reports nothing"
        return self.events.pop(0)

    def ask(self, kind: int, sequence: int, payload: bytes = b"") -> bytes:
        answer, reply = self.answer(kind, sequence, payload)
        assert answer == kind | REPLY, reply
        return reply

    def refused(self, kind: int, sequence: int, payload: bytes = b"") -> int:
        answer, error = self.answer(kind, sequence, payload)
        assert answer == ERROR
        code, detail = struct.unpack("<B3xI", error)
        assert detail == kind
        return int(code)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def build(folder: Path, board: Board, links: Sequence[Uart], network: str, link_baud: int = 115_200) -> Path:
    """Return the ELF of a project for QEMU's clock, without DMA, which QEMU lacks."""
    write_project(folder, board, links, network, link_baud, LinkDriver.INTERRUPT)
    (header,) = folder.rglob("device.h")
    text = header.read_text(encoding="utf-8")
    assert text.count("CLOCK_RESET_HZ 16000000u") == 1
    header.write_text(text.replace("CLOCK_RESET_HZ 16000000u", f"CLOCK_RESET_HZ {QEMU_HZ}u"), encoding="utf-8")
    return linked_elf(folder, board)


Starter = Callable[..., Host]


@pytest.fixture
def start_board() -> Iterator[Starter]:
    """Start QEMU with `link` (a chardev) on USART1 and the host on USART2."""
    processes: list[subprocess.Popen[bytes]] = []
    hosts: list[Host] = []

    def start(elf: Path, link: str = "null") -> Host:
        port = free_port()
        machine = ["qemu-system-arm", "-M", "netduinoplus2", "-nographic", "-monitor", "none", "-kernel", str(elf)]
        serials = ["-serial", link, "-serial", f"tcp:127.0.0.1:{port},server=on,wait=on"]
        processes.append(subprocess.Popen([*machine, *serials], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        end = time.monotonic() + TIMEOUT_S
        while len(hosts) < len(processes):
            assert time.monotonic() < end, "QEMU does not listen"
            time.sleep(0.05)
            with suppress(serial.SerialException):
                hosts.append(Host(port))
        hosts[-1].ask(IDENTIFY, 255)  # until it replies: requests before its UART is enabled are lost
        while hosts[-1].receive():
            pass
        return hosts[-1]

    yield start
    for host in hosts:
        host.port.close()
    for process in processes:
        process.kill()
        process.wait(TIMEOUT_S)


def reset(host: Host, sequence: int, run: int) -> None:
    assert host.ask(RESET, sequence, struct.pack("<I", run)) == b""


def load(number: int, offset: int, data: bytes) -> bytes:
    return struct.pack("<II", number, offset) + data


def start(number: int, data: bytes) -> bytes:
    return struct.pack("<II", number, binascii.crc32(data))


def read(number: int, offset: int, length: int) -> bytes:
    return struct.pack("<IIH", number, offset, length)


def infer(host: Host, number: int, data: bytes, sequence: int) -> Frame:
    """Send an input and return the event of its output."""
    assert host.ask(LOAD, sequence, load(number, 0, data)) == b""
    assert host.ask(START, sequence + 1, start(number, data)) == b""
    while (event := host.event())[0] == TAKEN:
        pass
    return event


def test_one_board_replies_to_every_request(tmp_path: Path, start_board: Starter) -> None:
    size = 300
    host = start_board(build(tmp_path, load_board("nucleo_f401re"), (), network_source((SubModel(1, 2),), size)))
    identity = struct.unpack("<BBBBIIIII", host.ask(IDENTIFY, 1)[:24])
    assert identity == (2, 0, 0, 0, 0x12345678, QEMU_HZ, QEMU_HZ, size, size)
    data = bytes(i % 100 for i in range(size))
    assert host.refused(START, 2, start(0, data)) == STOPPED
    reset(host, 3, 1)
    assert host.refused(LOAD, 4, load(0, 248, bytes(53))) == BAD_RANGE
    assert host.refused(READ_OUTPUT, 5, read(0, 0, 10)) == BUSY
    kind, _, done = infer(host, 0, data, 6)
    expected = bytes(2 * (x + i % 4 + 1) % 256 for i, x in enumerate(data))
    assert (kind, done) == (DONE, struct.pack("<II", 0, binascii.crc32(expected)))
    assert host.ask(START, 8, start(0, data)) == b""  # repeated as after a lost reply: does not start again
    assert host.ask(READ_OUTPUT, 9, read(0, 0, 252)) + host.ask(READ_OUTPUT, 10, read(0, 252, 48)) == expected
    assert host.refused(READ_OUTPUT, 11, read(0, 252, 49)) == BAD_RANGE
    records = list(struct.iter_unpack("<BBHI", host.ask(READ_TIMES, 12, struct.pack("<H", 0))))
    assert [record for record in records if record[0] == LAYER] == [(LAYER, 0, 1, 0), (LAYER, 0, 2, 0)]
    assert host.ask(READ_TIMES, 13, struct.pack("<H", len(records))) == b""
    assert host.refused(READ_TIMES, 14, struct.pack("<H", len(records) + 1)) == BAD_RANGE
    assert host.refused(IDENTIFY, 15, b"x") == BAD_RANGE
    assert host.refused(IDENTIFY, 15, b"xy") == BAD_LENGTH
    assert host.refused(0x55, 16) == UNKNOWN_TYPE
    assert host.ask(STOP, 17) == b""
    assert host.refused(START, 18, start(1, data)) == STOPPED


def test_a_damaged_request_is_reported_and_half_a_request_discarded(tmp_path: Path, start_board: Starter) -> None:
    host = start_board(build(tmp_path, load_board("nucleo_f401re"), (), network_source((SubModel(1, 2),), 16)))
    host.port.write(b"\xa5\x01\x00\x07\x00\x00\x00\x00")
    assert host.receive() == (ERROR, 7, struct.pack("<B3xI", BAD_CRC, IDENTIFY))
    host.port.write(b"\xa5\x03\x00\x08\xff\x00abc")
    time.sleep(0.3)  # more than FRAME_QUIET_MS, after which a frame is discarded
    assert len(host.ask(IDENTIFY, 9)) == 60


def chain(folder: Path, size: int, link_baud: int) -> tuple[Path, Path]:
    """Build two boards that pass one tensor over USART1."""
    board = load_board("nucleo_f401re")
    links = [uart for uart in board.link_uarts if uart.name == "USART1"]
    first = network_source((SubModel(1, 1, destination=0),), size)
    second = network_source((SubModel(2, 2, source=0),), size, board_index=1)
    return tuple(  # type: ignore[return-value]
        build(folder / name, board, links, network, link_baud) for name, network in (("a", first), ("b", second))
    )


def patiently(client: BoardClient, ask: Callable[[], Task[T]]) -> T:
    """Return an answer in spite of LINK_NO_ANSWER, which is a warning: the machine may be busy."""
    while True:
        try:
            return client.run(ask())
        except ReportedError as error:
            if error.error.code != LINK_NO_ANSWER:
                raise


def test_two_boards_transfer_a_tensor_over_their_link(tmp_path: Path, start_board: Starter) -> None:
    size = 2_500
    first_elf, second_elf = chain(tmp_path, size, 2400)  # at lower rates a link waits longer
    port = free_port()
    ports = (
        start_board(first_elf, f"tcp:127.0.0.1:{port},server=on,wait=off"),
        start_board(second_elf, f"tcp:127.0.0.1:{port}"),
    )
    first, second = (BoardClient(host.port, f"board {number}") for number, host in enumerate(ports, start=1))
    for board in (first, second):
        board.run(board.reset(1, TIMEOUT_S))
    for number in range(2):  # the second board begins its next inference by itself
        data = bytes((i + number) % 100 for i in range(size))
        patiently(first, partial(first.send_input, number, data, TIMEOUT_S))
        crc = patiently(second, partial(second.wait_done, number, TIMEOUT_S))
        output = patiently(second, partial(second.read_output, number, size, crc))
        assert output == bytes(2 * (x + i % 4 + 1) % 256 for i, x in enumerate(data))


def test_a_missing_neighbour_is_reported_and_reset_clears_it(tmp_path: Path, start_board: Starter) -> None:
    host = start_board(chain(tmp_path, 16, 115_200)[0])
    for run in (1, 2):
        reset(host, 1 + 10 * run, run)
        assert infer(host, 0, bytes(16), 2 + 10 * run) == (ERROR, 0, struct.pack("<B3xI", LINK_NO_ANSWER, 0))


# Lines of assembly, the error, and the program counter from their begin on, None where it is lost with the frame.
FAULTS = {
    "undefined instruction": ("udf #0", FAULT, 0),
    "read of address 0": ("movs r0, #0; ldr r0, [r0]", FAULT, 2),
    "write to address 0": ("movs r0, #0; str r0, [r0]", FAULT, 2),
    "read of flash at its second address": ("ldr r0, =0x0007fffc; ldr r0, [r0]", FAULT, 2),
    "write to code": ("ldr r0, =main - 1; str r0, [r0]", FAULT, 2),
    "write behind all constants": ("ldr r0, =0x08070000; str r0, [r0]", FAULT, 2),
    "write below the stack": ("ldr r0, =_stack_start - 1; strb r0, [r0]", STACK_OVERFLOW, 2),
    "read of the spare stack": ("ldr r0, =_spare_start; ldrb r0, [r0]", STACK_OVERFLOW, 2),
    "pushes": ("1: push {r4-r7}; b 1b", STACK_OVERFLOW, None),
    "push of more than is left": ("ldr r0, =_stack_start + 48; mov sp, r0; push {r0-r12, lr}", STACK_OVERFLOW, 4),
    "large frame": ("sub sp, #0x800; str r0, [sp]", STACK_OVERFLOW, None),
    "frame in the spare stack": ("ldr r0, =_stack_start - 8; mov sp, r0; push {r0}", STACK_OVERFLOW, None),
    "frame below all RAM": ("ldr r0, =_spare_start - 0x1000; mov sp, r0; push {r0}", STACK_OVERFLOW, None),
}
DATA_AS_CODE = "ldr r0, =network_arena + 1; bx r0"


def fault_number(number: int, size: int) -> bytes:
    """Return the input with which the board runs lines of assembly; layer 1 adds 1 to it."""
    return bytes([number]) + bytes(size - 1)


@pytest.fixture(scope="module")
def faulty_elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program whose layer 2 runs the lines that the input chooses."""
    lines = [*(lines for lines, _, _ in FAULTS.values()), DATA_AS_CODE]
    names = [f"fault_{number}" for number in range(len(lines))]
    declared = (
        f"extern void {'(void), '.join(names)}(void);\nstatic void (*const faults[])(void) = {{{', '.join(names)}}};\n"
    )
    network = network_source((SubModel(1, 2),), 16).replace(
        "static void run_layer_2", declared + "static void run_layer_2"
    )
    network = network.replace("y[i] = (uint8_t)(2 * x[i]);", "{ y[i] = x[i]; faults[x[0] - 1](); }")
    for name, each in zip(names, lines, strict=True):
        network += f'__asm__(".syntax unified; .thumb_func; .global {name}; {name}: {each}; bx lr; .ltorg");\n'
    return build(tmp_path_factory.mktemp("faulty"), load_board("nucleo_f401re"), (), network)


RARE_FAULTS = ("read of flash at its second address", "write behind all constants", "frame below all RAM")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in RARE_FAULTS else ()) for name in FAULTS]
)
def test_a_fault_is_reported_with_its_address(faulty_elf: Path, start_board: Starter, name: str) -> None:
    _, code, offset = FAULTS[name]
    number = list(FAULTS).index(name)
    host = start_board(faulty_elf)
    reset(host, 1, 1)
    detail = 0 if offset is None else address_of(f"fault_{number}", faulty_elf) + offset
    assert infer(host, 0, fault_number(number, 16), 2) == (ERROR, 0, struct.pack("<B3xI", code, detail))


def test_data_are_not_executed(faulty_elf: Path, start_board: Starter) -> None:
    host = start_board(faulty_elf)
    reset(host, 1, 1)
    detail = address_of("network_arena", faulty_elf)
    assert infer(host, 0, fault_number(len(FAULTS), 16), 2) == (ERROR, 0, struct.pack("<B3xI", FAULT, detail))
