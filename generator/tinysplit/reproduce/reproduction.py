"""A reproduction of published tables: rows, what each rests on, and whether they are equal."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tinysplit.common.errors import CheckFailedError


class Convention(StrEnum):
    """What a figure rests on; the documents say none of it."""

    FLOAT = "float32 weights, batch normalization folded unless it is a layer; KB = 1024 bytes"
    UNFOLDED = "a channel's batch normalization has 4 numbers, the convolution no bias"
    BLOCKS = "a max pool belongs to the convolution before it"
    MACC = "biases count, ReLU does not, ReLU6 1 an element, pools their inputs, softmax 15 an element"
    OVERWRITE = "outputs overwrite inputs row by row; the rule was found from these figures"
    EIGHT_BITS = "a byte takes 8 bit times on the line, whole chips hold the network, every board has a layer"
    LAST_TWO = "the last two layers are never cut apart"
    BUSIEST = "waiting time: the span of the board that is longest computing and sending, unlike formula 7"
    ARROW = "from the throughput of the same split without its intermediate sub-models"
    STAGES = "the milliseconds are measured ones: the layer times that they come from are only a picture"
    COPIES = "each device has the whole network and takes every input that it has time for; not in the document"
    ROOT = "every run leaves the root candidate; * where the latency is not the optimum"
    NODES = "feasible children, the cheapest first; the transfers made so far are in the bound"


Conventions = tuple[Convention, ...]


@dataclass(frozen=True)
class Row:
    """A published figure and ours with as many digits.

    `ours` is "" where it cannot be computed; `why_not` says why it is known to differ. `replicated` is what the whole
    network on each device gives, "" where the quantity has none.
    """

    source: str  # key of docs/references.md
    table: str
    row: str
    quantity: str
    published: str
    ours: str
    conventions: Conventions
    why_not: str
    replicated: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether all printed digits are equal."""
        return self.ours == self.published

    @property
    def difference(self) -> float | None:
        """Ours less the published figure, None where either is no number."""
        try:
            return float(self.ours) - float(self.published)
        except ValueError:
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        return {
            **asdict(self),
            "published": self.published or None,
            "ours": self.ours or None,
            "replicated": self.replicated or None,
            "difference": self.difference,
            "equal": self.is_equal,
        }


@dataclass(frozen=True)
class Reproduction:
    """All rows."""

    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all as JSON holds it."""
        return {"rows": [row.to_json() for row in self.rows]}

    def check(self) -> None:
        """Raise CheckFailedError if a figure differs that is not known to."""
        wrong = [
            f"Table {row.table} {row.row} {row.quantity}" for row in self.rows if not (row.is_equal or row.why_not)
        ]
        if wrong:
            raise CheckFailedError(f"{len(wrong)} figures differ from the published ones: {'; '.join(wrong)}")
