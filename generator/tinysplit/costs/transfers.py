"""Transfer times of tensors on links and host ports; docs/understand/protocol.md defines the frames."""

from collections.abc import Sequence
from math import inf

from tinysplit.boards.board import Board, Uart, board_title, check_baud
from tinysplit.boards.link_driver import LinkDriver, check_rate, usual_driving
from tinysplit.boards.link_rates import agree, tolerance
from tinysplit.common.alignment import aligned
from tinysplit.common.choices import InputSource
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.protocol_limits import (
    BITS_PER_BYTE,
    DONE_BYTES,
    ERROR_BYTES,
    FRAME_OVERHEAD_BYTES,
    LINK_HEADER_BYTES,
    LINK_REPLY_BYTES,
    LOAD_BYTES,
    LOAD_OFFSET_BYTES,
    READ_BYTES,
    READ_REQUEST_BYTES,
    START_BYTES,
    TAKEN_BYTES,
    last_frame_of,
    line_bytes_of,
)
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.settings.boards_and_links import BAUD, LINK
from tinysplit.settings.setting import either
from tinysplit.timing.handoff import TICK_S
from tinysplit.timing.topology import Links, Pair, Table, pair_of

UART_BYTES = 2  # that it has when DMA has moved its last one: in its shift register, and before that


def wire_seconds(n_bytes: int, sender: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds of a tensor on a link, from the first bit to the last: its frames follow without gaps.

    The sender runs at the rate that its clock and divider produce. Santamaria 2021, formula 3, counts the bits of the
    payload alone.
    """
    return bits_per_byte * line_bytes_of(n_bytes) / sender.actual_baud(baud)


def reply_seconds(sender: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds of a grant or an acknowledgement."""
    return bits_per_byte * LINK_REPLY_BYTES / sender.actual_baud(baud)


def idle_seconds(
    n_bytes: int, receiver: Uart, driver: LinkDriver, baud: int, bits_per_byte: int = BITS_PER_BYTE
) -> float:
    """Return the seconds, on average, from the last bit of a tensor until the receiver looks at it.

    DMA, and a FIFO that is not half full, tell a core that sleeps of the end when the line was idle for a byte.
    """
    share = sleeping_share(n_bytes, receiver, driver, baud, bits_per_byte)
    return share * bits_per_byte / receiver.actual_baud(baud)


def sleeping_share(
    n_bytes: int,
    receiver: Uart,
    driver: LinkDriver,
    baud: int,
    bits_per_byte: int = BITS_PER_BYTE,
    awakening_s: float = 0.0,
) -> float:
    """Return the share of tensors of this size at whose end a waiting receiver sleeps.

    An interrupt of the driver, or a tick, that finds a frame's end near keeps it awake until then; where these fall is
    by chance. Nothing is gained in the last `awakening_s`, which it takes to look at the frame's begin. Half of the
    frames that are longer than a tick, and meet no other interrupt, end while it sleeps.
    """
    if driver.facts.polls or driver.facts.hears_bytes(receiver):
        return 0.0
    line_bytes, byte_s = line_bytes_of(last_frame_of(n_bytes)), bits_per_byte / receiver.actual_baud(baud)
    found_bytes, ring_interrupts = float(line_bytes), 0.0
    if driver.facts.uses_dma:
        found_bytes = max(0.0, line_bytes - LINK_HEADER_BYTES - awakening_s / byte_s)
        ring_interrupts = found_bytes / (usual_driving(driver).ring_bytes / 2)
    return max(0.0, 1 - ring_interrupts) * (1 - min(1.0, found_bytes * byte_s / TICK_S) / 2)


def pauses_seconds(
    n_bytes: int, sender: Uart, driver: LinkDriver, baud: int, bits_per_byte: int, restart_s: float
) -> float:
    """Return the seconds for which the line of a tensor is idle between chunks.

    The next one begins `restart_s` after DMA has moved the last byte of one, when the UART still has two of them.
    """
    if not driver.facts.uses_dma:
        return 0.0
    return chunks_of(n_bytes, driver) * max(0.0, restart_s - hidden_seconds(sender, baud, bits_per_byte))


def chunks_of(n_bytes: int, driver: LinkDriver) -> float:
    """Return the chunks of a tensor and its frames, of which the last one is a part."""
    return line_bytes_of(n_bytes) / usual_driving(driver).chunk_bytes


def hidden_seconds(sender: Uart, baud: int, bits_per_byte: int = BITS_PER_BYTE) -> float:
    """Return the seconds of the bytes that a UART still has when DMA has moved its last one."""
    return UART_BYTES * bits_per_byte / sender.actual_baud(baud)


def link_seconds(
    n_bytes: int, ends: tuple[Uart, Uart], driver: LinkDriver, baud: int, bits_per_byte: int = BITS_PER_BYTE
) -> float:
    """Return the seconds from the first bit of a tensor until the receiver knows that it has it.

    `ends` are the UARTs of sender and receiver. The acknowledgement, which comes then, delays no inference.
    """
    sender, receiver = ends
    idle_s = idle_seconds(n_bytes, receiver, driver, baud, bits_per_byte)
    return wire_seconds(n_bytes, sender, baud, bits_per_byte) + idle_s


def host_seconds(
    board: Board, in_bytes: int, out_bytes: int, host_baud: int, source: InputSource = InputSource.HOST
) -> tuple[float, float]:
    """Return the seconds in which the host sends the network's input and START to `board`, and reads the output.

    Each request waits for its reply (docs/understand/protocol.md, Host ports); delays of the host itself are not
    included. An input whose source is the board takes none.
    """
    loads, reads = -(-in_bytes // LOAD_BYTES), -(-out_bytes // READ_BYTES)
    return (
        0.0
        if source is InputSource.BOARD
        else _request_seconds(board, in_bytes + loads * LOAD_OFFSET_BYTES + START_BYTES, loads + 1, 0, host_baud),
        # DONE goes first
        _request_seconds(
            board, reads * READ_REQUEST_BYTES, reads, out_bytes + DONE_BYTES + FRAME_OVERHEAD_BYTES, host_baud
        ),
    )


def host_line_seconds(board: Board, in_bytes: int, out_bytes: int, host_baud: int) -> tuple[float, float]:
    """Return the seconds for which an input and an output keep the line between host and `board` busy.

    LOAD requests follow each other without waiting for the replies, which go the other way; START waits for the last of
    them. A request that is answered by an error then frees what is read (docs/understand/protocol.md, Host ports).
    """
    loads, reads = -(-in_bytes // LOAD_BYTES), -(-out_bytes // READ_BYTES)
    load_bytes = in_bytes + loads * (LOAD_OFFSET_BYTES + FRAME_OVERHEAD_BYTES) + START_BYTES + FRAME_OVERHEAD_BYTES
    read_bytes = out_bytes + DONE_BYTES + ERROR_BYTES + (reads + 2) * FRAME_OVERHEAD_BYTES  # DONE goes first
    request_bytes = (reads + 1) * (READ_REQUEST_BYTES + FRAME_OVERHEAD_BYTES)
    board_baud = board.host_uart.actual_baud(host_baud)
    return (
        BITS_PER_BYTE * (load_bytes / host_baud + FRAME_OVERHEAD_BYTES / board_baud),
        BITS_PER_BYTE * (request_bytes / host_baud + read_bytes / board_baud),
    )


def taken_seconds(board: Board, host_baud: int) -> float:
    """Return the seconds after which the host knows that `board` has taken an input: the reply to START, and TAKEN."""
    return BITS_PER_BYTE * (2 * FRAME_OVERHEAD_BYTES + TAKEN_BYTES) / board.host_uart.actual_baud(host_baud)


def _request_seconds(board: Board, request_bytes: int, n_requests: int, reply_bytes: int, host_baud: int) -> float:
    frames_bytes = n_requests * FRAME_OVERHEAD_BYTES
    request_s = (request_bytes + frames_bytes) / host_baud
    return BITS_PER_BYTE * (request_s + (reply_bytes + frames_bytes) / board.host_uart.actual_baud(host_baud))


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
            f"no route from {ends}, not even via other boards: allow a link that {LINK} removes, or leave the board out"
        )


def check_bauds(boards: Sequence[Board], settings: LinkSettings) -> None:
    """Raise UsageError, which names the link, if the first link UART of a board cannot have the rate of its link."""
    pairs = {pair_of(i, h) for i in range(len(boards)) for h in range(i)}
    for pair in sorted(pairs):
        baud = settings.between(*pair).baud
        if baud is not None:
            uarts = [boards[index].link_uarts[0] for index in pair]
            try:
                check_link_baud(boards, pair, uarts, baud, settings.driver)
            except UsageError as error:
                raise UsageError(error.message, BAUD if baud == settings.baud else LINK) from None


def check_link_baud(
    boards: Sequence[Board], pair: Pair, uarts: Sequence[Uart], baud: int, driver: LinkDriver | None
) -> None:
    """Raise UsageError, which names the link, if a UART between two boards cannot generate `baud` or loses bytes.

    The rates that the two make may not differ too much, either. `driver` is that of all links, None to choose it for
    each board.
    """
    link = f"link {pair[0] + 1}-{pair[1] + 1}"
    for index, uart in zip(pair, uarts, strict=True):
        try:
            check_baud(boards[index], uart, baud)
        except UsageError as error:
            raise UsageError(f"{link}: {error.message}") from None
        check_rate(link, boards[index], uart, driver, baud)
    if not agree(uarts[0], uarts[1], baud):
        rates = " and ".join(
            f"{boards[index].name} {uart.actual_baud(baud):.0f}" for index, uart in zip(pair, uarts, strict=True)
        )
        remedy = either(f"choose another rate, or {BAUD.option} auto", "choose another rate")
        most = f"by more than {100 * tolerance(uarts, baud):g} %, which oscillators leave"
        raise UsageError(f"{link}: at {baud} baud {rates} differ too much, {most}: {remedy}")
