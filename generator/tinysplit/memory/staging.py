"""Which transfers of a board are staged: filled or sent in a buffer beside the arena while the board computes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinysplit.common.alignment import aligned


@dataclass(frozen=True)
class Stages:
    """Whether each transfer of a board is staged, in the order of its steps; `size_bytes` of all stages together.

    The network's input and output count as staged only where the board has them.
    """

    in_tensors: tuple[bool, ...]
    out_tensors: tuple[bool, ...]
    input: bool
    output: bool
    size_bytes: int


def choose_stages(
    free_bytes: int,
    in_tensors: Sequence[int],
    out_tensors: Sequence[int],
    input_bytes: int,
    output_bytes: int,
    *,
    keeps_input: bool = False,
) -> Stages:
    """Return which transfers get a buffer of their own in `free_bytes` of RAM beside the arena.

    All arguments are in bytes: of the tensors that the board receives and sends, in the order of its steps, and of the
    network's input and output, 0 where another board has them. Each transfer in turn gets a buffer if there is still
    room: tensors received, tensors sent, the network's input, its output. The others block.

    Received tensors come first: without a buffer both boards of the link wait for each other, while without a buffer
    for a tensor sent only the sender waits. The input comes first where the host counts on its buffer (`keeps_input`).
    """
    sizes = (*in_tensors, *out_tensors, input_bytes, output_bytes)
    staged = tuple(_fitting(sizes, free_bytes))
    if keeps_input:
        kept, *others, output = _fitting((input_bytes, *in_tensors, *out_tensors, output_bytes), free_bytes)
        staged = (*others, kept, output)
    n_in, n_both = len(in_tensors), len(in_tensors) + len(out_tensors)
    return Stages(
        in_tensors=staged[:n_in],
        out_tensors=staged[n_in:n_both],
        input=staged[-2],
        output=staged[-1],
        size_bytes=sum(aligned(size) for size, is_staged in zip(sizes, staged, strict=True) if is_staged),
    )


def _fitting(sizes: Sequence[int], free_bytes: int) -> Iterator[bool]:
    """Yield for each size whether it still fits; nothing needs no buffer."""
    for size in sizes:
        fits = size > 0 and aligned(size) <= free_bytes
        free_bytes -= aligned(size) if fits else 0
        yield fits
