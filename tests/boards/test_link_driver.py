"""DMA channels of UARTs against the reference manuals, and the choice of the driver of links."""

import re
from itertools import combinations

import pytest

from tinysplit.boards.board import Board, Uart, check_baud
from tinysplit.boards.catalog import load_board, load_boards
from tinysplit.boards.link_driver import (
    DRIVINGS,
    OVERLAPPING,
    LinkDriver,
    check_rate,
    choose_driver,
    dma_channels,
    possible_drivings,
    usual_driving,
)
from tinysplit.common import package_files
from tinysplit.common.errors import UsageError

BOARDS = load_boards()
AMPLE = 1 << 20

# RM0091 tables DMA1 and DMA2 requests for each channel on STM32F09x devices: those of all UARTs.
F09_RX = {*(f"DMA1_Channel{number}" for number in (1, 3, 5, 6)), "DMA2_Channel2", "DMA2_Channel3"}
F09_TX = {*(f"DMA1_Channel{number}" for number in (2, 4, 7)), *(f"DMA2_Channel{number}" for number in (1, 4, 5))}
# Channel or stream with its request: RM0444 table 59 (DMAMUX), RM0368 and RM0390 tables DMA1 and DMA2 request mapping,
# RM0490 table DMAMUX, RM0008, RM0316 and RM0365 tables DMA1 and DMA2 requests (wired), RM0367 table DMA1 requests for
# each channel, RM0394 tables 41 and 42, RM0432 table 47 (DMAMUX), RM0433 and RM0468 tables DMAMUX1 assignment, RM0440
# and RM0434 table DMAMUX.
GENERAL_PURPOSE = {f"GPDMA1_Channel{number}" for number in range(16)}  # RM0456
GPDMA_OF_8 = {f"GPDMA1_Channel{n}" for n in range(8)}
IN_MANUALS = {
    ("nucleo_g071rb", "USART1"): ((50, None), (51, None)),
    ("nucleo_g071rb", "USART2"): ((52, None), (53, None)),
    ("nucleo_g071rb", "USART3"): ((54, None), (55, None)),
    ("nucleo_c031c6", "USART1"): ((50, None), (51, None)),
    ("nucleo_l053r8", "USART1"): ((3, {"DMA1_Channel3", "DMA1_Channel5"}), (3, {"DMA1_Channel2", "DMA1_Channel4"})),
    ("nucleo_l053r8", "LPUART1"): ((5, {"DMA1_Channel3", "DMA1_Channel6"}), (5, {"DMA1_Channel2", "DMA1_Channel7"})),
    ("nucleo_l073rz", "USART4"): ((12, {"DMA1_Channel2", "DMA1_Channel6"}), (12, {"DMA1_Channel3", "DMA1_Channel7"})),
    ("nucleo_f103rb", "USART1"): ((None, {"DMA1_Channel5"}), (None, {"DMA1_Channel4"})),
    ("nucleo_f103rb", "USART3"): ((None, {"DMA1_Channel3"}), (None, {"DMA1_Channel2"})),
    ("stm32f103ze", "UART4"): ((None, {"DMA2_Channel3"}), (None, {"DMA2_Channel5"})),
    ("nucleo_f303re", "UART4"): ((None, {"DMA2_Channel3"}), (None, {"DMA2_Channel5"})),
    ("nucleo_f303re", "USART3"): ((None, {"DMA1_Channel3"}), (None, {"DMA1_Channel2"})),
    ("nucleo_f072rb", "USART1"): ((None, {"DMA1_Channel3"}), (None, {"DMA1_Channel2"})),
    ("nucleo_f072rb", "USART3"): ((None, {"DMA1_Channel6"}), (None, {"DMA1_Channel7"})),
    ("nucleo_f091rc", "USART3"): ((10, F09_RX), (10, F09_TX)),
    ("nucleo_f302r8", "USART1"): ((None, {"DMA1_Channel5"}), (None, {"DMA1_Channel4"})),
    ("nucleo_f401re", "USART1"): ((4, {"DMA2_Stream2", "DMA2_Stream5"}), (4, {"DMA2_Stream7"})),
    ("nucleo_f401re", "USART6"): ((5, {"DMA2_Stream1", "DMA2_Stream2"}), (5, {"DMA2_Stream6", "DMA2_Stream7"})),
    ("nucleo_f446re", "UART4"): ((4, {"DMA1_Stream2"}), (4, {"DMA1_Stream4"})),
    ("nucleo_f746zg", "USART6"): ((5, {"DMA2_Stream1", "DMA2_Stream2"}), (5, {"DMA2_Stream6", "DMA2_Stream7"})),
    ("nucleo_f767zi", "UART7"): ((5, {"DMA1_Stream3"}), (5, {"DMA1_Stream1"})),
    ("nucleo_l412kb", "USART1"): ((2, {"DMA1_Channel5", "DMA2_Channel7"}), (2, {"DMA1_Channel4", "DMA2_Channel6"})),
    ("nucleo_l452re", "USART3"): ((2, {"DMA1_Channel3"}), (2, {"DMA1_Channel2"})),
    ("nucleo_l433rc_p", "LPUART1"): ((4, {"DMA2_Channel7"}), (4, {"DMA2_Channel6"})),
    ("nucleo_l4r5zi", "USART2"): ((26, None), (27, None)),
    ("nucleo_l4r5zi", "USART3"): ((28, None), (29, None)),
    ("nucleo_wb55rg", "LPUART1"): ((16, None), (17, None)),
    ("nucleo_wl55jc", "USART1"): ((17, None), (18, None)),
    ("nucleo_wl55jc", "LPUART1"): ((21, None), (22, None)),
    ("nucleo_u575zi_q", "USART1"): ((24, GENERAL_PURPOSE), (25, GENERAL_PURPOSE)),
    ("nucleo_u575zi_q", "USART3"): ((28, GENERAL_PURPOSE), (29, GENERAL_PURPOSE)),
    ("nucleo_l552ze_q", "USART2"): ((27, None), (28, None)),
    ("nucleo_h563zi", "USART2"): ((23, GPDMA_OF_8), (24, GPDMA_OF_8)),
    ("nucleo_h563zi", "UART7"): ((33, GPDMA_OF_8), (34, GPDMA_OF_8)),
    ("nucleo_g431rb", "USART1"): ((24, None), (25, None)),
    ("nucleo_g474re", "LPUART1"): ((34, None), (35, None)),
    ("nucleo_h743zi", "USART2"): ((43, None), (44, None)),
    ("nucleo_h723zg", "UART7"): ((79, None), (80, None)),
}


WITHOUT_DMA = {"stm32f0": 54_545, "stm32l0": 40_000}  # highest rates of slow boards without FIFOs


@pytest.mark.parametrize(("name", "uart_name"), IN_MANUALS)
def test_channels_are_those_of_the_manuals(name: str, uart_name: str) -> None:
    board = load_board(name)
    uart = next(uart for uart in (board.host_uart, *board.link_uarts) if uart.name == uart_name)
    for channels, (request, names) in zip((uart.receive_dma, uart.send_dma), IN_MANUALS[name, uart_name], strict=True):
        assert {channel.request for channel in channels} == {request}
        if names is None:  # a DMAMUX connects every channel
            assert [channel.mux_channel for channel in channels] == list(range(len(channels)))
        else:
            assert {channel.name for channel in channels} == names


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_no_two_links_of_a_board_use_the_same_channel(board: Board) -> None:
    for n_links in range(1, len(board.link_uarts) + 1):
        for uarts in combinations(board.link_uarts, n_links):
            links = dma_channels(uarts)
            assert links
            used = [channel.name for link in links for channel in (link.receive, link.send)]
            assert len(set(used)) == 2 * n_links


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_hosts_interrupt_is_never_shared_with_a_link(board: Board) -> None:
    links = dma_channels(board.link_uarts)
    assert links
    names = {channel.irq_name for link in links for channel in (link.receive, link.send)}
    assert board.host_uart.irq_name not in names | {uart.irq_name for uart in board.link_uarts}


def test_shared_interrupts_of_channels_are_found() -> None:
    channels = load_board("nucleo_g071rb").link_uarts[0].receive_dma
    names = [channel.irq_name for channel in channels]
    assert names == ["DMA1_Channel1", *["DMA1_Channel2_3"] * 2, *["DMA1_Ch4_7_DMAMUX1_OVR"] * 4]


def test_buffers_lie_where_the_dma_reaches_them() -> None:
    assert load_board("nucleo_h743zi").dma.memory.name == "d3_sram"
    assert load_board("nucleo_l4r5zi").dma.memory == load_board("nucleo_l4r5zi").near_memory


SLOW, FAST = 115_200, 4_000_000
LARGE, SMALL, BYTES, _ = DRIVINGS


def test_each_driver_has_its_c() -> None:
    common = package_files.firmware() / "common"
    declared = re.search(r"typedef enum \{(.*?)\} uart_link_driver_t;", (common / "uart_link.h").read_text())
    assert declared
    assert re.findall(r"\w+", declared[1]) == [f"UART_LINK_{driver.value.upper()}" for driver in LinkDriver]
    sources = {path.name for path in common.glob("uart_link_*.c")}
    assert {driver.facts.source for driver in LinkDriver} == sources


def test_what_the_drivers_are() -> None:
    assert [driver for driver in LinkDriver if driver.facts.uses_dma] == [LinkDriver.DMA]
    assert [driver for driver in LinkDriver if driver.facts.has_byte_interrupts] == [LinkDriver.INTERRUPT]
    assert [driver for driver in LinkDriver if driver.facts.polls] == [LinkDriver.POLLING]
    assert OVERLAPPING == (LinkDriver.DMA, LinkDriver.INTERRUPT)
    assert [(each.driver.value, each.ring_bytes, each.chunk_bytes) for each in DRIVINGS] == [
        ("dma", 256, 128),
        ("dma", 128, 32),
        ("interrupt", 0, 16),
        ("polling", 0, 16),
    ]


@pytest.mark.parametrize("driver", LinkDriver)
def test_links_of_all_boards_keep_up_with_the_rate_of_the_calibration(driver: LinkDriver) -> None:
    """But for STM32F0 and L0, whose costs without DMA are those of the STM32G0."""
    for board in BOARDS:
        if driver.facts.uses_dma or board.device.family not in WITHOUT_DMA:
            assert possible_drivings(board, board.link_uarts[0], driver, driver.facts.calibration_baud)


def links(board: Board, baud: int, n_links: int = 2) -> list[tuple[Uart, int]]:
    return [(uart, baud) for uart in board.link_uarts[:n_links]]


def test_the_best_driver_that_fits_is_chosen() -> None:
    board = load_board("nucleo_f401re")
    needed = LARGE.ram_bytes(board, 2)
    assert needed == 2 * (256 + 2 * 128 + 36)
    assert choose_driver(board, links(board, SLOW), None, needed) is LARGE
    assert choose_driver(board, links(board, SLOW), None, needed - 1) is SMALL
    assert choose_driver(board, links(board, SLOW), None, SMALL.ram_bytes(board, 2) - 1) is BYTES
    assert choose_driver(board, links(board, SLOW), LinkDriver.POLLING, AMPLE).driver is LinkDriver.POLLING


def test_a_fast_link_is_never_driven_by_interrupts() -> None:
    board = load_board("nucleo_g071rb")
    assert choose_driver(board, links(board, FAST), None, 0) is SMALL
    fast_and_slow = [(board.link_uarts[0], SLOW), (board.link_uarts[1], FAST)]
    assert choose_driver(board, fast_and_slow, None, 0) is SMALL


def test_the_buffers_of_an_h7_need_none_of_its_nearest_ram() -> None:
    board = load_board("nucleo_h723zg")
    assert LARGE.ram_bytes(board, 2) == 2 * 36
    assert choose_driver(board, links(board, SLOW), None, 2 * 36) is LARGE


def test_links_that_need_the_same_channel_are_driven_by_interrupts() -> None:
    board = load_board("nucleo_f401re")
    twice = links(board, SLOW, 1) * 2  # USART1 sends by one stream alone
    assert choose_driver(board, twice, None, AMPLE) is BYTES
    with pytest.raises(UsageError, match=r"USART1, USART1 at the same time: use --link-driver interrupt$"):
        choose_driver(board, twice, LinkDriver.DMA, AMPLE)


@pytest.mark.parametrize("driver", [LinkDriver.INTERRUPT, LinkDriver.POLLING])
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_board_but_the_slowest_keeps_the_default_rate_without_dma(board: Board, driver: LinkDriver) -> None:
    highest = usual_driving(driver).highest_baud(board, board.link_uarts[0])
    slow = WITHOUT_DMA.get(board.device.family)
    assert highest >= SLOW if slow is None else highest == slow


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_board_keeps_4_mbaud_by_dma(board: Board) -> None:
    assert LARGE in possible_drivings(board, board.link_uarts[0], None, FAST)


def test_a_rate_at_which_bytes_would_be_lost_is_refused() -> None:
    board = load_board("nucleo_f401re")
    with pytest.raises(UsageError, match=r"^link 1-2: nucleo_f401re would lose bytes at 4000000 baud .* --baud$"):
        check_rate("link 1-2", board, board.link_uarts[0], LinkDriver.INTERRUPT, FAST)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_first_link_but_those_at_90_mhz_makes_4_mbaud(board: Board) -> None:
    if board.name in ("nucleo_f446re", "nucleo_f429zi"):  # 90 MHz / 22.5
        with pytest.raises(UsageError, match=r"cannot make 4000000 baud within 2%; .* 3913043$"):
            check_baud(board, board.link_uarts[0], 4_000_000)
    else:
        check_baud(board, board.link_uarts[0], 4_000_000)


@pytest.mark.parametrize("name", ["nucleo_g071rb", "nucleo_l452re", "nucleo_l4r5zi", "nucleo_h743zi", "nucleo_h723zg"])
def test_8_mbaud_needs_oversampling_by_8_or_a_fast_clock(name: str) -> None:
    board = load_board(name)
    check_baud(board, board.link_uarts[0], 8_000_000)
    assert 8 <= board.link_uarts[0].divider(8_000_000) <= 17


@pytest.mark.parametrize(("name", "nearest"), [("nucleo_f401re", 7636364), ("nucleo_f446re", 8181818)])
def test_8_mbaud_are_refused_where_no_divider_makes_them(name: str, nearest: int) -> None:
    board = load_board(name)
    with pytest.raises(UsageError, match=rf"cannot make 8000000 baud within 2%; .* {nearest}$"):
        check_baud(board, board.link_uarts[0], 8_000_000)
