"""Boards by name: the file of a board and the data of its device, combined into one Board."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.boards.board import (
    Board,
    ClockSource,
    ClockTree,
    CodeRam,
    Device,
    Dma,
    Interrupt,
    MemoryLevel,
    Power,
    Uart,
)
from tinysplit.boards.board_files import board_name, board_names, board_path, forget, path_of
from tinysplit.boards.clocks import check_limits, clock_tree
from tinysplit.boards.devices import (
    general_purpose_dma,
    load_device,
    load_memory,
    uart_dma,
    uart_pins,
    wait_state_limits,
)
from tinysplit.boards.external_memory import ExternalMemory
from tinysplit.boards.family_schema import BankOption, FamilyFile, MemorySystem
from tinysplit.boards.less_sure import less_sure_json
from tinysplit.boards.listed import ListedBoard, print_less_sure
from tinysplit.boards.memory_system import caches, code_ram, memory_levels
from tinysplit.boards.parts import Memory, Pin
from tinysplit.boards.published import Published
from tinysplit.boards.qspi import external_memory
from tinysplit.boards.schema import (
    BoardFile,
    BusLimits,
    Currents,
    HseInput,
    PllRules,
    UartWiring,
    read_board,
    read_toml,
)
from tinysplit.boards.schema import PublishedTable as PublishedFile
from tinysplit.common import package_files
from tinysplit.common.errors import InputError
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import KB, MILLI

_FIRST_DMA = frozenset(("DMA1", "GPDMA1"))

_SAME_FROM_HSE = ("ahb_divider", "apb1_divider", "apb2_divider", "flash_wait_states")


def load_boards() -> tuple[Board, ...]:
    """Return all boards in the order of their names."""
    return tuple(load_board(name) for name in board_names())


def load_all(names: Sequence[str]) -> tuple[Board, ...]:
    """Return the boards of these names or files. Raises UsageError for an unknown name."""
    return tuple(load_board(name) for name in names)


def load_board(name: str) -> Board:
    """Return the board of a name, in any case, or of the path of a file: `board_files` finds it.

    Raises UsageError with the nearest names if there is none, InputError if the file contradicts the device.
    """
    board = board_name(name)
    try:
        return load_file(board, path_of(board))
    except InputError:
        forget(board)
        raise


def read_board_file(name: str) -> BoardFile:
    """Return what the file of a board says. Raises UsageError for an unknown name, InputError for a mistake."""
    return read_board(board_path(name))


@lru_cache
def load_file(name: str, path: Path) -> Board:
    """Return the board of a file. Raises InputError if the file contradicts the device."""
    file = read_board(path)
    try:
        return make_board(name, file)
    except InputError as error:
        raise InputError(f"{path}: {error.message}") from None


def make_board(name: str, file: BoardFile) -> Board:
    """Return the board that `file` describes. Raises InputError if the file contradicts the device."""
    device = load_device(file.part, file.corrections)
    family = load_family(file.part)
    if line := family.line_of(file.part):
        check_limits(file.part, file.clock, line.clock)
        if file.debug.device_id != line.device_id:
            raise InputError(
                f"debug.device_id is {file.debug.device_id:#x}: {file.part} has {line.device_id:#x} ({line.source})"
            )
    limits = wait_state_limits(file.part, file.corrections)
    pll = file.pll.applied_to(family.pll) if file.pll else family.pll
    clock = clock_tree(pll.fed_by_hsi(), file.clock, device.max_hz, limits)
    levels = memory_levels(memory_system_of(file, family), device, clock)
    fifos = file.fifos or family.fifos
    with_fifo = fifos.uarts if fifos else ()
    return Board(
        name=name,
        title=file.title,
        device=device,
        hsi_clock=clock,
        hse_clock=_hse_clock(file.hse, pll, file.clock, clock, limits) if file.hse else None,
        hse_crystal_us=(file.hse.crystal_us or 0) if file.hse else 0,
        memory_levels=levels,
        caches=caches(family.memory_system, file.caches),
        code_ram=_code_ram(file, family, device),
        external=external_memory(file.external_memory, family.quadspi, device, clock) if file.external_memory else None,
        dma=Dma(family.dma.enable_register, family.dma.mux_enable_bit, _dma_memory(device, levels)),
        known_power=_power(file.power) if file.power else None,
        host_uart=_uart(file.host_uart, device, family, clock, with_fifo),
        link_uarts=tuple(_uart(wiring, device, family, clock, with_fifo) for wiring in file.link_uarts),
        platformio_board=file.platformio_board,
        published=_published(file.published) if file.published else None,
    )


def _hse_clock(
    hse: HseInput, pll: PllRules, limits: BusLimits, hsi: ClockTree, wait_states: tuple[int, ...]
) -> ClockTree:
    """Return the clock tree from HSE. Raises InputError where its dividers or wait states are not those of HSI."""
    clock = clock_tree(pll.fed_by(hse.hz), limits, hse.core_hz or hsi.core_hz, wait_states)
    differing = [name for name in _SAME_FROM_HSE if getattr(clock, name) != getattr(hsi, name)]
    if differing:
        raise InputError(
            f"hse.core_hz is {clock.core_hz}: it needs another {differing[0]} than {hsi.core_hz} Hz of HSI"
        )
    return clock


def wake_us(board: Board) -> int:
    """Return the microseconds from the end of stop mode until the clocks of a board are raised, at most."""
    crystal_us = board.hse_crystal_us if board.clock_source is ClockSource.HSE else 0
    return load_family(board.device.name).stop.wake_us + crystal_us


def flash_banks(file: BoardFile) -> int:
    """Return the number of banks of a board's flash."""
    line = load_family(file.part).line_of(file.part)
    if file.flash:
        return file.flash.banks
    return line.flash_banks if line else 1


def bank_option(file: BoardFile) -> BankOption | None:
    """Return the option bit that makes one bank or two of a board's flash, None if its part has none that is known."""
    line = load_family(file.part).line_of(file.part)
    option = line.bank_option if line else None
    has_it = option and option.flash_kb * KB == load_device(file.part, file.corrections).flash.size_bytes
    return option if has_it else None


def memory_system_of(file: BoardFile, family: FamilyFile) -> MemorySystem:
    """Return the memory system of a board: with one bank in place of two, an access to its flash reads more bytes.

    Raises InputError for banks of a part without such an option bit.
    """
    if file.flash is None:
        return family.memory_system
    option = bank_option(file)
    if option is None:
        raise InputError(
            f"flash.banks: no option bit of {file.part} is known that changes its banks: leave [flash] out"
        )
    if file.flash.banks > 1:
        return family.memory_system
    access = family.memory_system.access_bytes | {"flash": option.one_bank_access_bytes}
    return family.memory_system.model_copy(update={"access_bytes": access})


def load_family(part: str) -> FamilyFile:
    """Return the facts of a part's family. Raises InputError for a family without firmware."""
    family = part[:7]
    if family not in family_names():
        known = ", ".join(family_names())
        raise InputError(f"{part}: there is no firmware for the family {family}, only for {known}")
    return _read_family(_families() / f"{family}.toml")


def family_names() -> list[str]:
    """Return the families with firmware, as parts begin: "stm32g0"."""
    return sorted(path.stem for path in _families().glob("*.toml"))


def _families() -> Path:
    return package_files.boards() / "families"


@lru_cache
def _read_family(path: Path) -> FamilyFile:
    return read_toml(path, FamilyFile)


def _power(file: Currents) -> Power:
    return Power.of(file.run_ma, file.sleep_ma, file.stop_ua)


def _published(file: PublishedFile) -> Published:
    return Published(file.cpm, file.flash_kb * KB, file.ram_kb * KB, file.mhz * 1_000_000)


def _code_ram(file: BoardFile, family: FamilyFile, device: Device) -> CodeRam | None:
    """Return the memory that is also mapped on the code buses, None if the device has none."""
    alias = family.code_alias
    memory = load_memory(file.part, alias.memory, file.corrections) if alias else None
    return code_ram(alias, memory, device) if alias and memory else None


def _dma_memory(device: Device, levels: Sequence[MemoryLevel]) -> Memory:
    """Return the RAM for DMA buffers: that of level 1 if the first DMA reaches it, else its smallest."""
    reached = {level.name: level.level for level in levels if _FIRST_DMA.intersection(level.dma)}
    memories = [memory for memory in device.ram if memory.name in reached]
    return min(memories, key=lambda memory: (reached[memory.name] > 1, memory.size_bytes))


def _uart(wiring: UartWiring, device: Device, family: FamilyFile, clock: ClockTree, with_fifo: Sequence[str]) -> Uart:
    peripheral = family.uarts.get(wiring.name)
    if peripheral is None:
        raise InputError(f"{device.name}: {device.family}.toml does not describe {wiring.name}")
    pins = uart_pins(device.name, wiring.name)
    tx = _pin(device, f"{wiring.name} TX", wiring.tx, pins.tx)
    rx_pins = tuple(pin for pin in pins.rx if pin.suits(tx))
    interrupt = _interrupt(device, wiring.name)
    if requests := family.dma.requests:
        receive_dma, send_dma = (general_purpose_dma(device.name, number) for number in requests[wiring.name])
    else:
        receive_dma, send_dma = (uart_dma(device.name, wiring.name, direction) for direction in ("rx", "tx"))
    return Uart(
        name=wiring.name,
        base_address=peripheral.base_address,
        clock_hz=clock.apb1_hz if peripheral.bus == "apb1" else clock.apb2_hz,
        is_low_power=wiring.name.startswith("LPUART"),
        has_fifo=wiring.name in with_fifo,
        receive_dma=receive_dma,
        send_dma=send_dma,
        irq_position=interrupt.position,
        irq_name=interrupt.name,
        samples_by_8=family.uarts_sample_by_8,
        enable_register=peripheral.enable_register,
        enable_bit=f"RCC_{peripheral.enable_register}_{wiring.name}EN",
        tx=tx,
        rx=_pin(device, f"{wiring.name} RX", wiring.rx, rx_pins),
        connector=wiring.connector,
    )


def _pin(device: Device, signal: str, name: str, candidates: tuple[Pin, ...]) -> Pin:
    for pin in candidates:
        if pin.name == name:
            return pin
    possible = ", ".join(pin.name for pin in candidates) or "none"
    raise InputError(f"{device.name}: {name} does not carry {signal}; these pins do: {possible}")


def _interrupt(device: Device, uart: str) -> Interrupt:
    """Return the interrupt of `uart`, which UARTs may share ("USART3_4_LPUART1" serves USART4, "USART3_8" USART5)."""
    for interrupt in device.interrupts:
        kind, last = "", 0
        for word in interrupt.name.split("_"):
            if not word.isdigit():
                kind = word.rstrip("0123456789")
                last = int(word.removeprefix(kind) or 0) - 1
            first, last = last + 1, int(word) if word.isdigit() else last + 1
            if uart == word or uart in (f"{kind}{number}" for number in range(first, last + 1)):
                return interrupt
    raise InputError(f"{device.name}: no interrupt vector serves {uart}")


def boards_to_json(boards: Iterable[Board]) -> list[dict[str, Any]]:
    """Return the values that `tinysplit boards` prints as JSON: sizes in bytes, frequencies in Hz, power in W."""
    return [
        {
            "name": board.name,
            "title": board.title,
            "part": board.device.name,
            "core": board.device.core,
            "core_hz": board.clock.core_hz,
            "hse_hz": board.hse_hz,
            "flash_wait_states": board.clock.flash_wait_states,
            "flash_bytes": board.device.flash.size_bytes,
            "ram_bytes": board.device.ram_bytes,
            "arena_memory_bytes": board.device.largest_ram.size_bytes,
            "memory_levels": _levels_to_json(board),
            "caches": asdict(board.caches),
            "code_ram": asdict(board.code_ram) if board.code_ram else None,
            "external_memory": _external_to_json(board.external) if board.external else None,
            "power_w": asdict(board.power) if board.known_power else None,
            "published": asdict(board.published) if board.published else None,
            "host_uart": _uart_to_json(board.host_uart),
            "link_uarts": [_uart_to_json(uart) for uart in board.link_uarts],
            "platformio_board": board.platformio_board,
            "sha256": board.sha256,
            **less_sure_json([board]),
        }
        for board in boards
    ]


def _levels_to_json(board: Board) -> list[dict[str, Any]]:
    memories = {memory.name: memory for memory in (*board.device.ram, board.device.flash)}
    return [asdict(memories[level.name]) | asdict(level) for level in board.memory_levels]


def _external_to_json(external: ExternalMemory) -> dict[str, Any]:
    return {
        "part": external.part,
        "start": external.memory.start,
        "size_bytes": external.memory.size_bytes,
        "burst_cycles": external.burst_cycles,
        "byte_cycles": external.byte_cycles,
        "read_w": external.read_w,
        "standby_w": external.standby_w,
    }


def _uart_to_json(uart: Uart) -> dict[str, Any]:
    return {
        "name": uart.name,
        "tx": uart.tx.name,
        "rx": uart.rx.name,
        "clock_hz": uart.clock_hz,
        "connector": uart.connector,
    }


def print_board(board: Board, console: Console) -> None:
    """Print one board, with the pins of its UARTs."""
    listed = ListedBoard.of(board)
    console.print(f"{board.name}: {board.title}, {board.device.name}", highlight=False)
    wait_states = counted(board.clock.flash_wait_states, "wait state")
    clock = f"{listed.short_core} at {board.clock.core_hz / 1e6:g} MHz, {wait_states}"
    sizes = ", ".join(f"{memory.name} {memory.size_bytes // KB} KB" for memory in board.device.ram)
    console.print(f"{clock}; flash {listed.flash_kb} KB; {sizes}", highlight=False)
    if board.known_power:
        power = board.power
        console.print(f"{power.run_w * MILLI:.0f} mW running, {power.idle_w * MILLI:.0f} mW idle", highlight=False)
    table = plain_table("UART", "for", "TX", "RX", "connector")
    for uart in (board.host_uart, *board.link_uarts):
        use = "host" if uart is board.host_uart else "link"
        table.add_row(uart.name, use, uart.tx.name, uart.rx.name, str(uart.connector or ""))
    console.print(table)
    print_less_sure([board], console)
