"""Messages: what sending or receiving one takes from a processor."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MessageCycles:
    """Cycles of a processor for a message of n tokens: D(n) = setup + token * n + loop * (n - 1) (Dariol 2023).

    `setup` is what it takes however long it is, `loop` what lies between two tokens.
    """

    setup: float
    token: float
    loop: float = 0.0

    def of(self, n_tokens: int) -> float:
        """Return the cycles of a message of `n_tokens`, at least one."""
        return self.setup + self.token * n_tokens + self.loop * (n_tokens - 1)
