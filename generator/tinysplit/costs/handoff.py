"""What tensors take from links, host ports and CPUs: the parts of a transfer in the generated firmware."""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf

from tinysplit.boards.board import Board, Uart
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.transfers import (
    check_bauds,
    host_line_seconds,
    idle_seconds,
    reply_seconds,
    taken_seconds,
    wire_seconds,
)
from tinysplit.kernels.cost_table import CycleTable, HandoffCosts
from tinysplit.split.handoff import DeviceTable, Handoff
from tinysplit.split.topology import Table


def handoff_of(
    out_bytes: Sequence[int],
    in_bytes: int,
    boards: Sequence[Board],
    settings: LinkSettings,
    bits_per_byte: int,
    table: CycleTable,
    host_baud: int,
) -> Handoff:
    """Return what the outputs of all layers and the network's input of `in_bytes` take from links and boards.

    The first link UART of a board is used, with DMA unless chosen otherwise. Raises UsageError for impossible rates.
    """
    check_bauds(boards, settings)
    driver, over_links = settings.driver or LinkDriver.DMA, partial(_by_pair, boards, settings)

    def cpu_s(tensors: Sequence[int], cycles: Callable[[HandoffCosts, int], float]) -> DeviceTable:
        return tuple(
            tuple(cycles(table.handoff[board.device.core], n_bytes) / board.clock.core_hz for board in boards)
            for n_bytes in tensors
        )

    return Handoff(
        wire_s=tuple(over_links(partial(wire_seconds, n_bytes, bits_per_byte=bits_per_byte)) for n_bytes in out_bytes),
        reply_s=over_links(partial(reply_seconds, bits_per_byte=bits_per_byte)),
        copy_s=cpu_s((*out_bytes, in_bytes), lambda costs, n_bytes: costs.copying * n_bytes),
        send_s=(
            *cpu_s(out_bytes, lambda costs, n_bytes: costs.sent(n_bytes, driver)),
            *cpu_s(out_bytes[-1:], lambda costs, n_bytes: costs.read(n_bytes)),
        ),
        receive_s=(
            *cpu_s(out_bytes, lambda costs, n_bytes: costs.received(n_bytes, driver)),
            *cpu_s((in_bytes,), lambda costs, n_bytes: costs.fed(n_bytes)),
        ),
        overlaps=driver is not LinkDriver.POLLING,
        host_s=tuple(host_line_seconds(board, in_bytes, out_bytes[-1], host_baud) for board in boards),
        taken_s=tuple(taken_seconds(board, host_baud) for board in boards),
    )


def direct_seconds(
    parts: Handoff,
    out_bytes: Sequence[int],
    boards: Sequence[Board],
    settings: LinkSettings,
    bits_per_byte: int,
    table: CycleTable,
) -> Table:
    """Return the seconds of each layer's output over direct links, by [layer][sender][receiver]; infinite without one.

    They begin and end with the copies between arenas and buffers.
    """
    driver = settings.driver or LinkDriver.DMA
    idle_s = _by_pair(boards, settings, lambda uart, baud: idle_seconds(uart, driver, baud, bits_per_byte))
    numbers = range(len(boards))

    def cpu_s(layer: int, i: int, h: int) -> float:
        sender, receiver = (table.link[boards[end].device.core] for end in (i, h))
        sending_s = sender.sending / boards[i].clock.core_hz
        receiving_s = receiver.received(out_bytes[layer]) / boards[h].clock.core_hz
        return sending_s + receiving_s + parts.copy_s[layer][i] + parts.copy_s[layer][h]

    def seconds(layer: int, i: int, h: int) -> float:
        return 0.0 if i == h else parts.wire_s[layer][i][h] + idle_s[h][i] + cpu_s(layer, i, h)

    return tuple(
        tuple(tuple(seconds(layer, i, h) for h in numbers) for i in numbers) for layer in range(len(out_bytes))
    )


def _by_pair(
    boards: Sequence[Board], settings: LinkSettings, seconds: Callable[[Uart, int], float]
) -> tuple[tuple[float, ...], ...]:
    """Return `seconds` of the sender's UART and the baud rate by [sender][receiver], infinite without a link."""

    def over(i: int, h: int) -> float:
        baud = settings.between(i, h).baud
        return 0.0 if i == h else inf if baud is None else seconds(boards[i].link_uarts[0], baud)

    numbers = range(len(boards))
    return tuple(tuple(over(i, h) for h in numbers) for i in numbers)
