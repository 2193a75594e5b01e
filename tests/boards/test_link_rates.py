"""Baud rates that two UARTs have in common."""

from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from tinysplit.boards.board import Board, Uart
from tinysplit.boards.catalog import load_board, load_boards
from tinysplit.boards.link_rates import agree, common_rates, host_baud_of
from tinysplit.common.errors import UsageError
from tinysplit.common.protocol_limits import USUAL_HOST_BAUD


def uart(name: str, index: int = 0) -> Uart:
    return load_board(name).link_uarts[index]


@pytest.mark.parametrize(
    ("first", "second", "highest"),
    [
        ("nucleo_g071rb", "nucleo_g071rb", 8_000_000),  # 64 MHz / 8
        ("nucleo_g071rb", "nucleo_f401re", 5_000_000),  # 64 MHz / 13, 84 MHz / 17: 0.4 % apart
        ("nucleo_g071rb", "nucleo_f446re", 3_000_000),  # 90 MHz / 18 is 1.6 % from 64 MHz / 13, and 13 is by 8
        ("nucleo_f401re", "nucleo_f401re", 6_000_000),  # 84 MHz / 14
        ("nucleo_l452re", "nucleo_h743zi", 8_000_000),  # 80 MHz / 10, 120 MHz / 15
    ],
)
def test_the_highest_rate_of_two_boards(first: str, second: str, highest: int) -> None:
    assert common_rates(uart(first), uart(second))[0] == highest
    assert common_rates(uart(second), uart(first))[0] == highest


def test_all_boards_have_a_rate_from_3_mbaud_on_and_115200_in_common() -> None:
    """But for 32 MHz and others, and 64 MHz and 110 MHz, which share 2 Mbaud."""
    for first, second in combinations_with_replacement(load_boards(), 2):
        rates = common_rates(first.link_uarts[0], second.link_uarts[0])
        assert rates[-2:] == (115_200, 57_600)
        clocks = {board.link_uarts[0].clock_hz for board in (first, second)}
        is_apart = 32_000_000 in clocks or clocks == {64_000_000, 110_000_000}
        assert rates[0] >= (2_000_000 if is_apart else 3_000_000)


def test_both_may_make_a_rate_and_differ_too_much() -> None:
    low, high = uart("nucleo_g071rb"), uart("nucleo_l452re")  # 64 MHz / 21 and 80 MHz / 27
    assert low.makes(3_000_000)
    assert high.makes(3_000_000)
    assert not agree(low, high, 3_000_000)
    assert 3_000_000 not in common_rates(low, high)


def with_host_clock(name: str, clock_hz: int) -> Board:
    board = load_board(name)
    return replace(board, host_uart=replace(board.host_uart, clock_hz=clock_hz, has_fifo=False))


def test_the_host_ports_of_the_usual_boards_have_the_usual_rate() -> None:
    usual = [board for board in load_boards() if board.device.family not in ("stm32l0", "stm32f0")]
    assert host_baud_of(usual) == host_baud_of(()) == USUAL_HOST_BAUD


def test_a_slow_core_without_fifo_slows_the_host_ports() -> None:
    """32 MHz are 347 cycles a byte at 921 600 baud, 48 MHz 520, which are too few where flash is read by words."""
    for slow in ("nucleo_l053r8", "nucleo_f091rc"):
        assert host_baud_of([load_board(slow), load_board("nucleo_h743zi")]) == 460_800
    assert host_baud_of([load_board("nucleo_c031c6")]) == 921_600


@pytest.mark.parametrize(
    ("clock_hz", "highest"),
    [
        (16_000_000, 460_800),  # 16 MHz / 17 is 2.1 % above 921600, 16 MHz / 35 0.8 % below 460800
        (8_000_000, 230_400),  # 8 MHz / 17 is 2.1 % above 460800
        (7_430_000, 460_800),  # / 8 is 0.8 % above 921600: too much with oversampling by 8, but not by 16
        (921_600 * 8, 921_600),
        (64_000_000, 921_600),
    ],
)
def test_one_slow_clock_slows_the_host_ports_of_all_boards(clock_hz: int, highest: int) -> None:
    slow = with_host_clock("nucleo_f401re", clock_hz)
    assert host_baud_of([load_board("nucleo_g071rb"), slow]) == host_baud_of([slow]) == highest


def test_boards_without_a_usual_rate() -> None:
    with pytest.raises(UsageError, match="nucleo_f401re have no usual baud rate of host ports in common: choose one"):
        host_baud_of([with_host_clock("nucleo_f401re", 50_000)])
