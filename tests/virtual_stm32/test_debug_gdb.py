"""gdb on a virtual board, through the real OpenOCD: breakpoints, steps, memory, registers and the call stack."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from programs.virtual_firmware import build
from rigs.debugged_boards import COUNTING, LIMIT_S, Debugged, address_of, debugged, need_openocd
from rigs.gdb_client import GdbClient
from tinysplit.boards.catalog import load_board

PC = 15
BOARDS = ("nucleo_g071rb", "nucleo_l452re", "nucleo_h743zi")  # breakpoint units of Cortex-M0+, M4 and M7


@contextmanager
def gdb_server(boards: Debugged) -> Iterator[int]:
    """Run OpenOCD until the end of the context; yields the TCP port for gdb."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = boards.openocd_command(f"gdb_port {port}; telnet_port disabled; tcl_port disabled", "init; reset halt")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end_s = time.monotonic() + LIMIT_S
            while not is_open(port):
                assert process.poll() is None
                assert time.monotonic() < end_s
                time.sleep(0.02)
            yield port
        finally:
            process.kill()


def is_open(port: int) -> bool:
    """Whether something listens there; asked without a connection, which OpenOCD would take for gdb."""
    listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in listening)


@pytest.mark.parametrize("name", [BOARDS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in BOARDS[1:])])
def test_breakpoints_steps_memory_and_registers(name: str, tmp_path: Path) -> None:
    need_openocd()
    elf = build(tmp_path / name, load_board(name), COUNTING)
    twice, count = address_of(elf, "twice"), address_of(elf, "count")
    with debugged(tmp_path, name) as boards:
        assert boards.flash(elf).exit_code == 0
        with gdb_server(boards) as port, GdbClient(port, LIMIT_S) as gdb:
            gdb.set_breakpoint(twice)
            counts = []
            for _ in range(3):
                gdb.go_on()
                assert gdb.register(PC) == twice
                counts.append(gdb.word(count))
                assert gdb.register(0) == counts[-1]  # the argument
            assert counts == [1, 2, 3]
            gdb.step()
            assert gdb.register(PC) == twice + 2
            gdb.write_word(count, 1000)
            gdb.go_on()
            assert gdb.word(count) == 1001
            gdb.remove_breakpoint(twice)
            gdb.write_register(PC, address_of(elf, "reset"))
            gdb.set_breakpoint(twice)
            gdb.go_on()
            assert gdb.word(count) == 1


# Sleeps; an interrupt every millisecond counts and refreshes the watchdog of 100 ms.
TICKING = """
#include "device.h"
__attribute__((used)) volatile unsigned count;
void tick(void);
void reset(void) {
  count = 0;
  IWDG->KR = 0x5555; IWDG->RLR = 800; IWDG->KR = 0xCCCC;
  SysTick->LOAD = 16000; SysTick->CTRL = 7;
  for (;;) __asm volatile("wfi");
}
void tick(void) { count++; IWDG->KR = 0xAAAA; }
"""


def test_in_an_interrupt_handler_time_goes_on_and_the_watchdog_is_held(tmp_path: Path) -> None:
    need_openocd()
    elf = build(tmp_path / "ticking", load_board(BOARDS[0]), TICKING, {15: "tick"})
    tick, count = address_of(elf, "tick"), address_of(elf, "count")
    with debugged(tmp_path, BOARDS[0]) as boards:
        assert boards.flash(elf).exit_code == 0
        with gdb_server(boards) as port, GdbClient(port, LIMIT_S) as gdb:
            starts = boards.rig.start_count(0)
            gdb.set_breakpoint(tick)
            for expected in range(2):
                gdb.go_on()
                assert gdb.register(PC) == tick
                assert gdb.word(count) == expected
                end_ps = boards.rig.time_ps + 3 * 10**11
                while boards.rig.time_ps < end_ps:
                    time.sleep(0.01)
            gdb.remove_breakpoint(tick)
            gdb.step()
            assert gdb.register(PC) == tick + 2
            assert boards.rig.start_count(0) == starts
    assert boards.rig.start_count(0) == starts


def test_gdb_itself_shows_the_call_stack(tmp_path: Path) -> None:
    need_openocd()
    program = next(filter(shutil.which, ("arm-none-eabi-gdb", "gdb-multiarch")), None)
    if program is None:
        pytest.skip("no gdb for Arm is installed")
    name = BOARDS[0]
    elf = build(tmp_path / name, load_board(name), COUNTING)
    script = ("break twice", "continue", "continue", "backtrace", "print (int) count", "stepi", "detach")
    with debugged(tmp_path, name) as boards:
        assert boards.flash(elf).exit_code == 0
        with gdb_server(boards) as port:
            commands = (f"target extended-remote localhost:{port}", *script)
            options = [word for command in commands for word in ("-ex", command)]
            done = subprocess.run(
                [program, "-batch", "-nx", *options, str(elf)],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=True,
            )
    assert done.stdout.count("Breakpoint 1, ") == 2
    assert "#0 " in done.stdout
    assert "in twice ()" in done.stdout
    assert "#1 " in done.stdout
    assert "in reset ()" in done.stdout
    assert "= 2" in done.stdout
