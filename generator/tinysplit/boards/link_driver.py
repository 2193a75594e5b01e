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
# link and the host, masked interrupts. Measured on virtual boards (docs/firmware.md, "Rates of links").
_LONGEST_CYCLES = {"cortex-m0plus": 8000, "cortex-m4": 4400, "cortex-m7": 6500}
_FIFO_BYTES = {"stm32h7": 16}  # of UARTs with a FIFO; of other families 8


class LinkDriver(StrEnum):
    """How bytes get from a link's UART to the firmware and back."""

    DMA = "dma"  # ring and chunks in RAM, an interrupt for each half of them and for an idle line
    INTERRUPT = "interrupt"  # an interrupt for every byte, or for half a FIFO
    POLLING = "polling"  # only while the firmware waits: no board computes and transfers at the same time


@dataclass(frozen=True)
class LinkDriving:
    """A driver and its buffers for a link in bytes: the ring that DMA fills, and what is sent, by DMA in two chunks."""

    driver: LinkDriver
    ring_bytes: int
    chunk_bytes: int

    @property
    def polls(self) -> bool:
        """Whether bytes move only while the board waits."""
        return self.driver is LinkDriver.POLLING

    @property
    def buffer_bytes(self) -> int:
        """All buffers of a link."""
        return self.ring_bytes + self.chunk_bytes * (2 if self.driver is LinkDriver.DMA else 1)

    def ram_bytes(self, board: Board, n_links: int) -> int:
        """Return what `n_links` links take of RAM of level 1, without link.c; DMA buffers of an H7 lie elsewhere."""
        is_elsewhere = self.driver is LinkDriver.DMA and board.dma.memory != board.near_memory
        return n_links * (_PORT_BYTES + (0 if is_elsewhere else self.buffer_bytes))

    def highest_baud(self, board: Board, uart: Uart) -> int:
        """Return the rate up to which `uart` of `board` loses no byte.

        The firmware looks at a ring or FIFO when half of it is full: the other half takes what comes meanwhile. Without
        both there is room for one byte.
        """
        if self.driver is LinkDriver.DMA:
            room = self.ring_bytes // 2
        else:
            room = _FIFO_BYTES.get(board.device.family, 8) // 2 if uart.has_fifo else 1
        return room * BITS_PER_BYTE * board.clock.core_hz // _LONGEST_CYCLES[board.device.core]


DRIVINGS = (  # by preference: the last ones where RAM is short
    LinkDriving(LinkDriver.DMA, 256, 128),
    LinkDriving(LinkDriver.DMA, 128, 32),
    LinkDriving(LinkDriver.INTERRUPT, 0, 16),
    LinkDriving(LinkDriver.POLLING, 0, 16),  # only where the user asks for it
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


def possible_drivings(board: Board, uart: Uart, driver: LinkDriver | None, baud: int) -> tuple[LinkDriving, ...]:
    """Return how a link on `uart` of `board` can be driven at `baud`, the best first: by `driver`, None for any."""
    drivers = (driver,) if driver else (LinkDriver.DMA, LinkDriver.INTERRUPT)
    return tuple(each for each in DRIVINGS if each.driver in drivers and each.highest_baud(board, uart) >= baud)


def check_rate(link: str, board: Board, uart: Uart, driver: LinkDriver | None, baud: int) -> None:
    """Raise UsageError unless `uart` of `board` loses no byte of `link`, its name in messages, at `baud`."""
    if possible_drivings(board, uart, driver, baud):
        return
    wanted = driver or LinkDriver.DMA
    highest = usual_driving(wanted).highest_baud(board, uart)
    remedy = f"lower {BAUD}" if wanted is LinkDriver.DMA else f"use {LINK_DRIVER} {LinkDriver.DMA}, or lower {BAUD}"
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
        possible = [each for each in possible if each.driver is not LinkDriver.DMA]
    if not possible:
        names = ", ".join(uart.name for uart in uarts)
        raise UsageError(
            f"{board.name}: the DMA controllers cannot serve {names} at the same time: use {LINK_DRIVER('interrupt')}"
        )
    fitting = (each for each in possible if each.ram_bytes(board, len(uarts)) <= free_ram_bytes)
    return next(fitting, possible[-1])
