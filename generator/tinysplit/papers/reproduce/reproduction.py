"""A reproduction of published tables: figures, the conventions that they assume, and whether they are equal."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from tinysplit.common.errors import CheckFailedError
from tinysplit.papers.plots.plot import Plot

SANTAMARIA, MUKHERJEE = "Santamaria 2021", "Mukherjee 2022"  # docs/reference/references.md
NOT_IDENTIFIABLE = "not identifiable"  # at the beginning of a reason


class Verdict(StrEnum):
    """How a figure of ours compares with the published one."""

    EQUAL = "equal"
    KNOWN_TO_DIFFER = "known to differ"
    NOT_IDENTIFIABLE = "not identifiable"  # the document lacks what is needed to compute or to compare it
    NOT_PRINTED = "not printed"  # follows from the document, which does not have the number
    UNEXPECTED = "unexpected"


class Convention(StrEnum):
    """Conventions that a figure assumes; most are not stated by the documents, see INDEPENDENT."""

    FLOAT = "float32 weights, batch normalization folded unless it is a layer; KB = 1024 bytes"
    UNFOLDED = "batch normalization has 4 numbers per channel, the convolution no bias"
    BLOCKS = "a max pool belongs to the convolution before it"
    MACC = "biases count, ReLU counts 0, ReLU6 1 per element, pools 1 per input of a window, softmax 15 per element"
    OVERWRITE = "outputs overwrite inputs row by row; the rule was derived from these figures"
    EIGHT_BITS = "8 bit times per byte on the line, all flash of a chip is available, every board runs a layer"
    LAST_TWO = "the last two layers are on the same board"
    BUSIEST = "waiting time: the span of the board with the longest computation and sending time, unlike formula 7"
    ARROW = "from the throughput of the same split without its intermediate sub-models"
    STAGES = "measured milliseconds as printed: the times of the layers are only in a plot"
    EXAMPLE = "layers take 1, 0.5, 1 and 0.5 s, and layer 4 is on the blue device; neither is given"
    GREEDY = "an image takes the device that is free first, the faster one if both are"
    COPIES = "replication: each device runs the whole network on its share of the inputs; not in the document"
    FLOAT_TIMES = "float32: Table 3's cycles per MAC, 4 bytes per value on the line; our boards compute in 8 or 16 bits"
    ROOT = "candidates move one run of a root candidate; * marks a latency that is not optimal"
    NODES = "feasible children, smallest bound first; the bound includes the transfers so far"
    TIGHTENED = "weights grow by 10 until the parts hold more than 0.99 of the channels; each part is rounded by itself"
    NO_M20K = "ALM and LAB are limited, M20K is not"
    THIRDS = "a program per layer, started in thirds, at least 0.1 channel per device, no S(x)"
    UNLIMITED = "no resources are limited"
    SIDES = "sides of input maps without padding: 224, 54, 26, 12, 12 for AlexNet"
    MAXIMUM = "devices compute side by side: the maximum in place of the sum"
    NOT_THE_FIRST = "the first layer is left out"


Conventions = tuple[Convention, ...]

# Stated by the documents or the tools that they name; all others are fitted: inferred from the published figures.
INDEPENDENT = frozenset((Convention.FLOAT, Convention.MACC, Convention.STAGES, Convention.COPIES, Convention.GREEDY))


@dataclass(frozen=True)
class Row:
    """A published figure and the computed one with the same number of digits.

    `ours` is "" if it cannot be computed; `why_not` is the reason of a known difference. `replicated` is the figure for
    the whole network replicated on each device, "" if there is none.
    """

    source: str  # key of docs/reference/references.md
    table: str  # a number, or the title of what is no table: "Figure 3"
    row: str
    quantity: str
    published: str
    ours: str
    conventions: Conventions
    why_not: str
    replicated: str = ""

    @property
    def title(self) -> str:
        """Title of the table or figure: "Table 2", "Figure 3"."""
        return f"Table {self.table}" if self.table.isdigit() else self.table

    @property
    def is_equal(self) -> bool:
        """Whether all printed digits are equal."""
        return self.ours == self.published

    @property
    def is_fitted(self) -> bool:
        """Whether ours assumes a rule that was fitted to published figures: being equal is no evidence for it."""
        return bool(set(self.conventions) - INDEPENDENT)

    @property
    def verdict(self) -> Verdict:
        """How ours compares with the published figure."""
        if self.published and self.is_equal:
            return Verdict.EQUAL
        if self.why_not.startswith(NOT_IDENTIFIABLE):
            return Verdict.NOT_IDENTIFIABLE
        if not self.published:
            return Verdict.NOT_PRINTED
        return Verdict.KNOWN_TO_DIFFER if self.why_not else Verdict.UNEXPECTED

    @property
    def difference(self) -> float | None:
        """Ours less the published figure, None where either is no number."""
        try:
            return float(self.ours) - float(self.published)
        except ValueError:
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            **asdict(self),
            "published": self.published or None,
            "ours": self.ours or None,
            "replicated": self.replicated or None,
            "difference": self.difference,
            "equal": self.is_equal,
            "verdict": self.verdict,
            "fitted": self.is_fitted,
        }


@dataclass(frozen=True)
class Reproduction:
    """All rows, and the figures that are plots; `left_out`: what is missing for want of an optional package."""

    rows: tuple[Row, ...]
    left_out: str = ""
    plots: tuple[Plot, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return all rows as JSON values."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "left_out": self.left_out or None,
            "plots": [asdict(plot) for plot in self.plots],
        }

    def check(self) -> None:
        """Raise CheckFailedError if a figure differs without a known reason."""
        wrong = [f"{row.title} {row.row} {row.quantity}" for row in self.rows if not (row.is_equal or row.why_not)]
        if wrong:
            raise CheckFailedError(f"{len(wrong)} figures differ from the published ones: {'; '.join(wrong)}")
