"""The external memory of a board, from the board's file and that of its family."""

from tinysplit.boards.board import SUPPLY_V, ClockTree, Device
from tinysplit.boards.devices import qspi_pins
from tinysplit.boards.external_memory import ADDRESS_BITS, ExternalMemory, QuadSpi
from tinysplit.boards.family_schema import QuadSpiFacts
from tinysplit.boards.parts import Memory, Pin
from tinysplit.boards.schema import ExternalFlash, QspiPins
from tinysplit.common.errors import InputError
from tinysplit.common.units import MILLI

_MOST_PRESCALER = 256  # RM0351 QUADSPI_CR PRESCALER


def external_memory(
    file: ExternalFlash, facts: QuadSpiFacts | None, device: Device, clock: ClockTree
) -> ExternalMemory:
    """Return the memory that the file of a board describes, with the fastest clock that it allows.

    Raises InputError, which names the key, for a device without QUADSPI, an address or size outside its region, a
    clock that it cannot make, and a pin without the signal.
    """
    if facts is None or not qspi_pins(device.name, "clk"):
        raise InputError(f"external_memory.kind: {device.name} has no QUADSPI (quadspi of {device.family}.toml)")
    controller = QuadSpi(
        facts.base_address,
        facts.max_hz,
        facts.fifo_bytes,
        Memory("quadspi", facts.region_start, facts.region_bytes),
        facts.enable_register,
        facts.enable_bit,
    )
    memory = Memory("external", file.address, file.bytes)
    _check_place(memory, controller.region)
    return ExternalMemory(
        part=file.part,
        memory=memory,
        controller=controller,
        pins=tuple(_pins(file.pins, device)),
        jedec_id=file.jedec_id,
        status=file.status,
        read_command=file.read_command,
        lines=file.lines,
        mode_byte=file.mode_byte,
        dummy_cycles=file.dummy_cycles,
        select_high_cycles=file.select_high_cycles,
        prescaler=_prescaler(file.clock_hz, controller, clock.core_hz // clock.ahb_divider),
        core_cycles=clock.ahb_divider,
        read_w=file.read_ma / MILLI * SUPPLY_V,
        standby_w=file.standby_ma / MILLI * SUPPLY_V,
    )


def _check_place(memory: Memory, region: Memory) -> None:
    if memory.start != region.start:
        raise InputError(
            f"external_memory.address: the QUADSPI maps a flash at 0x{region.start:08x}, not at 0x{memory.start:08x}"
        )
    size = memory.size_bytes
    if size > min(region.size_bytes, 1 << ADDRESS_BITS) or size & (size - 1):
        raise InputError(
            f"external_memory.bytes: {size} is no power of two up to 2^{ADDRESS_BITS} (addresses of 24 bits)"
        )


def _prescaler(clock_hz: int, controller: QuadSpi, ahb_hz: int) -> int:
    """Return by what the clock of AHB is divided for at most `clock_hz`."""
    if clock_hz > controller.max_hz:
        raise InputError(f"external_memory.clock_hz: the QUADSPI makes at most {controller.max_hz} Hz, not {clock_hz}")
    prescaler = -(-ahb_hz // clock_hz)
    if prescaler > _MOST_PRESCALER:
        raise InputError(f"external_memory.clock_hz: {clock_hz} is less than {ahb_hz} Hz / {_MOST_PRESCALER}")
    return prescaler


def _pins(names: QspiPins, device: Device) -> list[Pin]:
    pins = []
    for signal, name in names.model_dump().items():
        candidates = qspi_pins(device.name, signal)
        chosen = next((pin for pin in candidates if pin.name == name), None)
        if chosen is None:
            possible = ", ".join(pin.name for pin in candidates)
            raise InputError(
                f"external_memory.pins.{signal}: {name} does not carry this signal; these pins do: {possible}"
            )
        pins.append(chosen)
    return pins
