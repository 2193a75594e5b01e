"""Libraries of a split network in programs of another shape, on virtual boards, with the applications of a project."""

import shutil
import subprocess
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from programs.firmware_build import FLAGS, LINKING, WARNINGS
from session.compiler_cache import path_in
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.library import write_library
from tinysplit.codegen.platformio_ini import COMPILER, macros
from tinysplit.project.manifest import Project, ProjectBoard

C = Path(__file__).parents[2] / "c"
# Of the firmware: what the start-up code and the clock functions of a CubeMX project do.
_START = ("startup", "clock", "clock_source", "clock_family", "mpu", "mpu_v8", "pins", "uart")
_LINKER_SCRIPT = """
ENTRY(startup_reset)
MEMORY {{
  FLASH (rx) : ORIGIN = {flash.start}, LENGTH = {flash.size_bytes}
  RAM (rwx) : ORIGIN = {ram.start}, LENGTH = {ram.size_bytes}
}}
_estack = ORIGIN(RAM) + LENGTH(RAM);
SECTIONS {{
  .isr : {{ KEEP(*(.isr)) }} > FLASH
  .text : {{ *(.text*) *(.rodata*) }} > FLASH
  .data : {{ . = ALIGN(4); _data = .; *(.data*) . = ALIGN(4); _data_end = .; }} > RAM AT> FLASH
  _data_load = LOADADDR(.data);
  .bss (NOLOAD) : {{ . = ALIGN(4); _bss = .; *(.bss*) *(COMMON) . = ALIGN(4); _bss_end = .; }} > RAM
  .noinit (NOLOAD) : {{ *(.noinit) }} > RAM
{unhandled}
}}
"""


class Programs:
    """Compiles programs with libraries into a copy of a generated folder, in place of the project's own."""

    def __init__(self, project: Project, folder: Path, out: Path) -> None:
        """Copy the folder, and write the libraries beside the copy."""
        self.project, self.out = project, out / "project"
        self.libraries = out / "library"
        shutil.copytree(folder, self.out, ignore=shutil.ignore_patterns(".pio", "*.o", "*.elf"))
        shutil.copyfile(folder.parent / "samples.npz", out / "samples.npz")
        write_library(project, folder, self.libraries)

    def hal(self, *defines: str, numbers: Collection[int] = ()) -> None:
        """Compile programs of CubeMX's shape, over the port to ST's HAL, of all boards or those of these numbers."""
        for each in (board for board in self.project.boards if not numbers or board.number in numbers):
            own = self.out / each.directory
            firmware = own / "lib" / "tinysplit_firmware" / "src"
            start = [*(firmware / f"{name}.c" for name in _START), C / "hal" / "hal.c"]
            port, main = self._port(each, "stm32_hal") / "tinysplit_hal.c", C / "hal" / "board_main.c"
            self._program(each.number, [*start, *_board_files(own)], [port, main], own / "linker.ld", defines)

    def bare(self) -> None:
        """Compile programs with a start-up, a linker script and a main of their own, over the port to registers."""
        for each in self.project.boards:
            own, board = self.out / each.directory, load_board(each.name)
            firmware = own / "lib" / "tinysplit_firmware" / "src"
            port, main = self._port(each, "bare") / "tinysplit_bare.c", C / "bare" / "main.c"
            script = own / "bare.ld"
            script.write_text(_linker_script(board, own / "linker.ld"))
            links = [link for link in self.project.links if each.number in link.boards]
            uarts = [
                next(uart for uart in board.link_uarts if uart.name == link.uart_at(each.number)) for link in links
            ]
            defines = (
                'TINYSPLIT_BARE_DEVICE="device.h"',
                f"BAUD={self.project.baud}u",
                f"UARTS={','.join(uart.name for uart in uarts)}",
                f"INTERRUPTS={','.join(str(uart.irq_position) for uart in uarts)}",
            )
            self._program(each.number, [firmware / "pins.c", *_board_files(own)], [port, main], script, defines)

    def _port(self, board: ProjectBoard, name: str) -> Path:
        return self.libraries / board.directory / "ports" / name

    def _program(
        self, number: int, firmware: Iterable[Path], sources: Sequence[Path], script: Path, defines: Sequence[str]
    ) -> None:
        """Compile files of the firmware, and with the library and the application others; link them."""
        each = self.project.board(number)
        library, own, board = self.libraries / each.directory, self.out / each.directory, load_board(each.name)
        registers = own / "lib" / "tinysplit_firmware" / "src"
        flags = [
            f"-mcpu={board.device.core}",
            *FLAGS,
            *WARNINGS,
            *(f"-D{macro}" for macro in (*macros(board), *defines)),
        ]
        elf = each.elf(self.out)
        elf.parent.mkdir(parents=True)
        includes = (library, sources[0].parent, C / "application", C / "hal", registers)
        objects = [
            *self._compiled(elf.parent, flags, (own / "include", registers, C / "hal"), firmware),
            *self._compiled(
                elf.parent, flags, includes, [*library.glob("*.c"), own / "src" / "application.c", *sources]
            ),
        ]
        link = [*flags, *LINKING, f"-T{script}", "-o", str(elf), *map(str, objects), "-lc", "-lgcc"]
        subprocess.run([COMPILER, *link], check=True)

    def _compiled(
        self, out: Path, flags: Iterable[str], includes: Iterable[Path], sources: Iterable[Path]
    ) -> list[Path]:
        """Compile each file into a folder of `out`, in the folder of all: ccache knows its commands again."""
        folder, objects = self.out.parent, list[Path]()
        for source in sources:
            objects.append(out / source.parent.name / f"{source.stem}.o")  # as linker scripts know code in RAM
            objects[-1].parent.mkdir(exist_ok=True)
            places = (f"-I{path_in(folder, path)}" for path in includes)
            files = (path_in(folder, source), "-o", path_in(folder, objects[-1]))
            subprocess.run([COMPILER, *flags, *places, "-c", *files], cwd=folder, check=True)
        return objects


def _board_files(own: Path) -> tuple[Path, Path]:
    return own / "src" / "board.c", own / "src" / "vectors.c"


def _linker_script(board: Board, generated: Path) -> str:
    """Return the script of a bare program; handlers that nobody has lead to the fault handler, as in `generated`."""
    unhandled = [line for line in generated.read_text().splitlines() if line.strip().startswith("PROVIDE(")]
    return _LINKER_SCRIPT.format(flash=board.device.flash, ram=board.device.largest_ram, unhandled="\n".join(unhandled))
