"""The steps of a board in their order: input to its program, its memory layout and the links."""

from enum import StrEnum
from typing import NamedTuple


class StepKind(StrEnum):
    """Kind of a step: receive a tensor over a link, run a layer, send a tensor over a link.

    Boards of a distributed network compute while tensors cross: GRANT lets a tensor come to its place, and RECEIVE
    waits for it; SEND lets a tensor leave, and SENT waits until it has left.
    """

    GRANT = "grant"
    RECEIVE = "receive"
    RUN = "run"
    SEND = "send"
    SENT = "sent"


class PlanStep(NamedTuple):
    """`item` is the index of the layer to run, or of the transfer in `Plan.cuts`; `tensor` is its output or payload."""

    kind: StepKind
    item: int
    tensor: int  # index of the layer that computed it
