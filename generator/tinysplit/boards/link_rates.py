"""The baud rates that a link can have: those that the dividers of both UARTs make, near enough to each other."""

from collections.abc import Sequence

from tinysplit.boards.board import Uart

# From the highest: whole fractions of most clocks down to 1 Mbaud, then the usual rates of serial ports.
RATES = (
    *(8_000_000, 6_000_000, 5_000_000, 4_000_000, 3_000_000, 2_000_000, 1_500_000, 1_000_000),
    *(460_800, 230_400, 115_200, 57_600),
)
LOW_RATES = (38_400, 19_200, 9_600)  # at which bad wires are tested, too

# By how much the rates of two UARTs may differ. A receiver tolerates 3.75 %, 2.5 % with oversampling by 8 (RM0444,
# tolerance of the USART receiver); 2 % of it are left to the oscillators, as ClockSource describes them.
TOLERANCE, TOLERANCE_OVER8 = 0.0175, 0.005
LEAST_BY_16 = 16  # clocks per bit


def common_rates(first: Uart, second: Uart, rates: Sequence[int] = RATES) -> tuple[int, ...]:
    """Return those of `rates` on which both UARTs agree."""
    return tuple(baud for baud in rates if agree(first, second, baud))


def agree(first: Uart, second: Uart, baud: int) -> bool:
    """Return whether both UARTs make `baud` within 2 %, and their rates are near enough to each other."""
    uarts = (first, second)
    if not all(uart.makes(baud) for uart in uarts):
        return False
    rates = [uart.actual_baud(baud) for uart in uarts]
    by_8 = any(uart.divider(baud) < LEAST_BY_16 for uart in uarts)
    return max(rates) <= (1 + (TOLERANCE_OVER8 if by_8 else TOLERANCE)) * min(rates)
