"""The baud rates of links and host ports: those that the dividers of the UARTs make, near enough to each other."""

from collections.abc import Sequence
from itertools import product

from tinysplit.boards.board import Board, Uart
from tinysplit.boards.link_driver import LinkDriver, possible_drivings
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.errors import UsageError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, USUAL_HOST_BAUD
from tinysplit.settings.programs import HOST_BAUD

# From the highest: whole fractions of most clocks down to 1 Mbaud, then the usual rates of serial ports.
RATES = (
    8_000_000,
    6_000_000,
    5_000_000,
    4_000_000,
    3_000_000,
    2_000_000,
    1_500_000,
    1_000_000,
    460_800,
    230_400,
    115_200,
    57_600,
)
SHORT_WIRES_BAUD = 4_000_000  # that links of short wires on a desk are assumed to allow until they are tested
SHORT_WIRES_RATES = tuple(rate for rate in RATES if rate <= SHORT_WIRES_BAUD)
LOW_RATES = (38_400, 19_200, 9_600)  # at which bad wires are tested, too
# Of host ports, whose interrupts may lose bytes at higher rates (docs/understand/protocol.md).
HOST_RATES = (USUAL_HOST_BAUD, *(rate for rate in RATES if rate < USUAL_HOST_BAUD), *LOW_RATES)

# Core cycles for which a host's UART without FIFO may have to keep a byte, while interrupts are masked, or the frame
# before it is obeyed: on virtual boards 520 are enough beside a link of 4 Mbaud (STM32C031), and where flash is read by
# words 571 (STM32F091; 545 are not).
HOST_BYTE_CYCLES, HOST_BYTE_CYCLES_OF_WORDS = 500, 600

# By how much the rates of two UARTs may differ. A receiver tolerates 3.75 %, 2.5 % with oversampling by 8 (RM0444,
# tolerance of the USART receiver); 2 % of it are left to the oscillators, as ClockSource describes them.
TOLERANCE, TOLERANCE_OVER8 = 0.0175, 0.005
LEAST_BY_16 = 16  # clocks per bit


def common_rates(first: Uart, second: Uart, rates: Sequence[int] = RATES) -> tuple[int, ...]:
    """Return those of `rates` on which both UARTs agree."""
    return tuple(baud for baud in rates if agree(first, second, baud))


def fastest_rate(first: Board, second: Board, driver: LinkDriver | None = None, n_links: int = 1) -> int | None:
    """Return the highest baud rate of a link on short wires between two boards, None where they have no common one.

    Their UARTs make it nearly enough, and lose nothing with `driver`, None for any. A board has up to `n_links` links:
    which of as many UARTs this one gets is decided with the wiring.
    """
    ends = [(board, uart) for board in (first, second) for uart in board.link_uarts[:n_links]]
    pairs = list(product(first.link_uarts[:n_links], second.link_uarts[:n_links]))
    for baud in SHORT_WIRES_RATES:
        if all(agree(*pair, baud) for pair in pairs) and all(possible_drivings(*end, driver, baud) for end in ends):
            return baud
    return None


def agree(first: Uart, second: Uart, baud: int) -> bool:
    """Return whether both UARTs make `baud` within 2 %, and their rates are near enough to each other."""
    uarts = (first, second)
    if not all(uart.makes(baud) for uart in uarts):
        return False
    return _are_near([uart.actual_baud(baud) for uart in uarts], uarts, baud)


def _are_near(rates: Sequence[float], uarts: Sequence[Uart], baud: int) -> bool:
    return max(rates) <= (1 + tolerance(uarts, baud)) * min(rates)


def tolerance(uarts: Sequence[Uart], baud: int) -> float:
    """Return the part by which the rates of UARTs may differ at `baud`, beside their oscillators."""
    by_8 = any(uart.divider(baud) < LEAST_BY_16 for uart in uarts)
    return TOLERANCE_OVER8 if by_8 else TOLERANCE


def host_baud_of(boards: Sequence[Board]) -> int:
    """Return the highest of HOST_RATES that the host UARTs of all boards keep as near as a receiver needs it.

    None of them loses a byte. The host is taken to be exact. Raises UsageError where there is none.
    """
    uarts = [board.host_uart for board in boards]
    for baud in HOST_RATES:
        if not all(_keeps_up(board, baud) for board in boards):
            continue
        if all(uart.makes(baud) and _are_near((baud, uart.actual_baud(baud)), (uart,), baud) for uart in uarts):
            return baud
    names = ", ".join(dict.fromkeys(board.name for board in boards))
    raise UsageError(f"{names} have no usual baud rate of host ports in common: choose one with {HOST_BAUD}")


def _keeps_up(board: Board, baud: int) -> bool:
    cycles = HOST_BYTE_CYCLES_OF_WORDS if board.flash_level.access_bytes == WORD_BYTES else HOST_BYTE_CYCLES
    return board.host_uart.has_fifo or board.clock.core_hz * BITS_PER_BYTE >= baud * cycles
