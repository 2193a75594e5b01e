"""All STM32 families, each by its board with the most RAM: ten networks on it, and splits over each two of them."""

import statistics
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path

from common.benchmark import BITS, JSON, ONLY, benchmark, option
from common.networks import Case, chosen
from common.runs import Ran, ran, run_inferences
from common.tables import Cell, MarkdownTable, milliseconds, percent
from common.ten_networks import write_networks
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import family_names, load_boards
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.boards.link_rates import fastest_rate
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError, TinysplitError
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.slices.settings import Search

FAMILY = option("--family", choices=family_names(), action="append", help="only this family; repeat for several")
T_LIMIT = 0.01  # of what was measured


def boards_of(families: Iterable[str]) -> list[Board]:
    """Return the board of each family with the most RAM, that of the first name of several."""
    boards = load_boards()
    return [max((b for b in boards if b.device.family == f), key=lambda b: b.device.ram_bytes) for f in families]


@benchmark("networks", "15 minutes", FAMILY, ONLY, BITS, JSON)
def networks(options: Namespace) -> None:
    """Run ten networks on one virtual board of each family: whether outputs are bit-exact, cycles, flash and RAM.

    Tiny-CNN in 8 and 16 bits, the others in 8 bits. Networks that a board has too little memory for are refused; any
    other reason fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = write_networks(Path(folder))
        cases = [
            (*paths, (board.name,), bits)
            for board in boards_of(options.family or family_names())
            for name, paths in files.items()
            for bits in ((8, 16) if name == "tiny_cnn" else (8,))
            if options.only in name and bits in (options.bits or (8, 16))
        ]
        table = MarkdownTable("board", "network", numbers=("bits", "cycles", "flash", "RAM"), last=("bit-exact",))
        rows = table.print_rows((ran(*case) for case in cases), _ran_cells, as_json=options.json)
    wrong, refused = (sum(getattr(row, what) for row in rows) for what in ("is_wrong", "is_refused"))
    if wrong:
        raise CheckFailedError(f"{wrong} of {len(rows)} networks are not bit-exact")
    if not options.json:
        print(f"\n{len(rows) - refused} of {len(rows)} bit-exact, {refused} refused")


def _ran_cells(row: Ran) -> Sequence[Cell]:
    return row.boards[0], row.network, row.bits, row.cycles, row.flash_bytes, row.ram_bytes, row.result


@dataclass(frozen=True)
class PairRow:
    """A tensor that crosses between two boards: its bytes and the seconds of T, or why the split was not measured."""

    network: str
    boards: tuple[str, ...]
    baud: int
    result: str = "yes"
    n_bytes: int | None = None
    estimated_s: float | None = None
    measured_s: float | None = None

    @property
    def error(self) -> float | None:
        """Of the estimate of T, relative to what was measured."""
        return self.estimated_s / self.measured_s - 1 if self.estimated_s and self.measured_s else None


def pair_cases(families: Sequence[str]) -> Iterator[Case]:
    """Yield the splits of Tiny-CNN and KWS over each two families, at the highest rate of short wires."""
    for network, pair in product(("Tiny-CNN", "KWS"), combinations(boards_of(families), 2)):
        names = tuple(board.name for board in pair)
        baud = fastest_rate(*pair, LinkDriver.DMA)
        if baud is None:
            raise CheckFailedError(f"{' and '.join(names)} have no rate in common")
        yield Case(network, names, baud)


@benchmark("pairs", "30 minutes", FAMILY, ONLY, JSON)
def pairs(options: Namespace) -> None:
    """Split Tiny-CNN and KWS over each two families: whether outputs are bit-exact, T as predicted and measured.

    Both boards get layers, though one may be faster alone, and layers stay whole. Tensors cross as a whole, by DMA, at
    the highest rate that both boards make on short wires; a row a tensor.
    """
    cases = chosen(pair_cases(options.family or family_names()), options.only)
    numbers = ("baud", "bytes", "T predicted, ms", "measured", "error")
    rows = MarkdownTable("network", "boards", numbers=numbers, last=("bit-exact",)).print_rows(
        (row for case in cases for row in pair_rows(case)), _pair_cells, as_json=options.json
    )
    sizes = [abs(row.error) for row in rows if row.error is not None]
    if sizes and not options.json:
        within = sum(size <= T_LIMIT for size in sizes)
        figures = f"median {statistics.median(sizes):.2%}, largest {max(sizes):.2%}, {within} within {T_LIMIT:.0%}"
        print(f"\nT of {len(sizes)} tensors without sign: {figures}")
    wrong = sum(row.result != "yes" for row in rows)
    if wrong:
        raise CheckFailedError(f"{wrong} of {len(rows)} splits are not bit-exact")


def pair_rows(case: Case) -> Iterator[PairRow]:
    """Yield a row for each tensor of a split, or one that says why it was not measured."""
    row = PairRow(case.network, case.boards, case.baud)
    settings = CostSettings(link_driver=LinkDriver.DMA, hand_off=HandOffMode.WHOLE, use_all=True)
    try:
        report = run_inferences(case, settings, Search(slices=Slices.NONE))
    except TinysplitError as error:
        yield replace(row, result=str(error))
        return
    for sent in report.measurement.measurement.cuts:
        cut = sent.cut
        yield replace(row, n_bytes=cut.payload_bytes, estimated_s=cut.estimated_s, measured_s=sent.seconds.mean)


def _pair_cells(row: PairRow) -> Sequence[Cell]:
    error = None if row.error is None else percent(row.error, 2)
    times = (milliseconds(row.estimated_s), milliseconds(row.measured_s))
    return row.network, ", ".join(row.boards), row.baud, row.n_bytes, *times, error, row.result
