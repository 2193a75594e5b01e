"""Tensors on one simulated link, without boards."""

from collections.abc import Generator
from typing import Any

from simpy import Environment, Event

from tinysplit.common.protocol_limits import LINK_REPLY_BYTES, line_bytes_of
from tinysplit.timing.line import Line
from tinysplit.timing.loss import Loss, Losses
from tinysplit.timing.receiver import Receiver
from tinysplit.timing.sender import Sender
from tinysplit.timing.topology import Cut


def transfer_times(baud: int, size: int, loss: Loss, count: int) -> list[float]:
    """Return the seconds of tensors of `size` bytes, from the wish to send each to its acknowledgement."""
    env, byte_s = Environment(), 10 / baud
    forth, back = (Line(env, LINK_REPLY_BYTES * byte_s, Losses(loss, name), None) for name in ("forth", "back"))
    cut = Cut(0, 0, 1, size, 0.0)
    receiver = Receiver(env, back, cut, 0, forth)
    sender = Sender(env, forth, cut, 0, line_bytes_of(size) * byte_s, receiver)
    sender.hear, receiver.hear = receiver.hear_note, sender.hear_note
    times_s = []

    def send() -> Generator[Event, Any, None]:
        for number in range(count):
            begin_s = env.now
            sender.send(number)
            yield sender.free.opened
            times_s.append(env.now - begin_s)

    def receive() -> Generator[Event, Any, None]:
        for number in range(count):
            receiver.accept(number)
            yield receiver.full.opened

    for line in (forth, back):
        line.begin()
    env.process(send())
    env.process(receive())
    env.run()
    return times_s
