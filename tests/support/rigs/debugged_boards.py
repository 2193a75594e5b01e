"""Virtual boards with debug ports, served in another thread, and OpenOCD in front of them."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import pytest
from elftools.elf.elffile import ELFFile

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.common.choices import ProgrammerName
from tinysplit_hil.bench.empty_check import starts_program
from tinysplit_hil.rig.commands import Command, FinishedProgram, run_command
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice
from tinysplit_hil.rig.virtual_server import Server
from tinysplit_hil.wire.simulated_time import SharedTime
from virtual_stm32 import VirtualBoard, VirtualRig, Wire
from virtual_stm32.debug.probe import ProbeServer, open_probes
from virtual_stm32.os_ports import OsPort, Tcp
from virtual_stm32.symbols import load_program

LIMIT_S = 120.0
SERVERS_OFF = "gdb_port disabled; telnet_port disabled; tcl_port disabled"
# Counts, and calls a function: for breakpoints.
COUNTING = """
__attribute__((used)) volatile unsigned count, doubled;
__attribute__((noinline)) unsigned twice(unsigned value) { return 2 * value; }
void reset(void) { count = 0; for (;;) { count++; doubled = twice(count); } }
"""


@dataclass
class Debugged:
    """Boards that are served; `failure` is what has ended that, if anything."""

    rig: VirtualRig
    boards: Sequence[Board]
    ports: Sequence[OsPort]
    probes: Sequence[ProbeServer]
    failure: list[BaseException] = field(default_factory=list)

    def openocd(self, script: str, index: int = 0) -> FinishedProgram:
        """Run commands of OpenOCD on a board, from `init` on, to their end."""
        return run_command(self.openocd_command(SERVERS_OFF, script, index), LIMIT_S)

    def openocd_command(self, servers: str, script: str, index: int = 0) -> Command:
        """Return the command that runs `script` on a board, with these ports for gdb and others."""
        target = f"target/{load_debug_port(self.boards[index].name).openocd_target}.cfg"
        return ("openocd", "-c", self.probes[index].adapter, "-c", servers, "-f", target, "-c", script)

    def write_rig(self, path: Path) -> Path:
        """Write the rig file of these boards, as if they were real ones with another probe than an ST-LINK."""
        entries = (
            f"[[board]]\nport = {json.dumps(port.name)}\nopenocd_adapter = {json.dumps(probe.adapter)}\n"
            for port, probe in zip(self.ports, self.probes, strict=True)
        )
        path.write_text("\n".join(entries))
        return path

    def flash(self, elf: Path, index: int = 0) -> FinishedProgram:
        """Flash an ELF file with the commands of the project."""
        port, probe = load_debug_port(self.boards[index].name), ProbeChoice(None, self.probes[index].adapter)
        openocd = PROGRAMMERS[ProgrammerName.OPENOCD]
        (command,) = openocd.flash(port, elf, probe)
        done = run_command(command, LIMIT_S)
        assert done.exit_code or starts_program(openocd, port, probe)
        return done

    def has(self, elf: Path, index: int = 0) -> bool:
        """Whether a board's flash has the contents of an ELF file, and nothing else."""
        return self.contents(index) == load_program(elf).flash_image(self.boards[index], elf)

    def contents(self, index: int = 0) -> bytes:
        """Return the contents of a board's flash."""
        return bytes(self.rig.part(index).machine.emulator.flash)

    def counts(self, elf: Path, index: int = 0) -> bool:
        """Whether a board that is not served any more runs the program COUNTING."""
        address = address_of(elf, "count")
        before = self.rig.read_word(index, address)
        self.rig.run_until(self.rig.time_ps + 10**9)
        return before != self.rig.read_word(index, address)


def address_of(elf: Path, symbol: str) -> int:
    """Return the address of a variable or function."""
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return int(table.get_symbol_by_name(symbol)[0]["st_value"]) & ~1


def need_openocd() -> None:
    if not shutil.which("openocd"):
        pytest.skip("openocd is not installed")


def need_target(name: str) -> None:
    """Skip a test of a board whose part is younger than OpenOCD."""
    target = f"target/{load_debug_port(name).openocd_target}.cfg"
    if subprocess.run(["openocd", "-c", f"find {target}; shutdown"], capture_output=True, check=False).returncode:
        pytest.skip(f"this OpenOCD has no {target}")


@contextmanager
def debugged(folder: Path, *names: str, baud: int = 115200, wires: Sequence[Wire] = ()) -> Iterator[Debugged]:
    """Serve boards with erased flash until the end of the context."""
    boards = [load_board(name) for name in names]
    unflashed = [VirtualBoard(board, None) for board in boards]
    rig = VirtualRig(unflashed, wires, has_ideal_memory=True, is_debuggable=True)
    for index in range(len(boards)):
        rig.set_baud(index, baud)
    stop = Event()
    with ExitStack() as stack:
        ports = [stack.enter_context(closing(Tcp(0))) for _ in boards]
        probes = [stack.enter_context(closing(probe)) for probe in open_probes(rig)]
        shared = stack.enter_context(closing(SharedTime.create(folder / "time", len(boards))))
        served = Debugged(rig, boards, ports, probes)

        def serve() -> None:
            try:
                Server(rig, ports, shared, is_real_time=False, probes=probes).serve(stop.is_set)
            except BaseException as error:  # noqa: BLE001 (for the test)
                served.failure.append(error)

        thread = Thread(target=serve)
        thread.start()
        try:
            yield served
        finally:
            stop.set()
            thread.join()
        assert not served.failure
