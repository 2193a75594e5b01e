"""A firmware that has nothing of tinysplit, on a virtual board: from Python, by the fixture, and from a shell."""

import subprocess
import sys
from pathlib import Path

import pytest

from virtual_stm32 import VirtualRig
from virtual_stm32.__main__ import main, parse_wire
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.fixture import RigFactory

pytest_plugins = ["virtual_stm32.fixture"]

FOLDER = Path(__file__).parent
BOARD = "nucleo_g071rb"
LINES = b"ready\r\non\r\noff\r\non\r\n"  # of the first 0.35 s: the LED changes each 0.1 s


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("blink") / "blink.elf"
    flags = ("-mcpu=cortex-m0plus", "-mthumb", "-O2", "-Wall", "-Wextra", "-Werror", "-nostdlib", "-ffreestanding")
    script = f"-T{FOLDER / 'blink.ld'}"
    subprocess.run(["arm-none-eabi-gcc", *flags, script, FOLDER / "blink.c", "-o", path], check=True, timeout=60)
    return path


@pytest.fixture
def blinking(virtual_rig: RigFactory, elf: Path) -> VirtualRig:
    return virtual_rig((BOARD, elf))


def test_the_led_blinks_by_the_clock_of_the_board(blinking: VirtualRig) -> None:
    trace = blinking.trace_pins([("led", 0, "PA5")])
    blinking.run_until(PS_PER_S * 35 // 100)
    changes = [(ps / PS_PER_S, level) for ps, _, level in trace.changes if ps]
    assert [level for _, level in changes] == [True, False, True]
    assert [at_s for at_s, _ in changes] == pytest.approx([0.1, 0.2, 0.3], abs=1e-3)


def test_the_host_reads_and_writes_the_uart(blinking: VirtualRig) -> None:
    blinking.run_until(PS_PER_S // 100)
    blinking.write(0, b"a")
    blinking.run_until(PS_PER_S * 35 // 100)
    assert bytes(blinking.host_port(0).received) == LINES.replace(b"ready\r\n", b"ready\r\nA")


def test_each_board_has_a_host_port(virtual_rig: RigFactory, elf: Path) -> None:
    rig = virtual_rig((BOARD, elf), (BOARD, elf))
    rig.run_until(PS_PER_S * 35 // 100)
    assert [bytes(rig.host_port(index).received) for index in range(2)] == [LINES, LINES]


def test_a_shell_runs_it_with_its_uart_on_standard_output(elf: Path) -> None:
    command = [sys.executable, "-m", "virtual_stm32", str(elf), "--board", BOARD, "--seconds", "0.35"]
    done = subprocess.run(command, input=b"", capture_output=True, check=True, timeout=120)
    assert done.stdout == LINES
    assert done.stderr.decode().startswith("board 1: 56")  # 0.35 s of 16 MHz
    again = subprocess.run([*command, "--ideal-memory"], input=b"", capture_output=True, check=True, timeout=120)
    assert again.stdout == LINES


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("missing.elf", "--board", BOARD), 3, "missing.elf is not a readable ELF file"),
        (("missing.elf",), 2, "give one --board for each program"),
        (("missing.elf", "--board", "nucleo_x"), 2, "nucleo_x"),
        (
            ("{elf}", "--board", BOARD, "--wire", "1:USART1-2:USART1"),
            2,
            "--wire '1:USART1-2:USART1': expected two UARTs",
        ),
        (("{elf}", "--board", BOARD, "--wire", "1:USART9-1:USART1"), 2, "board 1 (nucleo_g071rb) has no USART9"),
        (("{elf}", "--board", BOARD, "--seconds", "nan"), 2, "--seconds have to be above zero"),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], code: int, says: str, elf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([text.format(elf=elf) for text in arguments]) == code
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1


def test_wires_count_boards_from_1() -> None:
    wire = parse_wire("1:USART1-2:USART3", 2)
    assert (wire.first, wire.second) == ((0, "USART1"), (1, "USART3"))
