"""Hand-off: what moving a tensor between two boards takes from the line and from the CPUs at its ends."""

from dataclasses import dataclass, replace
from typing import Self

from tinysplit.common.choices import InputSource
from tinysplit.timing.topology import Table

TICK_S = 0.001  # between looks of the firmware at its links while it waits

DeviceTable = tuple[tuple[float, ...], ...]  # seconds by [tensor][device], the network's input last


@dataclass(frozen=True)
class Handoff:
    """Seconds of the parts of a transfer.

    `wire_s` are those of a tensor on a direct link, from its first bit to the last, infinite without a link; `reply_s`
    those of a reply (grant or acknowledgement) on its way back; after its last bit, `latency_s` pass until the receiver
    knows that it has the tensor, and `resume_s` more until it goes on if it waited. The CPU copies a staged tensor
    between its buffer and the arena for `copy_s`, and works for `send_s` or `receive_s` while its UART moves it; one
    that sleeps meanwhile takes `wake_s` more. A receiver that computes looks at what has come when its line pauses, or
    `look_bytes` later on average, which it takes over in `look_s`. The host feeds and reads a device for `host_s`, and
    knows `taken_s` later that an input was taken; the last entries of `receive_s` and `send_s` are those of the
    network's input and output, and that of `copy_s` has all that passes between START and the first layer. An input
    from the board takes no time but that.
    """

    wire_s: Table
    reply_s: DeviceTable  # [sender of the reply][its receiver]
    copy_s: DeviceTable
    send_s: DeviceTable
    receive_s: DeviceTable
    host_s: tuple[tuple[float, float], ...]  # [device]: (input, output)
    latency_s: Table = ()  # empty: none
    resume_s: tuple[float, ...] = ()  # [device]; empty: at once
    taken_s: tuple[float, ...] = ()  # [device]; empty: at once
    overlaps: bool = True  # whether boards compute while their links move tensors
    wake_s: DeviceTable = ()  # of a core that sleeps while a tensor comes; empty: nothing
    tick_shares: tuple[float, ...] = ()  # [device]: of the time asleep that the millisecond interrupt takes
    input_source: InputSource = InputSource.HOST
    wake_up_s: tuple[float, ...] = ()  # [device]: from stop mode; empty: boards do not stop
    hears_bytes: tuple[bool, ...] = ()  # [device]: every byte interrupts, so that it sleeps until a frame has ended
    look_bytes: tuple[int, ...] = ()  # [device]; empty: a board that computes looks at each byte
    look_s: tuple[float, ...] = ()  # [device]
    polled_room_bytes: tuple[int, ...] = ()  # [device]: kept by its UART while it computes; empty: no driver polls

    @classmethod
    def of_lines(cls, wire_s: Table, host_s: tuple[tuple[float, float], ...]) -> Self:
        """Return a hand-off that costs no CPU and needs no replies."""
        n_devices = len(wire_s[0])
        free = ((0.0,) * n_devices,)
        tensors = free * (len(wire_s) + 1)
        return cls(wire_s, free * n_devices, tensors, tensors, tensors, host_s or ((0.0, 0.0),) * n_devices)

    def with_input_from_board(self) -> Self:
        """Return the same parts without what the host's port takes of an input: boards that read one have it."""
        nothing = (0.0,) * len(self.host_s)
        return replace(
            self,
            receive_s=(*self.receive_s[:-1], nothing),
            host_s=tuple((0.0, out_s) for _, out_s in self.host_s),
            taken_s=(),
            wake_s=(*self.wake_s[:-1], nothing) if self.wake_s else (),
            input_source=InputSource.BOARD,
        )

    def without_host(self) -> Self:
        """Return the same parts for boards without a host: applications read inputs and outputs in the arena."""
        nothing = (0.0,) * len(self.host_s)
        return replace(
            self.with_input_from_board(),
            copy_s=(*self.copy_s[:-2], nothing, nothing),
            send_s=(*self.send_s[:-1], nothing),
            host_s=((0.0, 0.0),) * len(self.host_s),
        )

    def until_used_s(self, tensor: int, sender: int, receiver: int) -> float:
        """Return the seconds from the last bit of a tensor until a receiver that waits for it goes on."""
        return (self.latency_s[tensor][sender][receiver] if self.latency_s else 0.0) + self.resuming_s(receiver)

    def resuming_s(self, receiver: int) -> float:
        """Return the seconds from when a board that waits knows that it has a tensor until it goes on."""
        return self.resume_s[receiver] if self.resume_s else 0.0

    def transfer_s(self, tensor: int, sender: int, receiver: int) -> float:
        """Return the seconds of a tensor over a direct link, with its copies at both ends, when both boards wait."""
        line_s = self.wire_s[tensor][sender][receiver] + self.until_used_s(tensor, sender, receiver)
        return line_s + self.copy_s[tensor][sender] + self.copy_s[tensor][receiver]

    def input_reply_s(self, device: int) -> float:
        """Return the seconds until the host knows that `device` has taken an input."""
        return self.taken_s[device] if self.taken_s else 0.0

    def out_s(self, tensor: int, device: int) -> float:
        """Return the CPU seconds of sending a staged tensor."""
        return self.copy_s[tensor][device] + self.send_s[tensor][device]

    def output_s(self, device: int) -> float:
        """Return the CPU seconds of handing the staged output of the network to the host."""
        return self.copy_s[-2][device] + self.send_s[-1][device]

    def asleep_s(self, tensor: int, device: int) -> float:
        """Return the CPU seconds of receiving a tensor while the board sleeps between the interrupts."""
        return self.receive_s[tensor][device] + (self.wake_s[tensor][device] if self.wake_s else 0.0)

    def in_s(self, tensor: int, device: int) -> float:
        """Return the CPU seconds of receiving a staged tensor."""
        return self.copy_s[tensor][device] + self.receive_s[tensor][device]
