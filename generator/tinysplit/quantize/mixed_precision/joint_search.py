"""`run --bits auto`: widths follow from a split, and the split from widths, so both are found in turn.

The first split has 8 bits everywhere; where no widths that fit it are good enough, 16 bits. Widths are chosen for it,
the network is split again with these, and so on until the split stays as it is. The split that counts is always that of
the widths that are used, settled or not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tinysplit.common.errors import CheckFailedError
from tinysplit.network.bit_widths import LONG, SHORT, BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.mixed_precision.bit_allocation import AutoWidths
from tinysplit.split.problem import Assignment
from tinysplit.split.solution import Split

MOST_ROUNDS = 4


@dataclass(frozen=True)
class AutoRound:
    """Widths for the split `before`: how many parts got 16 bits, and the split with these widths."""

    before: Assignment
    long_parts: int
    parts: int
    after: Assignment

    @property
    def settled(self) -> bool:
        """Whether the split stays as it is."""
        return self.before == self.after


@dataclass(frozen=True, eq=False)
class AutoSplit:
    """A split, the network in the widths that it was found with, and the rounds that led there."""

    split: Split
    quantized: QuantizedGraph
    rounds: tuple[AutoRound, ...]
    first_bits: int  # of everything, for the first split

    @property
    def widths(self) -> BitWidths:
        """The widths that are used."""
        return BitWidths.of_quantized(self.quantized)

    def lines(self) -> Iterator[str]:
        """Say what happened, a line a round."""
        for number, own in enumerate(self.rounds, 1):
            end = "the split with these is the same" if own.settled else "the split with these is another"
            first = f" for the split of {self.first_bits} bits" if number == 1 else ""
            yield f"auto, round {number}: {own.long_parts} of {own.parts} widths{first} are 16 bits; {end}"
        if not self.rounds[-1].settled:
            yield f"auto: not settled after {MOST_ROUNDS} rounds; the last split is that of the widths used"

    def to_json(self) -> dict[str, Any]:
        """Return the rounds, boards counted from 1."""
        return {
            "first_bits": self.first_bits,
            "settled": self.rounds[-1].settled,
            "rounds": [
                {
                    "long_parts": own.long_parts,
                    "parts": own.parts,
                    "before": [device + 1 for device in own.before],
                    "after": [device + 1 for device in own.after],
                }
                for own in self.rounds
            ],
        }


def settle(
    graph: Graph, split_with: Callable[[BitWidths], Split], widths_for: Callable[[Assignment], AutoWidths]
) -> AutoSplit:
    """Return the split and the widths that follow from each other, or those of the last of `MOST_ROUNDS` rounds.

    Raises CheckFailedError where no split, or none with widths that are good enough, was found.
    """
    try:
        return _settle_from(SHORT, graph, split_with, widths_for)
    except CheckFailedError as error:
        try:
            return _settle_from(LONG, graph, split_with, widths_for)
        except CheckFailedError:
            raise error from None


def _settle_from(
    first_bits: int,
    graph: Graph,
    split_with: Callable[[BitWidths], Split],
    widths_for: Callable[[Assignment], AutoWidths],
) -> AutoSplit:
    split, rounds = split_with(BitWidths.all(graph, first_bits)), []
    for _ in range(MOST_ROUNDS):
        auto = widths_for(split.assignment)
        widths = BitWidths.of_quantized(auto.quantized)
        again = split_with(widths)
        every = (*widths.values.values(), *widths.weights.values())
        rounds.append(AutoRound(split.assignment, every.count(LONG), len(every), again.assignment))
        split = again
        if rounds[-1].settled:
            break
    return AutoSplit(split, auto.quantized, tuple(rounds), first_bits)
