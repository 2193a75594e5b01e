"""What wakes a board from stop mode, and how long that takes."""

from dataclasses import dataclass
from math import ceil
from typing import Self

from tinysplit.boards.board import Board, Interrupt, Uart
from tinysplit.boards.catalog import load_family, wake_us
from tinysplit.boards.parts import Pin
from tinysplit.common.errors import UsageError
from tinysplit.common.units import US
from tinysplit.plan.plan import BoardPlan
from tinysplit.settings.boards_and_links import LINK_DRIVER
from tinysplit.settings.programs import LOW_POWER

BITS_PER_BYTE = 10
SPARE_WAKE_BYTES = 3  # beyond the time in which a board wakes: the one that wakes it, and two for its receiver
INTERRUPTS_PER_WORD = 32
WORD_MASK = (1 << INTERRUPTS_PER_WORD) - 1


@dataclass(frozen=True)
class WakeUp:
    """The receivers' pins of a board whose falling lines wake it, the host's first, and the interrupts of all that do.

    `wake_us` are from the end of stop mode until the clocks are raised, at most.
    """

    wake_us: int
    pins: tuple[Pin, ...]
    interrupts: tuple[Interrupt, ...]

    @classmethod
    def of(cls, plan: BoardPlan) -> Self:
        """Return what wakes the board of a plan. Raises UsageError where its UARTs cannot."""
        board = plan.board
        if plan.links and plan.link_driving.polls:
            raise UsageError(
                f"{board.name} cannot wake by its links, whose driver polls: use another {LINK_DRIVER}, or "
                f"{LOW_POWER('sleep')}"
            )
        by_line: dict[int, Uart] = {}
        for uart in (board.host_uart, *(link.uart for link in plan.links)):
            other = by_line.setdefault(uart.rx.number, uart)
            if other is not uart:
                raise UsageError(
                    f"{board.name} cannot wake by {uart.name}: {uart.rx.name} has the EXTI line of {other.rx.name} of "
                    f"{other.name}: connect another UART, or use {LOW_POWER('sleep')}"
                )
        stop = load_family(board.device.name).stop
        timer = next(each for each in board.device.interrupts if each.name == stop.timer_interrupt)
        interrupts = {timer, *(_line_interrupt(board, line) for line in by_line)}
        return cls(wake_us(board), tuple(uart.rx for uart in by_line.values()), tuple(interrupts))

    @property
    def interrupt_words(self) -> tuple[int, ...]:
        """The interrupts as two words of NVIC->ISER."""
        mask = sum(1 << each.position for each in self.interrupts)
        return tuple(mask >> INTERRUPTS_PER_WORD * word & WORD_MASK for word in range(2))


def wake_bytes(board: Board, baud: int) -> int:
    """Return how many bytes a neighbour sends to wake a board over a link of this baud rate."""
    return ceil(wake_us(board) * baud / (US * BITS_PER_BYTE)) + SPARE_WAKE_BYTES


def _line_interrupt(board: Board, line: int) -> Interrupt:
    """Return the interrupt of an EXTI line."""
    for interrupt in board.device.interrupts:
        if line in interrupt.exti_lines:
            return interrupt
    raise ValueError(f"{board.device.name} has no interrupt of EXTI line {line}")
