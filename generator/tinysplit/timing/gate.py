"""What processes of the simulation wait for."""

from collections.abc import Generator
from typing import Any

from simpy import Environment, Event
from simpy.events import EventPriority

Process = Generator[Event, Any, None]

_LAST = EventPriority(2)  # of the events of one time


class Gate:
    """Open or closed; who waits goes on when it opens."""

    def __init__(self, env: Environment, *, is_open: bool = False) -> None:
        self._env = env
        self.opened = env.event()
        if is_open:
            self.open()

    @property
    def is_open(self) -> bool:
        """Whether nobody has to wait."""
        return self.opened.triggered

    def open(self) -> None:
        """Let all go on that wait."""
        if not self.opened.triggered:
            self.opened.succeed()

    def close(self) -> None:
        """Let all wait that come."""
        if self.opened.triggered:
            self.opened = self._env.event()


def settled(env: Environment) -> Event:
    """Return an event of this time, after all others of it: a line chooses among all that may leave now."""
    event = env.event()
    event._ok, event._value = True, None  # noqa: SLF001 (as simpy's own events are made)
    env.schedule(event, priority=_LAST)
    return event
