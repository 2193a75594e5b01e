"""The buffers of staged transfers beside the arena of a board."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinysplit.common.alignment import aligned
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.memory.staging import choose_stages
from tinysplit.timing.topology import Cut


@dataclass(frozen=True)
class StageBuffers:
    """Offsets of the buffers from the start of the arena, in bytes; what has none blocks.

    `cuts` has the offset of each staged transfer by its number from 0; `size_bytes` are the bytes of all.
    """

    cuts: Mapping[int, int]
    input: int | None
    output: int | None
    size_bytes: int

    def moved(self, by_bytes: int) -> "StageBuffers":
        """Return the same buffers further behind."""
        own_input, own_output = (None if at is None else at + by_bytes for at in (self.input, self.output))
        return StageBuffers(
            {number: at + by_bytes for number, at in self.cuts.items()}, own_input, own_output, self.size_bytes
        )


@dataclass(frozen=True)
class HostEnds:
    """What the host gives to a board and gets from it, in bytes; 0 where another board has it.

    An input that is kept for more inferences has its buffer before all others.
    """

    input_bytes: int
    output_bytes: int
    keeps_input: bool = False

    @property
    def kept_bytes(self) -> int:
        """Bytes of the buffer that the board cannot do without."""
        return aligned(self.input_bytes) if self.keeps_input else 0


def place_stages(
    steps: Sequence[PlanStep],
    cuts: Sequence[Cut],
    arena_bytes: int,
    free_bytes: int,
    ends: HostEnds,
    *,
    stages_cuts: bool = True,
) -> StageBuffers:
    """Return the buffers of a board in `free_bytes` of RAM behind its arena.

    Without `stages_cuts` transfers have none: a board that polls its links would lose what comes while a layer runs,
    and those of a distributed network need no buffers.
    """
    received, sent = ([step.item for step in steps if step.kind is kind] for kind in (StepKind.RECEIVE, StepKind.SEND))
    sizes = [cut.payload_bytes if stages_cuts else 0 for cut in cuts]
    in_bytes, out_bytes = ([sizes[number] for number in numbers] for numbers in (received, sent))
    own = (ends.input_bytes, ends.output_bytes)
    stages = choose_stages(free_bytes, in_bytes, out_bytes, *own, keeps_input=ends.keeps_input)
    flat = (*in_bytes, *out_bytes, *own)
    staged = (*stages.in_tensors, *stages.out_tensors, stages.input, stages.output)
    *transfers, own_input, own_output = _offsets(aligned(arena_bytes), flat, staged)
    numbers = zip((*received, *sent), transfers, strict=True)
    placed = {number: offset for number, offset in numbers if offset is not None}
    return StageBuffers(placed, own_input, own_output, stages.size_bytes)


def _offsets(begin: int, sizes: Sequence[int], staged: Sequence[bool]) -> Iterator[int | None]:
    """Yield the offsets of buffers one after the other; None for what is not staged."""
    for size, is_staged in zip(sizes, staged, strict=True):
        yield begin if is_staged else None
        begin += aligned(size) if is_staged else 0
