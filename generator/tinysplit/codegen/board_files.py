"""The files of a project that follow from its board: UARTs and clock, vector table and linker script."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board, Device, Memory, Pin, Uart, check_baud
from tinysplit.common import package_files
from tinysplit.common.templates import render

STACK_BYTES = 2048
FIRMWARE_LIBRARY = Path("lib") / "tinysplit_firmware"
FAULTS = "faults_handler"

# The RCC register that enables the clocks of the GPIO ports (RM0444, RM0090, RM0351 and RM0433, chapter RCC).
_PORT_REGISTERS = {"stm32g0": "IOPENR", "stm32f4": "AHB1ENR", "stm32l4": "AHB2ENR", "stm32h7": "AHB4ENR"}

# Vectors 2 to 15 (Arm DDI 0403, B1.5.2).
_CORE_EXCEPTIONS = (
    *("NMI", "HardFault", "MemManage", "BusFault", "UsageFault"),
    *("reserved",) * 4,
    *("SVCall", "DebugMonitor", "reserved", "PendSV", "SysTick"),
)


Handlers = Sequence[tuple[str, Sequence[str]]]  # interrupt names, each with the C expressions of its UARTs


@dataclass(frozen=True)
class BoardContext:
    """The names of `board/board.c.j2`."""

    board: Board
    core_mhz: str
    host: Uart
    host_baud: int
    links: Sequence[tuple[Uart, int]]
    uarts: Sequence[Uart]
    pins: Sequence[Pin]
    ports: Sequence[str]
    port_register: str
    handlers: Handlers


@dataclass(frozen=True)
class Vector:
    """An entry of the vector table; the position counts from 0 after the entries of the core."""

    name: str
    handler: str
    position: int | None = None


@dataclass(frozen=True)
class VectorsContext:
    """The names of `board/vectors.c.j2`; `handlers` are the names of the interrupts that are used."""

    device: Device
    handlers: Sequence[str]
    core_entries: Sequence[Vector]
    entries: Sequence[Vector]


@dataclass(frozen=True)
class LinkerScriptContext:
    """The names of `board/linker.ld.j2`: memories, and the smallest stack in bytes."""

    board: Board
    device: Device
    flash: str
    ram: Memory
    arena: Memory
    stack_bytes: int


def render_board_files(
    board: Board, links: Sequence[tuple[Uart, int]], host_baud: int, arena: Memory
) -> dict[str, str]:
    """Return the text of every file by its path in the project.

    `links` are the link UARTs with their baud rates, in the order of the link indices in network.c; `arena` is the
    memory of the arena.

    Raises UsageError when the nearest possible baud rate of a UART is off by more than 2 %.
    """
    check_baud(board, board.host_uart, host_baud)
    for link, baud in links:
        check_baud(board, link, baud)
    handlers = _handlers(board, [link for link, _ in links])
    return {
        "src/board.c": _board_source(board, links, handlers, host_baud),
        "src/vectors.c": _vectors_source(board.device, [name for name, _ in handlers]),
        "linker.ld": _linker_script(board, arena),
    }


def write_project_files(folder: Path, board: Board, texts: Mapping[str, str]) -> None:
    """Write the project of `board` into `folder`: `texts` by their paths in it, and the firmware as a library."""
    for name, text in texts.items():
        _with_parent(folder / name).write_text(text, encoding="utf-8")
    for name, source in firmware_sources(board):
        shutil.copyfile(source, _with_parent(folder / FIRMWARE_LIBRARY / name))


def _with_parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def firmware_sources(board: Board) -> list[tuple[str, Path]]:
    """Return the files of the firmware library of the board's project: path in the library and file to copy."""
    folder = package_files.firmware()
    sources = [*folder.glob("common/*.[ch]"), *folder.glob(f"{board.device.family}/*.[ch]")]
    return [("library.json", folder / "library.json"), *((f"src/{file.name}", file) for file in sorted(sources))]


def _handlers(board: Board, links: Sequence[Uart]) -> Handlers:
    """Return the name of each used interrupt with the C expressions of the UARTs that share it."""
    instances = [(board.host_uart, "board_host_uart")]
    instances += [(link, f"board_link_uarts[{index}]") for index, link in enumerate(links)]
    handlers: dict[str, list[str]] = {}
    for uart, instance in instances:
        handlers.setdefault(uart.irq_name, []).append(instance)
    return list(handlers.items())


def _board_source(board: Board, links: Sequence[tuple[Uart, int]], handlers: Handlers, host_baud: int) -> str:
    uarts = (board.host_uart, *(link for link, _ in links))
    pins = [pin for uart in uarts for pin in (uart.tx, uart.rx)]
    source = BoardContext(
        board=board,
        core_mhz=f"{board.clock.core_hz / 1e6:g}",
        host=board.host_uart,
        host_baud=host_baud,
        links=links,
        uarts=uarts,
        pins=pins,
        ports=sorted({pin.port for pin in pins}),
        port_register=_PORT_REGISTERS[board.device.family],
        handlers=handlers,
    )
    return render("board/board.c.j2", source)


def _vectors_source(device: Device, handlers: Sequence[str]) -> str:
    names = {interrupt.position: interrupt.name for interrupt in device.interrupts}
    core_entries = [Vector(name, "SysTick_Handler" if name == "SysTick" else FAULTS) for name in _CORE_EXCEPTIONS]
    entries = [
        Vector(
            name=names.get(position, "reserved"),
            handler=f"{names[position]}_IRQHandler" if names.get(position) in handlers else FAULTS,
            position=position,
        )
        for position in range(max(names) + 1)
    ]
    return render("board/vectors.c.j2", VectorsContext(device, handlers, core_entries, entries))


def _linker_script(board: Board, arena: Memory) -> str:
    source = LinkerScriptContext(
        board=board,
        device=board.device,
        flash=board.device.flash.name,
        ram=board.near_memory,
        arena=arena,
        stack_bytes=STACK_BYTES,
    )
    return render("board/linker.ld.j2", source)
