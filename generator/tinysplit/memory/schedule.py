"""What a board does, step by step: the same list for its program, its memory and the links."""

from enum import StrEnum
from typing import NamedTuple


class StepKind(StrEnum):
    """What a board does in a step: take a tensor from a link, run a layer, give a tensor to a link."""

    RECEIVE = "receive"
    RUN = "run"
    SEND = "send"


class Step(NamedTuple):
    """`item` is a layer to run, or an index of `Plan.cuts`; `tensor` is what is computed or transferred."""

    kind: StepKind
    item: int
    tensor: int  # the layer that computed it
