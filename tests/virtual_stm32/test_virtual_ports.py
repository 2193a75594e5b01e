"""Virtual boards behind pyserial: URLs, virtual time-outs, baud rates, and missing packages or compilers."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import serial

from programs.echo_firmware import BAUD, ECHO
from programs.virtual_firmware import assembler, build
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import ToolError
from virtual_stm32 import VirtualBoard, VirtualRig, open_registered
from virtual_stm32.core import native

STARTED_PS = 10**8  # a byte that begins before the board has its UART on is lost


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[VirtualRig]:
    board = load_board("nucleo_g071rb")
    with open_registered(
        "test", VirtualRig([VirtualBoard(board, build(tmp_path, board, ECHO))], has_ideal_memory=True)
    ) as rig:
        yield rig


def test_bytes_come_back_when_their_time_on_the_line_has_passed(echo: VirtualRig) -> None:
    with serial.serial_for_url("virtual://test/0", baudrate=BAUD, timeout=1) as port:
        assert port.read(1) == b""
        assert echo.time_s == 1
        port.write(bytes(range(100)))
        assert port.in_waiting == 0
        assert port.read(100) == bytes(range(1, 101))
        assert echo.time_s == pytest.approx(1 + 101 * 10 / BAUD, abs=5e-6)
        port.write(b"x")
        port.flush()
        assert port.in_waiting == 0
        port.timeout = 0
        assert port.read(1) == b""
        port.timeout = 0.01
        assert port.read(10) == b"y"


def test_the_input_buffer_can_be_cleared_and_a_closed_port_raises(echo: VirtualRig) -> None:
    echo.run_until(STARTED_PS)
    port = serial.serial_for_url("virtual://test/0", baudrate=BAUD, timeout=0.1)
    port.write(b"ab")
    assert port.read(1) == b"b"
    echo.run_until(echo.time_ps + 10**9)
    assert port.in_waiting == 1
    port.reset_input_buffer()
    assert port.read(1) == b""
    port.close()
    with pytest.raises(serial.PortNotOpenError):
        port.read(1)


def test_a_host_at_another_baud_rate_gets_garbage(echo: VirtualRig) -> None:
    echo.run_until(STARTED_PS)
    with serial.serial_for_url("virtual://test/0", baudrate=57600, timeout=0.1) as port:
        port.write(b"a")
        assert port.read(1) not in (b"", b"b")
    assert echo.time_s < 0.1


@pytest.mark.parametrize("url", ["virtual://other/0", "virtual://test/1", "virtual://test/x"])
def test_an_unknown_rig_or_board_is_named(echo: VirtualRig, url: str) -> None:
    assert echo.board_count == 1
    with pytest.raises(serial.SerialException, match=f"{url}: no such virtual board"):
        serial.serial_for_url(url)


def test_a_deadlock_is_an_error(tmp_path: Path) -> None:
    board = load_board("nucleo_g071rb")
    rig = VirtualRig([VirtualBoard(board, build(tmp_path, board, assembler("nop")))], has_ideal_memory=True)
    with open_registered("asleep", rig), pytest.raises(ToolError, match="deadlock"):
        serial.serial_for_url("virtual://asleep/0").read(1)


def test_reset_powers_up_the_boards_again(echo: VirtualRig) -> None:
    results = []
    for _ in range(2):
        echo.reset()
        echo.run_until(STARTED_PS)
        with serial.serial_for_url("virtual://test/0", baudrate=BAUD, timeout=1) as port:
            port.write(b"abc")
            results.append((port.read(3), echo.time_ps, echo.cycles(0)))
    assert results[0] == results[1]
    assert results[0][0] == b"bcd"


def test_a_missing_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ToolError, match=r"need a C compiler, and gcc is not there: .*install gcc libc6-dev"):
        native.library.__wrapped__()


# A finder whose import fails as that of a Unicorn without its library does.
BROKEN = """
class Finder:
    def find_spec(self, name, *_):
        if name == 'unicorn':
            raise ImportError('no library')
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("unicorn", "says"),
    [
        ("sys.modules['unicorn'] = None", "need the package unicorn ("),
        (BROKEN, "need Unicorn and Capstone (no library)"),
    ],
    ids=["missing", "broken"],
)
def test_a_package_that_cannot_be_imported_is_reported(unicorn: str, says: str) -> None:
    code = (
        f"import sys; {unicorn}\n"
        "from tinysplit.common.errors import ToolError\n"
        "try:\n    import virtual_stm32\nexcept ToolError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert says in done.stdout
    assert "-m pip install 'capstone>=5.0' 'unicorn>=2.1.4'" in done.stdout
