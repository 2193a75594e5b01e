"""The published figures as printed, and the reasons why some of them cannot be reproduced.

Tables 2, 4 and 5 of Santamaria 2021 (its Table 3 is in boards/*.toml), and Table 2 of Mukherjee 2022.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Table2Row:
    """A network of Santamaria 2021, Table 2."""

    model: str
    depth: str
    flash_kb: str
    ram_kb: str
    macc_millions: str


@dataclass(frozen=True)
class Table4Row:
    """A network on two boards in Santamaria 2021, Table 4, and the results of its solvers; "*": not optimal."""

    model: str
    boards: tuple[str, str]
    latency_s: str
    latency_parts: str  # "# Splits", which counts sub-models
    throughput: str  # 1/s
    throughput_parts: str
    drop_percent: str  # the arrow after the throughput
    full_steps: str
    dichotomic_steps: str
    branch_and_bound_steps: str

    @property
    def label(self) -> str:
        """The network and its boards: one network has two rows."""
        return f"{self.model}, {' '.join(board.removeprefix('nucleo_').removeprefix('stm32') for board in self.boards)}"


@dataclass(frozen=True)
class PipelineRow:
    """A network of Mukherjee 2022, Table 2: the last layer on the Nano, ms of both stages, and ms whole on either."""

    model: str
    partition_point: int
    nano_stage_ms: int
    tpu_stage_ms: int
    nano_ms: int
    tpu_ms: int


TABLE_2 = (
    Table2Row("MobileNet v1 025", "30", "1825.53", "262.06", "14.4"),
    Table2Row("MobileNet v1 030", "30", "2366.15", "311.32", "19.6"),
    Table2Row("MobileNet v1 035", "30", "2976.80", "360.34", "26.0"),
    Table2Row("YAMNet 256", "13", "526.25", "396.25", "24.4"),
    Table2Row("VoxCeleb", "7", "926.84", "39.75", "12.1"),
    Table2Row("KWS CNN", "8", "270.91", "31.21", "2.53"),
    Table2Row("KWS DS-CNN", "17", "155.80", "56.25", "4.83"),
    Table2Row("Tiny-CNN", "5", "74.85", "11.31", "0.81"),
)

H7_AND_L4 = ("nucleo_h743zi", "nucleo_l4r5zi")
TABLE_4 = (
    Table4Row("MobileNet v1 025", H7_AND_L4, "0.268", "2", "4.034", "2", "", "2^30", "236", "66"),
    Table4Row(
        *("MobileNet v1 030", ("nucleo_h743zi", "nucleo_f401re")),
        *("1.839", "3", "0.544", "3", "13.5", "2^30", "236", "62"),
    ),
    Table4Row("MobileNet v1 035", H7_AND_L4, "0.448", "2", "2.379", "2", "", "2^30", "236", "66"),
    Table4Row("YAMNet 256", H7_AND_L4, "4.331", "2", "0.278", "2", "", "2^13", "100*", "73"),
    Table4Row(
        *("VoxCeleb", ("nucleo_l452re", "nucleo_f446re"), "0.684", "2", "1.492", "2", "", "2^7", "52", "13"),
    ),
    Table4Row(
        *("VoxCeleb", ("nucleo_f446re", "nucleo_h723zg"), "0.208", "2", "4.955", "2", "", "2^7", "52", "13"),
    ),
    Table4Row(
        *("KWS CNN", ("nucleo_l433rc_p", "nucleo_l412kb"), "0.822", "3", "1.216", "3", "1", "2^8", "46", "17"),
    ),
    Table4Row(
        *("KWS DS-CNN", ("stm32f401rb", "stm32f401rb"), "2.74", "2", "0.431", "2", "", "2^17", "132", "80"),
    ),
    Table4Row(
        *("Tiny-CNN", ("nucleo_g071rb", "nucleo_g071rb"), "4.10", "2", "0.341", "3", "", "2^5", "18", "13"),
    ),
)

TABLE_5_MODEL = {"L, s": "3.88", "T, s": "0.22", "I, s": "4.1"}
TABLE_5_EXPERIMENTAL = {"L, s": "3.56", "T, s": "0.25", "I, s": "3.81"}
TABLE_5_LESS_PERCENT = "8"  # of the modelled L, in the text

MUKHERJEE_TABLE_2 = (
    PipelineRow("ResNet34", 16, 195, 201, 689, 299),
    PipelineRow("ResNet18", 7, 206, 207, 636, 274),
    PipelineRow("ResNext", 10, 204, 204, 588, 285),
)

PIPELINE_IN_FIGURE_4, NANO_IN_FIGURE_4 = "396", "688"  # ms, in the text of section 5.1

TABLE_3_RAM: Mapping[str, str] = {
    "nucleo_h743zi": "1 Mbyte is rounded: 992 KB hold data, 64 KB instructions, 4 KB are for backup",
    "nucleo_h723zg": "counts 64 KB for instructions and 4 KB for backup, which no tensor can use",
    "nucleo_l452re": "counts SRAM1 alone, without 32 KB of SRAM2",
}
CPM = "not identifiable: cycles per MACC of X-CUBE-AI's float32 kernels, measured by the authors"
EXPERIMENT = (
    "not identifiable: measured on boards with X-CUBE-AI's float32 kernels; ours compute in fixed point, 8 or 16 bits, "
    "so that no time of our boards compares with it"
)
BYTES_ON_A_LINE = "at 115200 baud with a start and a stop bit the tensor takes longer than what was measured"
ALL_BOARDS = "Table 4 has 0.268; the text minimises over all placements, and the H743 alone is faster"
CUT_ANYWHERE = "Table 4 has 4.331; the text allows a cut behind each layer"
EIGHT_OR_TEN = "Table 4 has 0.268; section 4 describes a line with start and stop bits, which formula 3 leaves out"
FORMULA_7 = "Table 4 has 1.216; formula 7 takes the board that computes longest, the table the one that is busy longest"
ONLY_LATENCY_MARKED = "Table 4 does not say that the dichotomic search misses the best throughput, too"
OVERLOAD = "Figures 4 and 5 have 25 frames/s, which neither approach sustains: their queues grow without bound"

ORDER_OF_VALUES = (
    "the number of nodes depends on the order in which devices are tried, which the document does not give"
)
NO_SINGLE_RULE = "d^2 (2n - 1) gives the counts of all other rows, but not this one"
BLOCKS = (
    "each block of convolution and pool is one layer, which makes four; five and Table 5's 3 + 2 need the second "
    "pool as a layer of its own, and give the same figures"
)
ONLY_A_PICTURE = "not identifiable: Mukherjee 2022 gives the times of layers only as a plot (Figure 3)"
NOT_PRINTED = "not printed: inferences/s follow from the printed milliseconds"
PROPRIETARY = "not identifiable: no network of the described kind has its flash, MACC and cut"
KNOWN_DIFFERENCES: Mapping[tuple[str, str], str] = {
    (
        "MobileNet v1 030",
        "RAM, KB",
    ): "the rule that fits the other networks gives 0.12 KB less; 19 channels are an odd number",
    ("KWS DS-CNN", "RAM, KB"): "no rule was found that fits this network and the others",
    ("KWS DS-CNN", "MACC, 10^6"): "0.29 more than the MACs of its layers; unexplained",
    ("KWS DS-CNN", "latency, s"): "follows from Table 2's 4.83 * 10^6 MACC: 0.518 + 2.222 = 2.740",
    ("Tiny-CNN", "depth"): BLOCKS,
    ("Tiny-CNN", "full search, steps"): BLOCKS,
    ("KWS CNN", "dichotomic, steps"): NO_SINGLE_RULE,
    ("Tiny-CNN", "dichotomic, steps"): NO_SINGLE_RULE,
    **{
        (model, "branch and bound, steps"): ORDER_OF_VALUES
        for model in ("MobileNet v1 030", "MobileNet v1 035", "YAMNet 256", "KWS CNN", "KWS DS-CNN", "Tiny-CNN")
    },
}
