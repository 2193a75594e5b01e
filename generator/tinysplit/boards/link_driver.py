"""How the firmware drives the links of a board: choice of the driver, its DMA channels, and its memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinysplit.boards.board import Board, DmaChannel, Uart
from tinysplit.common.errors import UsageError
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.settings.boards_and_links import BAUD, LINK_DRIVER

_PORT_BYTES = 36  # RAM for each link beside the buffers: uart_link_t

# The longest time in cycles for which a core leaves alone what a link has received, on a clean line: handlers of the
# link and the host, masked interrupts. Measured on virtual boards (docs/understand/firmware.md, "Rates of links");
# those of Cortex-M0 are a tenth more than those of the M0+, that of Cortex-M3 is assumed.
_LONGEST_CYCLES = {
    "cortex-m0": 8800,
    "cortex-m0plus": 8000,
    "cortex-m3": 5000,
    "cortex-m4": 4400,
    "cortex-m7": 6500,
    "cortex-m33": 4400,
}
_FIFO_BYTES = {"stm32h7": 16}  # of UARTs with a FIFO; of other families 8


class LinkDriver(StrEnum):
    """How bytes get from a link's UART to the firmware and back; `uart_link_driver_t` in C."""

    DMA = "dma"
    INTERRUPT = "interrupt"
    POLLING = "polling"

    @property
    def facts(self) -> "DriverFacts":
        """What the tool knows of it."""
        return _FACTS[self]


@dataclass(frozen=True, kw_only=True)
class DriverFacts:
    """A link driver: its C, and how it moves bytes.

    With `uses_dma` there are a ring and two chunks in RAM, and an interrupt for each half of them and for an idle line.
    One that `polls` moves bytes only while the firmware waits, so that no board computes and transfers at the same
    time; it is there only where the user asks for it. Others take an interrupt for every byte, or for half a FIFO.

    `buffers` are ring and chunk in bytes, the smaller ones for boards whose RAM is short; at `calibration_baud` links
    are measured, or what both boards keep up with.
    """

    source: str  # in firmware/common/
    buffers: tuple[tuple[int, int], ...]
    calibration_baud: int
    uses_dma: bool = False
    polls: bool = False

    @property
    def has_byte_interrupts(self) -> bool:
        """Whether the core is interrupted for bytes, not for what DMA has moved."""
        return not (self.uses_dma or self.polls)

    def hears_bytes(self, uart: Uart) -> bool:
        """Whether each byte that `uart` receives is handed over at once, by an interrupt."""
        return self.has_byte_interrupts and not uart.has_fifo


# By preference.
_FACTS = {
    LinkDriver.DMA: DriverFacts(
        source="uart_link_dma.c", buffers=((256, 128), (128, 32)), calibration_baud=4_000_000, uses_dma=True
    ),
    LinkDriver.INTERRUPT: DriverFacts(source="uart_link_bytes.c", buffers=((0, 16),), calibration_baud=115_200),
    LinkDriver.POLLING: DriverFacts(
        source="uart_link_bytes.c", buffers=((0, 16),), calibration_baud=57_600, polls=True
    ),
}
OVERLAPPING = tuple(driver for driver, facts in _FACTS.items() if not facts.polls)  # with computing
USUAL_DRIVER = OVERLAPPING[0]


@dataclass(frozen=True)
class LinkDriving:
    """A driver and its buffers for a link in bytes: the ring that DMA fills, and what is sent, by DMA in two chunks."""

    driver: LinkDriver
    ring_bytes: int
    chunk_bytes: int

    @property
    def polls(self) -> bool:
        """Whether bytes move only while the board waits."""
        return self.driver.facts.polls

    @property
    def buffer_bytes(self) -> int:
        """All buffers of a link."""
        return self.ring_bytes + self.chunk_bytes * (2 if self.driver.facts.uses_dma else 1)

    def ram_bytes(self, board: Board, n_links: int) -> int:
        """Return what `n_links` links take of RAM of level 1, without link.c; DMA buffers of an H7 lie elsewhere."""
        is_elsewhere = self.driver.facts.uses_dma and board.dma.memory != board.near_memory
        return n_links * (_PORT_BYTES + (0 if is_elsewhere else self.buffer_bytes))

    def look_bytes(self, board: Board, uart: Uart) -> int:
        """Return how many bytes arrive before the firmware looks at a ring or FIFO, which is half full then."""
        return (self.ring_bytes if self.driver.facts.uses_dma else room_bytes(board, uart)) // 2

    def highest_baud(self, board: Board, uart: Uart) -> int:
        """Return the rate up to which `uart` of `board` loses no byte.

        The other half of the ring or FIFO takes what comes when the firmware looks. Without both there is room for one
        byte.
        """
        return (
            max(1, self.look_bytes(board, uart))
            * BITS_PER_BYTE
            * board.clock.core_hz
            // _LONGEST_CYCLES[board.device.core]
        )


def room_bytes(board: Board, uart: Uart) -> int:
    """Return the bytes that a UART keeps until the core takes them."""
    return _FIFO_BYTES.get(board.device.family, 8) if uart.has_fifo else 1


DRIVINGS = tuple(  # by preference: the last ones where RAM is short
    LinkDriving(driver, ring_bytes, chunk_bytes)
    for driver, facts in _FACTS.items()
    for ring_bytes, chunk_bytes in facts.buffers
)


@dataclass(frozen=True)
class LinkChannels:
    """The DMA channels of a link."""

    receive: DmaChannel
    send: DmaChannel


def dma_channels(uarts: Sequence[Uart]) -> tuple[LinkChannels, ...] | None:
    """Return DMA channels for all `uarts` of a board, none of them twice; None if that cannot be."""
    channels = next(
        _assignments([candidates for uart in uarts for candidates in (uart.receive_dma, uart.send_dma)]), None
    )
    if channels is None:
        return None
    return tuple(LinkChannels(*pair) for pair in zip(channels[::2], channels[1::2], strict=True))


def _assignments(wanted: Sequence[Sequence[DmaChannel]]) -> Iterator[tuple[DmaChannel, ...]]:
    """Yield every choice of one channel from each of `wanted`, all of them different."""
    if not wanted:
        yield ()
        return
    for first in wanted[0]:
        rest = [[channel for channel in each if channel.name != first.name] for each in wanted[1:]]
        yield from ((first, *others) for others in _assignments(rest))


def usual_driving(driver: LinkDriver) -> LinkDriving:
    """Return how `driver` drives a link where RAM is not short."""
    return next(each for each in DRIVINGS if each.driver is driver)


def mean_look_bytes(driver: LinkDriver, board: Board, uart: Uart) -> int:
    """Return how many bytes arrive, on average, until a core that computes looks at them."""
    looks_at_once = driver.facts.polls or driver.facts.hears_bytes(uart)
    return 0 if looks_at_once else usual_driving(driver).look_bytes(board, uart) // 2


def possible_drivings(board: Board, uart: Uart, driver: LinkDriver | None, baud: int) -> tuple[LinkDriving, ...]:
    """Return how a link on `uart` of `board` can be driven at `baud`, the best first: by `driver`, None for any."""
    drivers = (driver,) if driver else OVERLAPPING
    return tuple(each for each in DRIVINGS if each.driver in drivers and each.highest_baud(board, uart) >= baud)


def check_rate(link: str, board: Board, uart: Uart, driver: LinkDriver | None, baud: int) -> None:
    """Raise UsageError unless `uart` of `board` loses no byte of `link`, its name in messages, at `baud`."""
    if possible_drivings(board, uart, driver, baud):
        return
    wanted = driver or USUAL_DRIVER
    highest = usual_driving(wanted).highest_baud(board, uart)
    remedy = f"lower {BAUD}" if wanted is USUAL_DRIVER else f"use {LINK_DRIVER} {USUAL_DRIVER}, or lower {BAUD}"
    raise UsageError(
        f"{link}: {board.name} would lose bytes at {baud} baud with the link driver {wanted}, which keeps up to"
        f" {highest} baud: {remedy}"
    )


def choose_driver(
    board: Board, links: Sequence[tuple[Uart, int]], requested: LinkDriver | None, free_ram_bytes: int
) -> LinkDriving:
    """Return how all links of `board`, given with their baud rates, are driven: the best that fits, else the smallest.

    `free_ram_bytes` is what the rest of the firmware and the arena leave of the RAM of level 1.

    Raises UsageError where no driver keeps up with the links, or DMA has to and two links need the same channel.
    """
    uarts = [uart for uart, _ in links]
    for uart, baud in links:
        check_rate(uart.name, board, uart, requested, baud)
    of_links = [possible_drivings(board, uart, requested, baud) for uart, baud in links]
    possible = [each for each in DRIVINGS if all(each in own for own in of_links)]
    if dma_channels(uarts) is None:
        possible = [each for each in possible if not each.driver.facts.uses_dma]
    if not possible:
        names = ", ".join(uart.name for uart in uarts)
        raise UsageError(
            f"{board.name}: the DMA controllers cannot serve {names} at the same time: use {LINK_DRIVER('interrupt')}"
        )
    fitting = (each for each in possible if each.ram_bytes(board, len(uarts)) <= free_ram_bytes)
    return next(fitting, possible[-1])
