"""What the DMA controllers of all families have in common: channels, request lines, and the memories in reach.

A transfer between the data register of a UART or ADC and memory happens in the cycle of its request; the latency of a
few bus cycles is not modelled.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral


@dataclass(frozen=True)
class DmaMemory:
    """A memory that the core sees; `controllers` are the DMA controllers whose bus reaches it."""

    name: str
    start: int
    content: memoryview  # of bytes, as the core sees them
    seen_by_dma: Callable[[], memoryview]
    controllers: tuple[str, ...]
    is_writable: bool


@dataclass(frozen=True)
class ChannelSetting:
    """The configuration of a channel: the fields of CCR, or of SxCR, that matter for transfers."""

    to_memory: bool
    is_circular: bool
    interrupts: int  # flags that raise the interrupt
    size_bytes: int = 1  # of a transfer


class RequestLine:
    """A request of a peripheral, such as USART1_RX, and the channel that serves it."""

    def __init__(self, name: str, data_address: int, serve: Callable[[int], None], size_bytes: int = 1) -> None:
        self.name = name
        self.data_address = data_address
        self.serve = serve  # makes the requests that are outstanding at a cycle
        self.size_bytes = size_bytes  # of what the data register gives or takes
        self.channel: Channel | None = None

    def store(self, value: int) -> bool:
        """Write a received value to memory; return False when no channel takes it."""
        return self.channel is not None and self.channel.store(value)

    def fetch(self) -> int | None:
        """Return the next byte to send, or None when no channel gives one."""
        return None if self.channel is None else self.channel.fetch()


class Channel:
    """One channel or stream: `remaining` is its NDTR, `flags` its HALF and COMPLETE."""

    HALF, COMPLETE = 1, 2

    def __init__(self, name: str, changed: Callable[[], None], steal: Callable[[], None]) -> None:
        self.name = name
        self._changed = changed
        self._steal = steal
        self.setting = ChannelSetting(to_memory=True, is_circular=False, interrupts=0)
        self.ended: Callable[[], None] = lambda: None  # all bytes are transferred, and it is not circular
        self.is_on = False
        self.flags = 0
        self.remaining = 0
        self.count = 0  # the value that NDTR was set to
        self._memory = memoryview(b"")
        self._first = 0
        self._position = 0

    def has_interrupt(self) -> bool:
        """Return the level of the channel's interrupt line."""
        return bool(self.flags & self.setting.interrupts)

    @classmethod
    def flags_of(cls, value: int, *, half: int, complete: int) -> int:
        """Return the flags whose bits `half` and `complete` a register has set."""
        return (cls.HALF if value & half else 0) | (cls.COMPLETE if value & complete else 0)

    def shown(self, *, half: int, complete: int) -> int:
        """Return the flags that are set as the bits `half` and `complete` of a register."""
        return (half if self.flags & self.HALF else 0) | (complete if self.flags & self.COMPLETE else 0)

    def begin(self, memory: memoryview, offset: int) -> None:
        """Switch on, with the buffer at `offset` in `memory`."""
        self._memory, self._first, self._position = memory, offset, offset
        self.is_on = True

    def store(self, value: int) -> bool:
        """Write a value to memory; return False while the channel is off or has transferred all."""
        if not self.remaining or not self.is_on:
            return False
        size = self.setting.size_bytes
        self._memory[self._position : self._position + size] = value.to_bytes(size, "little")
        self._step()
        return True

    def fetch(self) -> int | None:
        """Return a byte of memory, or None while the channel is off or has transferred all."""
        if not self.remaining or not self.is_on:
            return None
        value = self._memory[self._position]
        self._step()
        return value

    def _step(self) -> None:
        self.remaining -= 1
        self._position += self.setting.size_bytes
        self._steal()
        if self.remaining == self.count // 2:
            self.set(self.HALF)
        if not self.remaining:
            self.set(self.COMPLETE)
            if self.setting.is_circular:
                self.remaining, self._position = self.count, self._first
            else:
                self.ended()

    def set(self, flag: int) -> None:
        """Set a flag, and raise its interrupt if it is enabled."""
        self.flags |= flag
        if self.setting.interrupts & flag:
            self._changed()

    def clear(self, flags: int) -> None:
        """Clear flags."""
        self.flags &= ~flags
        self._changed()


class RequestRouter(ABC):
    """Selects the request that a channel serves."""

    @abstractmethod
    def request_of(self, controller: str, index: int) -> str | None:
        """Return the name of the request of channel `index` (from 0) of a controller, or None."""


class RequestLines:
    """All request lines of a chip; connects them to channels after every change of a register."""

    def __init__(self, lines: Iterable[RequestLine], router: RequestRouter) -> None:
        self.lines: Mapping[str, RequestLine] = {line.name: line for line in lines}
        self._router = router
        self.controllers: list[DmaController] = []

    def request_of(self, controller: str, index: int) -> RequestLine | None:
        """Return the line that a channel serves. Raises NotModelledError for requests of other peripherals."""
        name = self._router.request_of(controller, index)
        if name is not None and name not in self.lines:
            raise NotModelledError(f"the request {name} of {controller} is not modelled")
        return None if name is None else self.lines[name]

    def reconnect(self, now: int) -> None:
        """Connect the lines to the channels that are on now, and serve the outstanding requests.

        Raises NotModelledError when two channels serve one request.
        """
        for line in self.lines.values():
            line.channel = None
        for controller in self.controllers:
            for index, channel in enumerate(controller.channels):
                if channel.is_on:
                    self._connect(self.request_of(controller.name, index), channel)
        for line in self.lines.values():
            line.serve(now)

    @staticmethod
    def _connect(line: RequestLine | None, channel: Channel) -> None:
        if line is None:
            return
        if line.channel is not None:
            raise NotModelledError(f"{line.channel.name} and {channel.name} both serve {line.name}")
        line.channel = channel


class DmaController(Peripheral):
    """A DMA controller; subclasses define the registers."""

    def __init__(self, name: str, channels: list[Channel], memories: Iterable[DmaMemory], lines: RequestLines) -> None:
        super().__init__(name)
        self.channels = channels
        self._memories = tuple(memories)
        self._lines = lines
        lines.controllers.append(self)

    def begin(self, index: int, peripheral: int, address: int) -> None:
        """Switch a channel on, with a data register and a buffer in memory.

        Raises NotModelledError for another data register than that of the selected request, another size than its, and
        for a buffer that the controller cannot reach.
        """
        channel = self.channels[index]
        line = self._lines.request_of(self.name, index)
        if line is not None and line.size_bytes != channel.setting.size_bytes:
            raise NotModelledError(
                f"{channel.name} transfers {channel.setting.size_bytes} bytes at a time, {line.name} {line.size_bytes}"
            )
        if line is not None and line.data_address != peripheral:
            raise NotModelledError(
                f"{channel.name} serves {line.name} with the peripheral address 0x{peripheral:08x},"
                f" which should be 0x{line.data_address:08x}"
            )
        memory = self._find(channel, address)
        channel.begin(memory.seen_by_dma(), address - memory.start)

    def _find(self, channel: Channel, address: int) -> DmaMemory:
        count = max(channel.remaining, channel.count) * channel.setting.size_bytes
        for memory in self._memories:
            if not memory.start <= address <= memory.start + len(memory.content) - count:
                continue
            if self.name not in memory.controllers:
                raise NotModelledError(
                    f"{channel.name} cannot reach 0x{address:08x}: {self.name} has no bus to {memory.name}"
                )
            if channel.setting.to_memory and not memory.is_writable:
                raise NotModelledError(f"{channel.name} writes to 0x{address:08x}, which is {memory.name}")
            return memory
        raise NotModelledError(f"{channel.name}: {count} bytes at 0x{address:08x} are not in one memory")
