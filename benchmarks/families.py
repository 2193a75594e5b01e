"""All STM32 families, each by its board with the most RAM: ten networks on it, and splits over each two of them."""

import statistics
import tempfile
from argparse import Namespace
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from common.benchmark import BITS, JSON, ONLY, benchmark, option
from common.networks import NETWORKS, Case, chosen
from common.runs import Ran, ran
from common.tables import Cell, MarkdownTable, percent
from common.ten_networks import few_samples, write_networks
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import family_names, load_boards
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.slices.settings import Search

FAMILY = option("--family", choices=family_names(), action="append", help="only this family; repeat for several")
T_LIMIT = 0.01  # of what was measured
MANY_SAMPLES = 32


def boards_of(families: Iterable[str]) -> list[Board]:
    """Return the board of each family with the most RAM, that of the first name of several."""
    boards = load_boards()
    return [max((b for b in boards if b.device.family == f), key=lambda b: b.device.ram_bytes) for f in families]


@benchmark("networks", "15 minutes", FAMILY, ONLY, BITS, JSON)
def networks(options: Namespace) -> None:
    """Run ten networks on one virtual board of each family: whether outputs are bit-exact, cycles, flash and RAM.

    Tiny-CNN also in 16 bits. A network that a board has too little memory for has to be refused.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = write_networks(Path(folder))
        cases = (
            (*paths, (board.name,), CostSettings(bits=bits))
            for board in boards_of(options.family or family_names())
            for name, paths in files.items()
            for bits in ((8, 16) if name == "Tiny-CNN" else (8,))
            if options.only in name and bits in (options.bits or (8, 16))
        )
        table = MarkdownTable("board", "network", numbers=("bits", "cycles", "flash", "RAM"), last=("bit-exact",))
        rows = table.print_rows((ran(*case) for case in cases), _network_cells, as_json=options.json)
    conclude(rows, as_json=options.json)


def _network_cells(row: Ran) -> Sequence[Cell]:
    return *row.boards, row.network, row.bits, row.cycles, row.flash_bytes, row.ram_bytes, row.result


def conclude(rows: Sequence[Ran], *, as_json: bool) -> None:
    """Print how many rows are bit-exact. Raises CheckFailedError if one is wrong."""
    wrong, refused = (sum(getattr(row, what) for row in rows) for what in ("is_wrong", "is_refused"))
    if wrong:
        raise CheckFailedError(f"{wrong} of {len(rows)} are not bit-exact")
    if not as_json:
        print(f"\n{len(rows) - refused} of {len(rows)} bit-exact, {refused} refused")


HALVES = {"Tiny-CNN": "1-4:1,5-7:2", "KWS": "1-6:1,7-12:2"}


@benchmark("pairs", "30 minutes", FAMILY, ONLY, JSON)
def pairs(options: Namespace) -> None:
    """Split Tiny-CNN and KWS over each two families: whether outputs are bit-exact, T as predicted and measured.

    Each board has half of the layers, or where memory is short the fastest part. Tensors cross as a whole, by DMA, at
    the highest rate of short wires. T of a short tensor, as boards with little memory get it, depends on what the DMA's
    ring has received before, which differs from sample to sample: it is the mean over many.
    """
    names = [board.name for board in boards_of(options.family or family_names())]
    cases = chosen((Case(network, each, 0) for network in HALVES for each in combinations(names, 2)), options.only)
    numbers = ("bytes", "T predicted, ms", "measured", "error")
    with tempfile.TemporaryDirectory() as folder:
        rows = MarkdownTable("network", "boards", numbers=numbers, last=("bit-exact",)).print_rows(
            (_run_pair(case, Path(folder)) for case in cases), _pair_cells, as_json=options.json
        )
    sizes = [abs(row.t_error) for row in rows if row.t_error is not None]
    if sizes and not options.json:
        within = sum(size <= T_LIMIT for size in sizes)
        figures = f"median {statistics.median(sizes):.2%}, largest {max(sizes):.2%}, {within} within {T_LIMIT:.0%}"
        print(f"\nT of {len(sizes)} splits, without sign: {figures}")
    conclude(rows, as_json=options.json)


def _run_pair(case: Case, folder: Path) -> Ran:
    files = NETWORKS[case.network].model, few_samples(case.network, folder, MANY_SAMPLES)
    settings = CostSettings(link_driver=LinkDriver.DMA, hand_off=HandOffMode.WHOLE, use_all=True)
    row = ran(*files, case.boards, settings, Search(assignment=HALVES[case.network]))
    return ran(*files, case.boards, settings, Search(slices=Slices.NONE), MANY_SAMPLES) if row.is_refused else row


def _pair_cells(row: Ran) -> Sequence[Cell]:
    error = None if row.t_error is None else percent(row.t_error, 2)
    times = (None if each is None else f"{1000 * each:.3f}" for each in (row.estimated_t_s, row.t_s))
    return row.network, ", ".join(row.boards), row.sent_bytes, *times, error, row.result
