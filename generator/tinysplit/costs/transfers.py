"""Transfer times of tensors on links and host ports; docs/protocol.md defines the frames."""

from collections.abc import Callable, Sequence
from math import inf

from tinysplit.boards.board import Board, Uart, board_title, check_baud
from tinysplit.common.alignment import aligned
from tinysplit.common.errors import InputError
from tinysplit.common.protocol_limits import (
    BITS_PER_BYTE,
    FRAME_OVERHEAD_BYTES,
    HOST_BAUD,
    LINK_OVERHEAD_BYTES,
    LINK_PAYLOAD_BYTES,
    LINK_REPLY_BYTES,
    LOAD_BYTES,
    LOAD_OFFSET_BYTES,
    READ_BYTES,
    READ_REQUEST_BYTES,
    TENSOR_CRC_BYTES,
)
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.split.handoff import DeviceTable, Handoff
from tinysplit.split.topology import Links, Table, pair_of

LINK_DRIVER = "dma"


def wire_seconds(n_bytes: int, sender: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds of a tensor on a link, from the first bit to the last: its frames follow without gaps.

    The sender runs at the rate that its clock and divider produce. Santamaria 2021, formula 3, counts the bits of the
    payload alone.
    """
    n_frames = -(-n_bytes // LINK_PAYLOAD_BYTES)
    line_bytes = n_bytes + n_frames * LINK_OVERHEAD_BYTES + (TENSOR_CRC_BYTES if n_frames > 1 else 0)
    return bits_per_byte * line_bytes / sender.actual_baud(baud)


def reply_seconds(sender: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds of a grant or an acknowledgement."""
    return bits_per_byte * LINK_REPLY_BYTES / sender.actual_baud(baud)


def link_seconds(n_bytes: int, sender: Uart, receiver: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds from the first bit of a tensor to the last bit of its acknowledgement.

    They are the same on a half-duplex link: nothing comes back before the end of the tensor (docs/protocol.md, Links).
    """
    return wire_seconds(n_bytes, sender, baud, bits_per_byte) + reply_seconds(receiver, baud, bits_per_byte)


def host_seconds(board: Board, in_bytes: int, out_bytes: int) -> tuple[float, float]:
    """Return the seconds in which the host sends the network's input and START to `board`, and reads the output.

    Each request waits for its reply (docs/protocol.md, Host ports); delays of the host itself are not included.
    """
    loads, reads = -(-in_bytes // LOAD_BYTES), -(-out_bytes // READ_BYTES)
    return (
        _request_seconds(board, in_bytes + loads * LOAD_OFFSET_BYTES, loads + 1, 0),
        _request_seconds(board, reads * READ_REQUEST_BYTES, reads, out_bytes + FRAME_OVERHEAD_BYTES),  # DONE goes first
    )


def _request_seconds(board: Board, request_bytes: int, n_requests: int, reply_bytes: int) -> float:
    frames_bytes = n_requests * FRAME_OVERHEAD_BYTES
    request_s = (request_bytes + frames_bytes) / HOST_BAUD
    return BITS_PER_BYTE * (request_s + (reply_bytes + frames_bytes) / board.host_uart.actual_baud(HOST_BAUD))


def handoff_of(
    out_bytes: Sequence[int],
    in_bytes: int,
    boards: Sequence[Board],
    settings: LinkSettings,
    bits_per_byte: int,
    table: CycleTable,
) -> Handoff:
    """Return what the tensors of all layers and the network's input of `in_bytes` take from links and boards.

    The first link UART of each board is used for all links. Raises UsageError if it cannot generate a link's baud rate.
    """
    _check_bauds(boards, settings)
    numbers = range(len(boards))

    def over(i: int, h: int, seconds: Callable[[Uart, int], float]) -> float:
        baud = settings.between(i, h).baud
        return 0.0 if i == h else inf if baud is None else seconds(boards[i].link_uarts[0], baud)

    def by_device(cycles: Callable[[str], tuple[float, float]]) -> DeviceTable:
        """Return the seconds of tensors from (cycles of a tensor, of each byte) of a core."""
        costs = [cycles(board.device.core) for board in boards]
        return tuple(
            tuple(
                (once + a_byte * n_bytes) / board.clock.core_hz
                for (once, a_byte), board in zip(costs, boards, strict=True)
            )
            for n_bytes in (*out_bytes, in_bytes)
        )

    def wire_s(n_bytes: int) -> DeviceTable:
        """Return the seconds of a tensor by [sender][receiver]."""
        return tuple(
            tuple(over(i, h, lambda uart, baud: wire_seconds(n_bytes, uart, baud, bits_per_byte)) for h in numbers)
            for i in numbers
        )

    return Handoff(
        wire_s=tuple(map(wire_s, out_bytes)),
        reply_s=tuple(
            tuple(over(i, h, lambda uart, baud: reply_seconds(uart, baud, bits_per_byte)) for h in numbers)
            for i in numbers
        ),
        copy_s=by_device(lambda core: (0.0, table.handoff[core].copying)),
        send_s=by_device(lambda core: (table.link[core], table.handoff[core].sending[LINK_DRIVER])),
        receive_s=by_device(lambda core: (table.link[core], table.handoff[core].receiving[LINK_DRIVER])),
        host_s=tuple(host_seconds(board, in_bytes, out_bytes[-1]) for board in boards),
    )


def direct_seconds(parts: Handoff, boards: Sequence[Board], table: CycleTable) -> Table:
    """Return the seconds of each layer's output over direct links, by [layer][sender][receiver]; infinite without one.

    They end with the acknowledgement, and with the copies between buffers and arenas.
    """
    turnaround_s = [table.link[board.device.core] / board.clock.core_hz for board in boards]
    numbers = range(len(boards))

    def seconds(layer: int, i: int, h: int) -> float:
        ends_s = sum(parts.copy_s[layer][end] + turnaround_s[end] for end in (i, h))
        return 0.0 if i == h else parts.wire_s[layer][i][h] + parts.reply_s[h][i] + ends_s

    return tuple(
        tuple(tuple(seconds(layer, i, h) for h in numbers) for i in numbers) for layer in range(len(parts.wire_s))
    )


def links_of(direct: Table, out_bytes: Sequence[int], ram_bytes: Sequence[int], settings: LinkSettings) -> Links:
    """Return the links with the times `direct`; a board relays each tensor that fits into its `ram_bytes`."""
    relays = tuple(tuple(aligned(n_bytes) <= free for free in ram_bytes) for n_bytes in out_bytes)
    return Links(direct, relays, frozenset(link.boards for link in settings.named if link.half_duplex))


def links_left(settings: LinkSettings, links: Links | None) -> tuple[LinkSetting, ...]:
    """Return the links that `settings` names, and as absent those that a search removed to meet the number of UARTs."""
    table = links.direct[0] if links else ()
    removed = [(i, h) for i, row in enumerate(table) for h in range(i + 1, len(row)) if row[h] == inf]
    named = (link for link in settings.named if link.boards not in removed)
    return (*named, *(LinkSetting(pair, None) for pair in removed))


def check_connected(boards: Sequence[Board], settings: LinkSettings) -> None:
    """Raise InputError if a board cannot be reached from the first one, not even through relays."""
    reached, frontier = {0}, [0]
    while frontier:
        here = frontier.pop()
        neighbours = {h for h in range(len(boards)) if h not in reached and settings.between(here, h).baud is not None}
        reached |= neighbours
        frontier += neighbours
    lost = next((index for index in range(len(boards)) if index not in reached), None)
    if lost is not None:
        ends = " to ".join(board_title(index + 1, boards[index].name) for index in (0, lost))
        raise InputError(
            f"no route from {ends}, not even via other boards: allow a link that --link removes, or leave the board out"
        )


def _check_bauds(boards: Sequence[Board], settings: LinkSettings) -> None:
    pairs = {pair_of(i, h) for i in range(len(boards)) for h in range(i)}
    for pair in sorted(pairs):
        baud = settings.between(*pair).baud
        if baud is not None:
            for index in pair:
                check_baud(boards[index], boards[index].link_uarts[0], baud)
