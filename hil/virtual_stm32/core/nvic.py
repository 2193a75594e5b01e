"""Exceptions: pending, enabled and active ones, and the next to enter."""

from collections.abc import Callable

NMI, SYSTICK, PENDSV = 2, 15, 14
FIRST_INTERRUPT = 16
THREAD_PRIORITY = 0x100  # no handler is active


class Nvic:
    """The interrupt controller by exception numbers: interrupt n is 16 + n. All priority bits are pre-emption bits."""

    def __init__(self, priority_bits: int) -> None:
        self._mask = 0xFF & ~(0xFF >> priority_bits)
        self.priorities: dict[int, int] = {NMI: -2}
        self.enabled: set[int] = {NMI, SYSTICK, PENDSV}
        self.pending: set[int] = set()
        self.active: list[int] = []
        self._lines: dict[int, list[Callable[[], bool]]] = {}
        self._high: set[int] = set()

    def connect(self, number: int, line: Callable[[], bool]) -> None:
        """Connect a level-sensitive line; several may share an exception."""
        self._lines.setdefault(number, []).append(line)

    def look(self, number: int) -> None:
        """Update an exception from its lines: pending on a rising edge, or if still high after the handler."""
        is_high = any(line() for line in self._lines[number])
        if is_high and (number not in self._high or number not in self.active):
            self.pending.add(number)
        (self._high.add if is_high else self._high.discard)(number)

    def set_priority(self, number: int, priority: int) -> None:
        """Set the priority of an exception; bits that the core lacks are dropped."""
        self.priorities[number] = priority & self._mask

    def next(self) -> int | None:
        """Return the exception to enter next, regardless of PRIMASK and FAULTMASK, or None."""
        if not self.pending:
            return None
        candidates = self.pending & self.enabled
        if not candidates:
            return None
        priority = self.priorities.get
        ranks = [(priority(number, 0), number) for number in candidates]
        wanted, best = ranks[0] if len(ranks) == 1 else min(ranks)
        current = min([priority(number, 0) for number in self.active]) if self.active else THREAD_PRIORITY
        return best if wanted < current else None

    def enter(self, number: int) -> None:
        """Make an exception active."""
        self.pending.discard(number)
        self.active.append(number)

    def leave(self) -> None:
        """End the innermost handler."""
        number = self.active.pop()
        if number in self._lines:
            self.look(number)

    def clear(self, numbers: set[int]) -> None:
        """Clear pending exceptions, except those whose lines are high."""
        self.pending -= numbers - self._high
