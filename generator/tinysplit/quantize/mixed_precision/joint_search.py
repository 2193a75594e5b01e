"""Mixed precision and split together, as `run` finds them: each depends on the other, so they are found in turn.

The first split has 8 bits everywhere or, where no bit widths that fit it reach the accuracy goal, 16 bits. Bit widths
are chosen for it, the network is split again with these, and so on until the split does not change. The final split is
always that of the bit widths that are used, converged or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tinysplit.common.choices import LONG_BITS, SHORT_BITS
from tinysplit.common.errors import CheckFailedError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.mixed_precision.bit_allocation import MixedPrecision
from tinysplit.split.solution import Placement, Split

MOST_ROUNDS = 4


@dataclass(frozen=True)
class Round:
    """Bit widths for the split `before`: how many tensors got 16 bits, and the split with these widths."""

    before: Placement
    tensors_16_bits: int
    tensors: int
    after: Placement

    @property
    def converged(self) -> bool:
        """Whether the split does not change."""
        return self.before == self.after


@dataclass(frozen=True, eq=False)
class JointSplit:
    """A split, the network in the bit widths that it was found with, and the rounds of the search."""

    split: Split
    quantized: QuantizedGraph
    rounds: tuple[Round, ...]
    first_bits: int  # of everything, for the first split

    @property
    def widths(self) -> BitWidths:
        """The bit widths that are used."""
        return BitWidths.of_quantized(self.quantized)

    def lines(self) -> Iterator[str]:
        """Yield a line for every round."""
        for number, found_widths in enumerate(self.rounds, 1):
            end = "same split" if found_widths.converged else "new split"
            first = f" on the {self.first_bits}-bit split" if number == 1 else ""
            used = f"{found_widths.tensors_16_bits} of {found_widths.tensors} tensors{first}"
            yield f"mixed precision, round {number}: 16 bits for {used}, {end}"
        if not self.rounds[-1].converged:
            yield f"mixed precision: not converged after {MOST_ROUNDS} rounds; the last split fits the widths used"

    def to_json(self) -> dict[str, Any]:
        """Return the rounds, boards counted from 1."""
        return {
            "first_bits": self.first_bits,
            "converged": self.rounds[-1].converged,
            "rounds": [
                {
                    "tensors_16_bits": own.tensors_16_bits,
                    "tensors": own.tensors,
                    "before": [device + 1 for device in own.before.devices],
                    "after": [device + 1 for device in own.after.devices],
                }
                for own in self.rounds
            ],
        }


def search_jointly(
    graph: Graph, split_with: Callable[[BitWidths], Split], widths_for: Callable[[Placement], MixedPrecision]
) -> JointSplit:
    """Return a split and bit widths that follow from each other, or those of the last of `MOST_ROUNDS` rounds.

    Raises CheckFailedError where no split, or none with bit widths that reach the accuracy goal, was found.
    """
    try:
        return _search_from(SHORT_BITS, graph, split_with, widths_for)
    except CheckFailedError as error:
        try:
            return _search_from(LONG_BITS, graph, split_with, widths_for)
        except CheckFailedError:
            raise error from None


def _search_from(
    first_bits: int,
    graph: Graph,
    split_with: Callable[[BitWidths], Split],
    widths_for: Callable[[Placement], MixedPrecision],
) -> JointSplit:
    split = split_with(BitWidths.all(graph, first_bits))
    rounds = []
    for _ in range(MOST_ROUNDS):
        mixed = widths_for(split.placement)
        widths = BitWidths.of_quantized(mixed.quantized)
        again = split_with(widths)
        every = (*widths.values.values(), *widths.weights.values())
        rounds.append(Round(split.placement, every.count(LONG_BITS), len(every), again.placement))
        split = again
        if rounds[-1].converged:
            break
    return JointSplit(split, mixed.quantized, tuple(rounds), first_bits)
