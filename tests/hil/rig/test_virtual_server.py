"""Virtual boards behind ports of the operating system: bytes, clients that come and go, and simulated time."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import pytest
import serial

from programs.echo_firmware import BAUD, ECHO
from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import ToolError, UsageError
from tinysplit_hil.rig import virtual_server as server
from tinysplit_hil.rig.virtual_server import HOLD_S, Server
from tinysplit_hil.wire.frames import Frame
from tinysplit_hil.wire.simulated_time import SharedTime, share_time
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.os_ports import OsPort, Pty, Tcp, open_ports

BOARD = "nucleo_g071rb"
PATIENCE_S = 60.0
# Works for ever: counts in RAM.
BUSY = "volatile unsigned n; void reset(void) { for (;;) n++; }"
FRAME = Frame(1, 1, b"abcd").encode()


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("echo"), load_board(BOARD), ECHO)


def make_rig(elf: Path, count: int = 1) -> VirtualRig:
    rig = VirtualRig([VirtualBoard(load_board(BOARD), elf)] * count, has_ideal_memory=True)
    for index in range(count):
        rig.set_baud(index, BAUD)
    return rig


# With a client of its own, in real time


@contextmanager
def served(elf: Path, port: OsPort, folder: Path, *others: OsPort) -> Iterator[Path]:
    """Serve an echo on `port`, and on others, in another thread; yields the file of the simulated time."""
    path, stop, ports = folder / "time", Event(), (port, *others)
    with ExitStack() as stack:
        for each in ports:
            stack.enter_context(closing(each))
        shared = stack.enter_context(closing(SharedTime.create(path, len(ports))))
        server = Server(make_rig(elf, len(ports)), ports, shared, is_real_time=False)
        thread = Thread(target=server.serve, args=(stop.is_set,))
        thread.start()
        try:
            yield path
        finally:
            stop.set()
            thread.join()


@pytest.fixture(params=["pty", "tcp"])
def port(request: pytest.FixtureRequest) -> OsPort:
    return Pty() if request.param == "pty" else Tcp(0)


def open_client(port: OsPort) -> serial.SerialBase:
    return serial.serial_for_url(port.name, timeout=PATIENCE_S)


def test_bytes_pass_unchanged(elf: Path, port: OsPort, tmp_path: Path) -> None:
    with served(elf, port, tmp_path), open_client(port) as client:
        client.write(bytes(range(256)))
        assert client.read(256) == bytes(range(1, 256)) + b"\0"


def test_a_client_comes_again(elf: Path, port: OsPort, tmp_path: Path) -> None:
    with served(elf, port, tmp_path):
        for text in (b"abc", b"def", b"ghi"):
            with open_client(port) as client:
                client.write(text)
                assert client.read(3) == bytes(byte + 1 for byte in text)


def test_a_second_client_of_a_tcp_port_is_refused(elf: Path, tmp_path: Path) -> None:
    port = Tcp(0)
    with served(elf, port, tmp_path), open_client(port) as client:
        client.write(b"a")
        assert client.read(1) == b"b"
        address = ("127.0.0.1", int(port.name.rpartition(":")[2]))
        with pytest.raises(ConnectionResetError), socket.create_connection(address) as second:
            second.recv(1)
        client.write(b"c")
        assert client.read(1) == b"d"


def test_what_no_client_has_read_is_lost(elf: Path, tmp_path: Path) -> None:
    port = Pty()
    with served(elf, port, tmp_path):
        with open_client(port) as client:
            client.write(b"abc")
            while client.in_waiting < 3:
                time.sleep(0.01)
        shared = SharedTime(tmp_path / "time")
        end_s = shared.time_s + 0.1  # the server sees meanwhile that the client has gone
        while shared.time_s < end_s:
            time.sleep(0.01)
        shared.close()
        device = os.open(port.name, os.O_RDWR | os.O_NOCTTY)  # unlike pyserial, drops nothing
        os.write(device, b"x")
        assert os.read(device, 10) == b"y"
        os.close(device)


def test_a_client_that_shares_the_time_stops_it(elf: Path, port: OsPort, tmp_path: Path) -> None:
    with served(elf, port, tmp_path) as path, open_client(port) as client:
        for _ in range(2):  # powers up the boards each time
            with share_time(path, {0: client}) as (clock, shared_ports):
                shared_port = shared_ports[0]
                clock.wait(0.001)
                assert clock.now_s() == pytest.approx(0.001, abs=1e-9)
                shared_port.write(b"abc")
                time.sleep(0.1)
                assert clock.now_s() == pytest.approx(0.001, abs=1e-9)
                assert shared_port.in_waiting == 0
                clock.wait(1)
                assert shared_port.read(10) == b"b"
                assert clock.now_s() == pytest.approx(0.001 + 20 / BAUD, abs=1e-5)
                clock.wait(1)
                clock.wait(1)
                assert shared_port.read(10) == b"cd"


def test_a_client_uses_one_of_two_boards(elf: Path, tmp_path: Path) -> None:
    others = Pty(), Pty()
    with served(elf, others[0], tmp_path, others[1]) as path:
        for index, used in enumerate(others):
            with open_client(used) as client, share_time(path, {index: client}) as (clock, shared_ports):
                clock.wait(0.001)
                shared_ports[index].write(b"a")
                with open_client(others[1 - index]) as bystander:
                    bystander.write(b"x")
                clock.wait(1)
                assert shared_ports[index].read(10) == b"b"
                assert clock.now_s() == pytest.approx(0.001 + 20 / BAUD, abs=1e-5)


def test_two_clients_do_not_share_the_time(elf: Path, tmp_path: Path) -> None:
    others = Pty(), Pty()
    with (
        served(elf, others[0], tmp_path, others[1]) as path,
        open_client(others[0]) as first,
        open_client(others[1]) as second,
        share_time(path, {0: first}) as (clock, shared_ports),
    ):
        with (
            pytest.raises(ToolError, match=r"^the virtual boards are in use by another tinysplit command"),
            share_time(path, {1: second}),
        ):
            pass
        clock.wait(0.001)
        shared_ports[0].write(b"a")
        clock.wait(1)
        assert shared_ports[0].read(10) == b"b"


def test_time_that_is_not_shared_any_more(tmp_path: Path) -> None:
    with (
        pytest.raises(ToolError, match="do not run any more: start `tinysplit virtual` again"),
        share_time(tmp_path / "time", {}),
    ):
        pass


def test_a_tcp_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
        with pytest.raises(ToolError, match=f"TCP port {number} is in use: choose another one with --tcp"):
            Tcp(number)


def test_tcp_ports_end_at_65535() -> None:
    with pytest.raises(UsageError, match="--tcp 65535: the last port is 65535: use 65534 or less"):
        next(open_ports(2, 65535))


# Simulated time, with a client and a real time that are played


class PlayedPort:
    """A port whose client is played; its file descriptor is always readable, so that the server never waits."""

    name = "played"

    def __init__(self, fd: int | None) -> None:
        self.fd = fd
        self.sent, self.received = b"", b""

    def look_for_client(self) -> int | None:
        return self.fd

    def read(self) -> bytes:
        data, self.sent = self.sent, b""
        return data

    def write(self, data: bytes) -> int:
        self.received += data
        return len(data)

    def close(self) -> None:
        """Do nothing."""


class Play:
    """A server in steps, each after `elapsed_s` of real time."""

    def __init__(
        self, elf: Path, fd: int | None, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: bool
    ) -> None:
        self.now_s = 1000.0
        monkeypatch.setattr(server, "time", SimpleNamespace(monotonic=lambda: self.now_s))
        self.rig, self.port = make_rig(elf), PlayedPort(fd)
        shared = SharedTime.create(folder / "time", 1)
        self._server = Server(self.rig, [self.port], shared, is_real_time=options.get("is_real_time", False))
        self.run(1)

    def run(self, steps: int, elapsed_s: float = 0.0) -> float:
        """Return how many seconds of simulated time pass."""
        before_s = self.rig.time_s
        for _ in range(steps):
            self.now_s += elapsed_s
            answers = iter((False, True))  # one step
            self._server.serve(lambda answers=answers: next(answers))  # type: ignore[misc]
        return self.rig.time_s - before_s


@pytest.fixture
def fd() -> Iterator[int]:
    descriptor = os.open("/dev/null", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_idle_boards_follow_real_time(elf: Path, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(elf, fd, tmp_path, monkeypatch)
    play.run(5, 0.001)
    assert play.run(10, 0.0) == 0
    assert play.run(10, 0.003) == pytest.approx(0.03)


def test_time_never_catches_up(elf: Path, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(elf, fd, tmp_path, monkeypatch)
    play.run(5, 0.001)
    assert play.run(1, 100.0) == pytest.approx(0.01)
    assert play.run(10, 0.001) == pytest.approx(0.01)


@pytest.mark.parametrize("is_real_time", [False, True])
def test_boards_that_work_are_only_slowed_down_on_demand(
    is_real_time: bool, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = build(tmp_path / "busy", load_board(BOARD), BUSY)
    play = Play(busy, fd, tmp_path, monkeypatch, is_real_time=is_real_time)
    play.run(3, 0.001)
    passed_s = play.run(10, 0.0)
    assert passed_s == (0 if is_real_time else pytest.approx(0.01))


def test_time_stands_still_inside_a_frame(elf: Path, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(elf, fd, tmp_path, monkeypatch)
    play.run(5, 0.001)
    play.port.sent = FRAME[:5]
    line_s = 5 * 10 / BAUD
    assert play.run(20, HOLD_S / 21) == pytest.approx(line_s, abs=1e-9)
    play.port.sent = FRAME[5:]
    assert play.run(20, 0.01) > 0.1
    assert play.port.received == bytes((byte + 1) % 256 for byte in FRAME)


def test_half_a_frame_does_not_stop_the_time_for_ever(
    elf: Path, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Play(elf, fd, tmp_path, monkeypatch)
    play.run(5, 0.001)
    play.port.sent = FRAME[:5]
    play.run(10, 0.001)
    assert play.run(10, HOLD_S) >= 0.09


def test_a_client_that_is_not_noticed_yet_is_answered(
    elf: Path, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Play(elf, None, tmp_path, monkeypatch)
    play.port.sent = b"a"
    play.run(5, 0.001)
    play.port.fd = fd
    play.run(5, 0.001)
    assert play.port.received == b"b"


def test_boards_without_a_client_stand_still_after_a_second(
    elf: Path, fd: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = Play(elf, None, tmp_path, monkeypatch)
    monkeypatch.setattr(server, "_QUIET_WAIT_MS", 0)
    play.run(150, 0.01)
    assert play.rig.time_ps == pytest.approx(PS_PER_S, abs=PS_PER_S / 50)
    play.port.fd = fd
    assert play.run(10, 0.01) == pytest.approx(0.1)
