"""Seconds of tensors on links and on host ports, as docs/protocol.md has their frames."""

from collections.abc import Sequence
from math import inf

from tinysplit.boards.board import Board, Uart, board_title, check_baud
from tinysplit.common.alignment import aligned
from tinysplit.common.errors import InputError
from tinysplit.common.protocol_limits import (
    BITS_PER_BYTE,
    FRAME_OVERHEAD_BYTES,
    FRAME_PAYLOAD_BYTES,
    HOST_BAUD,
    LOAD_BYTES,
    LOAD_OFFSET_BYTES,
    READ_BYTES,
    READ_REQUEST_BYTES,
)
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.split.topology import Links, Table, pair_of


def link_seconds(
    n_bytes: int,
    sender: Uart,
    receiver: Uart,
    baud: int,
    bits_per_byte: int = BITS_PER_BYTE,
    *,
    half_duplex: bool = False,
) -> float:
    """Return the seconds from the first bit of a tensor to the last of its last frame's acknowledgement.

    Data frames go back to back, the earlier acknowledgements against their stream (docs/protocol.md, Links); on a
    half-duplex link every acknowledgement takes its turn. Both ends use the rates that their clocks really make.
    """
    n_frames = -(-n_bytes // FRAME_PAYLOAD_BYTES)
    data_bytes = n_bytes + n_frames * FRAME_OVERHEAD_BYTES
    back_bytes = FRAME_OVERHEAD_BYTES * (n_frames if half_duplex else 1)
    return bits_per_byte * (data_bytes / sender.actual_baud(baud) + back_bytes / receiver.actual_baud(baud))


def host_seconds(board: Board, in_bytes: int, out_bytes: int) -> tuple[float, float]:
    """Return the seconds that the host needs to give `board` the network's input and START, and to read the output.

    Each request waits for its reply (docs/protocol.md, Host ports); what the host itself takes in between is left out.
    """
    loads, reads = -(-in_bytes // LOAD_BYTES), -(-out_bytes // READ_BYTES)
    return (
        _asked_seconds(board, in_bytes + loads * LOAD_OFFSET_BYTES, loads + 1, 0),
        _asked_seconds(board, reads * READ_REQUEST_BYTES, reads, out_bytes + FRAME_OVERHEAD_BYTES),  # DONE goes first
    )


def _asked_seconds(board: Board, request_bytes: int, n_requests: int, reply_bytes: int) -> float:
    frames_bytes = n_requests * FRAME_OVERHEAD_BYTES
    asking_s = (request_bytes + frames_bytes) / HOST_BAUD
    return BITS_PER_BYTE * (asking_s + (reply_bytes + frames_bytes) / board.host_uart.actual_baud(HOST_BAUD))


def direct_seconds(
    out_bytes: Sequence[int], boards: Sequence[Board], settings: LinkSettings, bits_per_byte: int, table: CycleTable
) -> Table:
    """Return T of each layer's output over the link of each pair, [layer][from][to], infinite where there is none.

    The first link UART of each board stands for all of them. Raises UsageError when it cannot make a link's rate.
    """

    def seconds(n_bytes: int, i: int, h: int) -> float:
        link, ends = settings.between(i, h), (boards[i], boards[h])
        if link.baud is None:
            return inf
        sender, receiver = (board.link_uarts[0] for board in ends)
        line_s = link_seconds(n_bytes, sender, receiver, link.baud, bits_per_byte, half_duplex=link.half_duplex)
        return line_s + sum(table.link[board.device.core] / board.clock.core_hz for board in ends)

    _check_bauds(boards, settings)
    numbers = range(len(boards))
    return tuple(
        tuple(tuple(0.0 if i == h else seconds(n_bytes, i, h) for h in numbers) for i in numbers)
        for n_bytes in out_bytes
    )


def links_of(direct: Table, out_bytes: Sequence[int], ram_bytes: Sequence[int], settings: LinkSettings) -> Links:
    """Return the links with these times; a board of `ram_bytes` passes on what fits there."""
    relays = tuple(tuple(aligned(n_bytes) <= free for free in ram_bytes) for n_bytes in out_bytes)
    return Links(direct, relays, frozenset(link.boards for link in settings.named if link.half_duplex))


def links_left(settings: LinkSettings, links: Links | None) -> tuple[LinkSetting, ...]:
    """Return what `settings` names and, as absent, every pair whose link a search gave up for want of UARTs."""
    table = links.direct[0] if links else ()
    given_up = [(i, h) for i, row in enumerate(table) for h in range(i + 1, len(row)) if row[h] == inf]
    named = (link for link in settings.named if link.boards not in given_up)
    return (*named, *(LinkSetting(pair, None) for pair in given_up))


def check_connected(boards: Sequence[Board], settings: LinkSettings) -> None:
    """Raise InputError when the links leave a board that no other one can reach, not even over others."""
    reached, border = {0}, [0]
    while border:
        here = border.pop()
        there = {h for h in range(len(boards)) if h not in reached and settings.between(here, h).baud is not None}
        reached |= there
        border += there
    lost = next((index for index in range(len(boards)) if index not in reached), None)
    if lost is not None:
        ends = " to ".join(board_title(index + 1, boards[index].name) for index in (0, lost))
        raise InputError(
            f"no link leads from {ends}, not even over other boards: allow a link that --link takes away, or leave the "
            "board out"
        )


def _check_bauds(boards: Sequence[Board], settings: LinkSettings) -> None:
    pairs = {pair_of(i, h) for i in range(len(boards)) for h in range(i)}
    for pair in sorted(pairs):
        baud = settings.between(*pair).baud
        if baud is not None:
            for index in pair:
                check_baud(boards[index], boards[index].link_uarts[0], baud)
