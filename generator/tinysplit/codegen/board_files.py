"""The files of a project that follow from its board: UARTs and clock, vector table and linker script."""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board, CodeRam, Device, DmaChannel, Uart, check_baud
from tinysplit.boards.catalog import load_family
from tinysplit.boards.external_memory import ExternalMemory
from tinysplit.boards.flash_sectors import FlashSlots
from tinysplit.boards.link_driver import LinkChannels, LinkDriver, LinkDriving, dma_channels
from tinysplit.boards.marker_pins import MarkerPins
from tinysplit.boards.parts import Memory, Pin
from tinysplit.codegen.board_firmware import BoardFirmware
from tinysplit.common import package_files
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.templates import render
from tinysplit.memory.code_in_ram import RamCode
from tinysplit.plan.wake_up import WakeUp
from tinysplit.project.chip_parts import FirmwarePart

STACK_BYTES = 1792  # that the program can use
SPARE_STACK_BYTES = 256  # of the fault handler, when the stack has overflowed: a region of the MPU (mpu.c)
FIRMWARE_LIBRARY = Path("lib") / "tinysplit_firmware"
FAULTS = "faults_handler"
_APPLICATION = "application_"  # before names of handlers: ST's start-up file has the others as weak symbols
# Generated layers, or pieces of a board report, and what layers share; CMake calls objects *.obj.
_LAYER_OBJECTS = ("*/layer_*.o*", "*/dsp_*.o*")

# Vectors 2 to 15 (Arm DDI 0403, B1.5.2).
_CORE_EXCEPTIONS = (
    *("NMI", "HardFault", "MemManage", "BusFault", "UsageFault"),
    *("reserved",) * 4,
    *("SVCall", "DebugMonitor", "reserved", "PendSV", "SysTick"),
)


Handlers = Sequence[tuple[str, Sequence[str]]]  # interrupt names, each with the C calls of its handler


@dataclass(frozen=True)
class LinkPort:
    """A link UART; `dma` None unless the DMA serves it."""

    uart: Uart
    baud: int
    dma: LinkChannels | None

    @property
    def channels(self) -> tuple[DmaChannel, ...]:
        """The DMA channels, if any."""
        return (self.dma.receive, self.dma.send) if self.dma else ()


@dataclass(frozen=True)
class BoardContext:
    """The names of `board/board.c.j2`."""

    board: Board
    core_mhz: str
    host: Uart
    host_baud: int
    links: Sequence[LinkPort]
    driving: LinkDriving  # without links, it does not matter
    external: ExternalMemory | None  # that has weights
    dma_section: str  # of the buffers, "" where the other variables are in reach of the DMA, too
    dma_enable_bits: Sequence[str]
    dma_requests: Sequence[tuple[str, str]]  # registers and the values that connect UARTs to channels
    uarts: Sequence[Uart]
    pins: Sequence[Pin]
    ports: Sequence[str]
    port_register: str
    handlers: Handlers
    markers: MarkerPins | None
    wake_up: WakeUp | None


HOST_PRIORITY, LINK_PRIORITY = 1, 2  # of interrupts: uart.h


@dataclass(frozen=True)
class Vector:
    """An entry of the vector table; the position counts from 0 after the entries of the core."""

    name: str
    handler: str
    position: int | None = None


@dataclass(frozen=True)
class VectorsContext:
    """The names of `board/vectors.c.j2`: handlers of the core's exceptions, and those of all interrupts."""

    device: Device
    core_handlers: Sequence[str]
    handlers: Sequence[str]
    core_entries: Sequence[Vector]
    entries: Sequence[Vector]


@dataclass(frozen=True)
class LinkerScriptContext:
    """The names of `board/linker.ld.j2`: memories, and the smallest stack in bytes.

    `dma_memory` is a memory for the section `.dma`, None if there is none; `external` is a memory for the constants of
    `external_layers`, `code_ram` that for the code of `ram_objects`, None if all stays in flash, and `weights` the
    slots of the configuration file, if there is one. `flash_weights` are the input sections of constants that stay in
    flash; of the others the start-up code copies `resident_weights`, behind variables, and the rest to `far_ram`.
    """

    board: Board
    device: Device
    flash: str
    ram: Memory
    arena: Memory
    kept: Memory  # of decrypted weights
    dma_memory: Memory | None
    external: Memory | None
    external_layers: Sequence[int]  # numbers from 1
    flash_weights: str
    resident_weights: str
    far_ram: Memory | None
    code_ram: CodeRam | None
    ram_objects: str
    weights: FlashSlots | None
    unhandled: Sequence[str]  # handlers that only the application may have
    stack_bytes: int
    spare_stack_bytes: int


def render_board_files(firmware: BoardFirmware) -> dict[str, str]:
    """Return the text of every file by its path in the project.

    Raises UsageError when the nearest possible baud rate of a UART is off by more than 2 %.
    """
    board = firmware.board
    check_baud(board, board.host_uart, firmware.host_baud)
    for link, baud in firmware.links:
        check_baud(board, link, baud)
    ports = _link_ports(firmware)
    handlers = _handlers(firmware, ports)
    texts = {
        "src/board.c": _board_source(firmware, ports, handlers),
        "src/vectors.c": _vectors_source(firmware, [name for name, _ in handlers]),
        "linker.ld": _linker_script(firmware, ports, [name for name, _ in handlers]),
    }
    if firmware.markers:
        texts["include/markers_pins.h"] = render("board/markers_pins.h.j2", firmware.markers)
    return texts


def firmware_parts(firmware: BoardFirmware) -> Iterator[FirmwarePart]:
    """Yield what of the microcontroller the firmware has for itself."""
    board, is_linked, host = firmware.board, not firmware.driving.polls, firmware.board.host_uart
    yield FirmwarePart(name="SysTick", note="the lowest priority")
    for counter in load_family(board.device.name).cycle_timers:
        yield FirmwarePart(name=counter, note="counts cycles")
    yield FirmwarePart(name="IWDG")
    yield FirmwarePart(name="MPU")
    if firmware.weights:
        yield FirmwarePart(name="CRC", note="checks weights")
    pins = (host.tx.name, host.rx.name)
    yield FirmwarePart(name=host.name, pins=pins, interrupts=(host.irq_name,), priority=HOST_PRIORITY)
    for port in _link_ports(firmware):
        uart, channels = port.uart, [channel.name for channel in port.channels]
        names = [*(channel.irq_name for channel in port.channels), *([uart.irq_name] if is_linked else [])]
        yield FirmwarePart(
            name=uart.name,
            pins=(uart.tx.name, uart.rx.name),
            dma_channels=tuple(channels),
            interrupts=tuple(dict.fromkeys(names)),
            priority=LINK_PRIORITY if names else None,
        )
    if firmware.external_layers and board.external:
        yield FirmwarePart(name=f"the external memory {board.external.part}", note="with its controller")
    if wake_up := firmware.wake_up:
        yield FirmwarePart(name="RTC", note="on LSI: its wake-up timer ends stop mode")
        for pin in wake_up.pins:
            yield FirmwarePart(name=f"EXTI{pin.number}", note=f"{pin.name} ends stop mode")
    if firmware.markers:
        yield FirmwarePart(name="markers", pins=(str(firmware.markers.layer), str(firmware.markers.transfer)))


def _link_ports(firmware: BoardFirmware) -> list[LinkPort]:
    """Return the links with their DMA channels, which `choose_driver` has found to exist."""
    is_dma = firmware.driving.driver.facts.uses_dma
    channels = dma_channels([uart for uart, _ in firmware.links]) if is_dma else None
    return [
        LinkPort(uart, baud, channels[index] if channels else None) for index, (uart, baud) in enumerate(firmware.links)
    ]


def write_files(folder: Path, texts: Mapping[str, str], sources: Iterable[tuple[str, Path]]) -> None:
    """Write `texts` by their paths in `folder`, and copies of `sources` by their paths in the firmware library."""
    for name, text in texts.items():
        _with_parent(folder / name).write_text(text, encoding="utf-8")
    for name, source in sources:
        shutil.copyfile(source, _with_parent(folder / FIRMWARE_LIBRARY / name))


def _with_parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


_DRIVER_SOURCES = {driver: driver.facts.source for driver in LinkDriver}


_TRANSFERS = {"transfers.c", "transfers_status.c"}
LINK_SOURCES = ("link", "uart_link", "network_links", "row_stream")
_HOST_SOURCES = {
    HostProtocol.TINYSPLIT: {
        *("host.c", "host_diagnostics.c", "host_events.c", "host_queue.c", "host_send.c", "host_weights.c"),
        "frames.c",
    },
    HostProtocol.MLPERF: {
        *("mlperf_events.c", "mlperf_events.h", "mlperf_host.c", "mlperf_infer.c", "mlperf_infer.h"),
        *("mlperf_input.c", "mlperf_input.h", "mlperf_results.c", "mlperf_results.h", "mlperf_settings.h"),
        *("text_out.c", "text_out.h"),
    },
}

_STANDALONE_SOURCES = {"standalone.c", "own_input.c", "host_standalone.c"}
_STOP_SOURCES = {"idle_stop.c", "stop_mode.c"}

# Modules that a program may lack: what they consist of, and what then has no use. `no_<module>.c` takes their place.
_OPTIONAL_SOURCES = {
    "external_memory": {"external_memory.c"},
    "weights_file": {"weights_file.c", "host_weights.c", "crc_unit.c", "flash_errors.c"},
    "weights_update": {"weights_update.c", "flash_family.c", "flash_half_words.c", "flash_pages.c"},
    "weights_key": {"weights_key.c", "gcm.c", "aes.c"},
    "weights_signature": {"weights_signature.c", "ed25519.c", "sha512.c"},
}


def firmware_sources(firmware: BoardFirmware) -> list[tuple[str, Path]]:
    """Return the files of the firmware library of the board's project: path in the library and file to copy.

    Of the drivers of links only that of the board is there, of the protocols with a host only its own; without links
    nothing of links is. What takes a new configuration file is there only where the sectors of its slots are alike.
    """
    folder, driver, weights = package_files.firmware(), firmware.driver, firmware.weights
    sources = [*folder.glob("common/*.[ch]"), *folder.glob(f"{firmware.board.device.family}/*.[ch]")]
    unused = {*_DRIVER_SOURCES.values(), "no_transfers.c"} - {_DRIVER_SOURCES[driver]} if driver else _TRANSFERS
    unused = unused.union(*_HOST_SOURCES.values()) - _HOST_SOURCES[firmware.host]
    unused |= set() if firmware.has_diagnostics else {"host_diagnostics.c"}
    unused |= set() if firmware.is_standalone else _STANDALONE_SOURCES
    unused |= set() if firmware.wake_up else _STOP_SOURCES
    is_updatable = bool(weights and weights.slots.sector_bytes) and firmware.host is HostProtocol.TINYSPLIT
    has = {
        "external_memory": bool(firmware.external_layers),
        "weights_file": weights is not None,
        "weights_update": is_updatable,
        "weights_key": bool(weights and weights.key),
        "weights_signature": is_updatable and bool(weights and weights.signer),
    }
    for module, files in _OPTIONAL_SOURCES.items():
        unused |= {f"no_{module}.c"} if has[module] else files
    used = [
        file
        for file in sorted(sources)
        if file.name not in unused and (driver or not file.name.startswith(LINK_SOURCES))
    ]
    whole = [("library.json", folder / "library.json"), ("LICENSE", package_files.licence())]
    return [*whole, *((f"src/{file.name}", file) for file in used)]


# What takes part in the transfers of a network: wiring.c stands in its place.
_TRANSFER_SOURCES = (
    "transfers.c",
    "link.c",
    "link_in",
    "link_out",
    "link_peer",
    "link_parts",
    "link_speak",
    "link_work",
    "row_stream",
)


def wiring_test_sources(firmware: BoardFirmware) -> list[tuple[str, Path]]:
    """Return the files of the firmware library of a wiring test: path in the library and file to copy."""
    wiring = package_files.firmware() / "wiring"
    used = (each for each in firmware_sources(firmware) if not each[1].name.startswith(_TRANSFER_SOURCES))
    return [*used, *((f"src/{path.name}", path) for path in sorted(wiring.glob("*.[ch]")))]


def report_sources(firmware: BoardFirmware) -> list[tuple[str, Path]]:
    """Return the files of the firmware library of a board report: path in the library and file to copy."""
    report = package_files.firmware() / "report"
    return [*firmware_sources(firmware), *((f"src/{path.name}", path) for path in sorted(report.glob("*.[ch]")))]


def _handlers(firmware: BoardFirmware, links: Sequence[LinkPort]) -> Handlers:
    """Return the name of each used interrupt with the C calls for the UARTs and DMA channels that share it."""
    handlers: dict[str, list[str]] = {firmware.board.host_uart.irq_name: ["host_interrupt()"]}
    for index, link in enumerate(links):
        call = f"transfers_interrupt({index})"
        names = [*(channel.irq_name for channel in link.channels), link.uart.irq_name]
        for name in dict.fromkeys(names):
            handlers.setdefault(name, []).append(call)
    return list(handlers.items())


def dma_request(channel: DmaChannel) -> tuple[str, str] | None:
    """Return the register and the value that connect a channel to its UART, outside of the channel's own registers."""
    if channel.mux_channel is not None:
        return f"DMAMUX1_Channel{channel.mux_channel}->CCR", f"{channel.request}u"
    if channel.selects_request or channel.is_stream or channel.request is None:
        return None
    return f"DMA{channel.controller}_CSELR->CSELR", f"{channel.request}u << {4 * channel.index}u"


def dma_enable_bits(board: Board, channels: Sequence[DmaChannel]) -> list[str]:
    """Return the bits of the board's DMA register in RCC that switch the controllers of channels on."""
    register = board.dma.enable_register
    bits = [f"RCC_{register}_{name}EN" for name in sorted({each.controller_name for each in channels})]
    has_mux = any(channel.mux_channel is not None for channel in channels)
    return [*bits, board.dma.mux_enable_bit] if has_mux and board.dma.mux_enable_bit else bits


def _board_source(firmware: BoardFirmware, links: Sequence[LinkPort], handlers: Handlers) -> str:
    board, markers = firmware.board, firmware.markers
    external = board.external if firmware.external_layers else None
    uarts = (board.host_uart, *(link.uart for link in links))
    channels = [channel for link in links for channel in link.channels]
    pins = [*(pin for uart in uarts for pin in (uart.tx, uart.rx)), *(external.pins if external else ())]
    source = BoardContext(
        board=board,
        core_mhz=f"{board.clock.core_hz / 1e6:g}",
        host=board.host_uart,
        host_baud=firmware.host_baud,
        links=links,
        driving=firmware.driving,
        external=external,
        dma_section=".dma" if board.dma.memory != board.near_memory else "",
        dma_enable_bits=dma_enable_bits(board, channels),
        dma_requests=[request for channel in channels if (request := dma_request(channel))],
        uarts=uarts,
        pins=pins,
        ports=sorted({pin.port for pin in pins} | (set(markers.ports) if markers else set())),
        port_register=load_family(board.device.name).gpio_enable_register,
        handlers=handlers,
        markers=markers,
        wake_up=firmware.wake_up,
    )
    return render("board/board.c.j2", source)


def _handler(interrupt: str, own: Collection[str]) -> str:
    """Return the handler of an interrupt: of those that are not the firmware's `own`, the application may have one."""
    return f"{interrupt}_IRQHandler" if interrupt in own else f"{_APPLICATION}{interrupt}_IRQHandler"


def _vectors_source(firmware: BoardFirmware, handlers: Collection[str]) -> str:
    device = firmware.board.device
    names = {interrupt.position: interrupt.name for interrupt in device.interrupts}
    own = {"SysTick": "SysTick_Handler"}
    if firmware.weights and load_family(device.name).has_flash_error_nmi:  # flash_errors.c
        own["NMI"] = "NMI_Handler"
    core_entries = [Vector(name, own.get(name, FAULTS)) for name in _CORE_EXCEPTIONS]
    entries = [
        Vector(
            name=names.get(position, "reserved"),
            handler=_handler(names[position], handlers) if position in names else FAULTS,
            position=position,
        )
        for position in range(max(names) + 1)
    ]
    every = [_handler(names[position], handlers) for position in sorted(names)]
    return render("board/vectors.c.j2", VectorsContext(device, sorted(own.values()), every, core_entries, entries))


def _objects_of(layers: Collection[int]) -> str:
    """Return the names of the object files of layers, from 0."""
    return " ".join(f"*/layer_{number + 1:02}_*.o*" for number in sorted(layers))


def _weights_but(layers: Collection[int]) -> str:
    """Return the input sections of the constants of all layers but these."""
    excluded = f"EXCLUDE_FILE({_objects_of(layers)}) " if layers else ""
    return f"*({excluded}.weights {excluded}.weights.*)"


def _linker_script(firmware: BoardFirmware, links: Sequence[LinkPort], handled: Collection[str]) -> str:
    board, code = firmware.board, firmware.code
    has_dma_section = any(link.dma for link in links) and board.dma.memory != board.near_memory
    source = LinkerScriptContext(
        board=board,
        device=board.device,
        flash=board.device.flash.name,
        ram=board.near_memory,
        arena=firmware.arena,
        kept=firmware.kept or firmware.arena,
        dma_memory=board.dma.memory if has_dma_section else None,
        external=board.external.memory if board.external and firmware.external_layers else None,
        external_layers=[number + 1 for number in sorted(firmware.external_layers)],
        flash_weights=_weights_but((*firmware.resident_layers, *firmware.far_layers)),
        resident_weights=_weights_but(firmware.far_layers) if firmware.resident_layers else "",
        far_ram=firmware.far_ram if firmware.far_layers else None,
        code_ram=None if code.in_ram is RamCode.NONE else board.code_ram,
        ram_objects=_objects_of(code.layers) or " ".join(_LAYER_OBJECTS),
        weights=firmware.weights.slots if firmware.weights else None,
        unhandled=[_handler(each.name, handled) for each in board.device.interrupts if each.name not in handled],
        stack_bytes=STACK_BYTES,
        spare_stack_bytes=SPARE_STACK_BYTES,
    )
    return render("board/linker.ld.j2", source)
