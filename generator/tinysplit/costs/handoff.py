"""What tensors take from links, host ports and CPUs: the parts of a transfer in the generated firmware."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import TypeVar

from tinysplit.boards.board import Board, Power, Uart
from tinysplit.boards.link_driver import USUAL_DRIVER, LinkDriver, mean_look_bytes, room_bytes
from tinysplit.common.choices import InputSource
from tinysplit.common.protocol_limits import BITS_PER_BYTE, LINK_PAYLOAD_BYTES, line_bytes_of
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.transfers import (
    check_bauds,
    host_line_seconds,
    pauses_seconds,
    reply_seconds,
    sleeping_share,
    taken_seconds,
    wire_seconds,
)
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.timing.handoff import DeviceTable, Handoff
from tinysplit.timing.topology import Table

T = TypeVar("T")

TICKS_PER_S = 1000  # of the firmware while it waits


def handoff_of(
    table: CycleTable,
    out_bytes: Sequence[int],
    in_bytes: int,
    boards: Sequence[Board],
    settings: LinkSettings,
    bits_per_byte: int,
    host_baud: int,
    source: InputSource = InputSource.HOST,
) -> Handoff:
    """Return what the outputs of all layers and the network's input of `in_bytes` take from links and boards.

    The first link UART of a board is used, with DMA unless chosen otherwise. Raises UsageError for impossible rates.
    """
    check_bauds(boards, settings)
    driver, costs = settings.driver or USUAL_DRIVER, table.handoff
    look_bytes = tuple(mean_look_bytes(driver, board, board.link_uarts[0]) for board in boards)
    over_links, cpu_s = partial(_by_pair, boards, settings), partial(_cpu_seconds, boards)

    def taken(family: str, n_bytes: int) -> float:
        started = costs[family].started(n_bytes) if source is InputSource.HOST else 0.0
        return costs[family].copying * n_bytes + started

    return Handoff(
        wire_s=by_size(
            out_bytes, lambda n_bytes: over_links(partial(wire_seconds, n_bytes, bits_per_byte=bits_per_byte))
        ),
        reply_s=over_links(partial(reply_seconds, bits_per_byte=bits_per_byte)),
        latency_s=_latencies(table, out_bytes, boards, settings, bits_per_byte, driver),
        copy_s=(
            *cpu_s(out_bytes, lambda family, n_bytes: costs[family].copying * n_bytes),
            *cpu_s((in_bytes,), taken),
        ),
        send_s=(
            *cpu_s(out_bytes, lambda family, n_bytes: costs[family].sent(n_bytes, driver)),
            *cpu_s(out_bytes[-1:], lambda family, n_bytes: costs[family].read(n_bytes)),
        ),
        receive_s=(
            *cpu_s(out_bytes, lambda family, n_bytes: costs[family].received(n_bytes, driver)),
            *cpu_s((in_bytes,), lambda family, n_bytes: costs[family].fed(n_bytes)),
        ),
        overlaps=not driver.facts.polls,
        host_s=tuple(host_line_seconds(board, in_bytes, out_bytes[-1], host_baud) for board in boards),
        taken_s=tuple(taken_seconds(board, host_baud) for board in boards),
        wake_s=cpu_s(
            (*(n_bytes * driver.facts.has_byte_interrupts for n_bytes in out_bytes), in_bytes),
            lambda family, n_bytes: costs[family].wake * n_bytes,
        ),
        hears_bytes=tuple(driver.facts.hears_bytes(board.link_uarts[0]) for board in boards),
        look_bytes=look_bytes,
        look_s=tuple(
            n_bytes * costs[board.device.family].receiving.get(driver, 0.0) / board.clock.core_hz
            for n_bytes, board in zip(look_bytes, boards, strict=True)
        ),
        polled_room_bytes=tuple(room_bytes(board, board.link_uarts[0]) for board in boards)
        if driver.facts.polls
        else (),
        resume_s=tuple(costs[board.device.family].resuming / board.clock.core_hz for board in boards),
        tick_shares=tuple(costs[board.device.family].tick * TICKS_PER_S / board.clock.core_hz for board in boards),
    )


def _transfer_w(table: CycleTable, power: Power, board: Board, driver: LinkDriver | None, baud: int | None) -> float:
    """Return the mean power of a board in W while a tensor crosses a link at its end, at `baud` or less.

    It runs for the cycles of driver and copies, and sleeps for the rest; a board that polls runs all the time.
    """
    driver = driver or USUAL_DRIVER
    if baud is None or driver.facts.polls:
        return power.run_w
    costs, n_bytes = table.handoff[board.device.family], LINK_PAYLOAD_BYTES
    cycles = max(costs.sent(n_bytes, driver), costs.received(n_bytes, driver)) + costs.copying * n_bytes
    share = cycles / board.clock.core_hz * baud / (BITS_PER_BYTE * line_bytes_of(n_bytes))
    return power.idle_w + min(1.0, share) * (power.run_w - power.idle_w)


def _cpu_seconds(boards: Sequence[Board], tensors: Sequence[int], cycles: Callable[[str, int], float]) -> DeviceTable:
    """Return seconds by tensor and board; `cycles` are those of a family for a tensor of so many bytes."""
    return by_size(
        tensors, lambda n_bytes: tuple(cycles(each.device.family, n_bytes) / each.clock.core_hz for each in boards)
    )


def by_size(tensors: Sequence[int], seconds: Callable[[int], T]) -> tuple[T, ...]:
    """Return `seconds` of each tensor by its bytes, computed once for each size: parts of a network have few sizes."""
    known = {n_bytes: seconds(n_bytes) for n_bytes in dict.fromkeys(tensors)}
    return tuple(map(known.__getitem__, tensors))


def direct_seconds(parts: Handoff) -> Table:
    """Return the seconds of each layer's output over direct links, by [layer][sender][receiver]; infinite without one.

    They begin and end with the copies between arenas and buffers.
    """
    numbers = range(len(parts.reply_s))
    return tuple(
        tuple(tuple(0.0 if i == h else parts.transfer_s(layer, i, h) for h in numbers) for i in numbers)
        for layer in range(len(parts.wire_s))
    )


def _latencies(
    table: CycleTable,
    out_bytes: Sequence[int],
    boards: Sequence[Board],
    settings: LinkSettings,
    bits_per_byte: int,
    driver: LinkDriver,
) -> Table:
    """Return the seconds from the last bit of each layer's output until the receiver knows that it has it."""
    numbers = range(len(boards))

    def seconds(n_bytes: int, i: int, h: int) -> float:
        baud = settings.between(i, h).baud
        if i == h or baud is None:
            return 0.0 if i == h else inf
        sending, receiving = (table.link_of(boards[end].device, driver) for end in (i, h))
        sender, receiver = (boards[end].link_uarts[0] for end in (i, h))
        sender_hz, receiver_hz = (boards[end].clock.core_hz for end in (i, h))
        awakening_s = receiving.sleeping / receiver_hz
        share = sleeping_share(n_bytes, receiver, driver, baud, bits_per_byte, awakening_s)
        return (
            share * (bits_per_byte / receiver.actual_baud(baud) + awakening_s)  # an idle byte tells a core that sleeps
            + pauses_seconds(n_bytes, sender, driver, baud, bits_per_byte, sending.restarting / sender_hz)
            + sending.sending / sender_hz
            + receiving.receiving / receiver_hz
        )

    return by_size(out_bytes, lambda n_bytes: tuple(tuple(seconds(n_bytes, i, h) for h in numbers) for i in numbers))


def _by_pair(
    boards: Sequence[Board], settings: LinkSettings, seconds: Callable[[Uart, int], float]
) -> tuple[tuple[float, ...], ...]:
    """Return `seconds` of the sender's UART and the baud rate by [sender][receiver], infinite without a link."""

    def over(i: int, h: int) -> float:
        baud = settings.between(i, h).baud
        return 0.0 if i == h else inf if baud is None else seconds(boards[i].link_uarts[0], baud)

    numbers = range(len(boards))
    return tuple(tuple(over(i, h) for h in numbers) for i in numbers)


def powers_of(table: CycleTable, board: Board, driver: LinkDriver | None = None, link_baud: int | None = None) -> Power:
    """Return the powers of `DeviceLimits` without an external memory; 0 where the currents of a board are not known."""
    measured, power = table.currents.get(board.name), board.known_power
    if measured:
        power = replace(Power.of(measured.run_ma, measured.sleep_ma), stop_w=power.stop_w if power else None)
    if power is None:
        return Power(0.0, 0.0, 0.0)
    return replace(power, transfer_w=_transfer_w(table, power, board, driver, link_baud))
