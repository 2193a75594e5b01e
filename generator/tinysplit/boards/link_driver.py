"""How the firmware drives the links of a board: choice of the driver, its DMA channels, and its memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinysplit.boards.board import Board, DmaChannel, Uart
from tinysplit.common.errors import UsageError

RING_BYTES = 256
DMA_CHUNK_BYTES = 128  # of two in turn
CHUNK_BYTES = 16  # of the other drivers: at most the FIFO of an H7

# Flash in bytes, measured with GCC 12 and the flags of a project, the larger of all cores: the driver itself, and what
# board.c has for each link (settings, DMA channels, handlers, and the initial values of its port).
_DMA_FLASH = (804, 132)
_BYTES_FLASH = (516, 76)
_PORT_BYTES = 36  # RAM for each link beside the buffers: uart_link_t


class LinkDriver(StrEnum):
    """How bytes get from a link's UART to the firmware and back."""

    DMA = "dma"  # ring and chunks in RAM, an interrupt for each half of them and for an idle line
    INTERRUPT = "interrupt"  # an interrupt for every byte, or for half a FIFO
    POLLING = "polling"  # only while the firmware waits: no board computes and transfers at the same time


@dataclass(frozen=True)
class LinkChannels:
    """The DMA channels of a link."""

    receive: DmaChannel
    send: DmaChannel


def dma_channels(uarts: Sequence[Uart]) -> tuple[LinkChannels, ...] | None:
    """Return DMA channels for all `uarts` of a board, none of them twice; None if that cannot be."""
    found = next(_assignments([candidates for uart in uarts for candidates in (uart.receive_dma, uart.send_dma)]), None)
    if found is None:
        return None
    return tuple(LinkChannels(*pair) for pair in zip(found[::2], found[1::2], strict=True))


def _assignments(wanted: Sequence[Sequence[DmaChannel]]) -> Iterator[tuple[DmaChannel, ...]]:
    """Yield every choice of one channel from each of `wanted`, all of them different."""
    if not wanted:
        yield ()
        return
    for first in wanted[0]:
        rest = [[channel for channel in each if channel.name != first.name] for each in wanted[1:]]
        yield from ((first, *others) for others in _assignments(rest))


def choose_driver(board: Board, uarts: Sequence[Uart], requested: LinkDriver | None, free_ram_bytes: int) -> LinkDriver:
    """Return the driver for the links on `uarts` of `board`: `requested`, else DMA if it fits, else interrupts.

    `free_ram_bytes` is what the rest of the firmware and the arena leave of the RAM of level 1.

    Raises UsageError if DMA is requested and two links need the same DMA channel.
    """
    has_channels = dma_channels(uarts) is not None
    if requested is LinkDriver.DMA and not has_channels:
        names = ", ".join(uart.name for uart in uarts)
        raise UsageError(
            f"{board.name}: the DMA controllers cannot serve {names} at the same time: use --link-driver interrupt"
        )
    if requested:
        return requested
    fits = has_channels and driver_ram_bytes(board, LinkDriver.DMA, len(uarts)) <= free_ram_bytes
    return LinkDriver.DMA if fits else LinkDriver.INTERRUPT


def buffer_bytes(driver: LinkDriver) -> int:
    """Return the bytes of a link's buffers."""
    return RING_BYTES + 2 * DMA_CHUNK_BYTES if driver is LinkDriver.DMA else CHUNK_BYTES


def driver_flash_bytes(driver: LinkDriver, n_links: int) -> int:
    """Return what the driver of `n_links` links takes of the flash, without link.c; 0 without links."""
    once, each = _DMA_FLASH if driver is LinkDriver.DMA else _BYTES_FLASH
    return once + n_links * each if n_links else 0


def driver_ram_bytes(board: Board, driver: LinkDriver, n_links: int) -> int:
    """Return what `n_links` links take of RAM of level 1, without link.c; DMA buffers of an H7 lie elsewhere."""
    is_elsewhere = driver is LinkDriver.DMA and board.dma.memory != board.near_memory
    return n_links * (_PORT_BYTES + (0 if is_elsewhere else buffer_bytes(driver)))
