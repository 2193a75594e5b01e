"""Speed-up by dividing layers against the number of boards and against the baud rate, estimated and measured.

    .venv/bin/python benchmarks/slices_growth.py            # prints the tables, estimated: some minutes
    .venv/bin/python benchmarks/slices_growth.py --measure  # also measures some points on virtual boards
    .venv/bin/python benchmarks/slices_growth.py --plot     # also draws docs/slices_growth.svg (extra `plots`)

The speed-up is the latency of one NUCLEO-G071RB over that of several, whose layers are divided by rows where that is
estimated to be better than the best split of whole layers. Networks and inputs are those of benchmarks/slices.py.
"""

import argparse
import json
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console

from periods import NETWORKS
from slices import G0, Case, measure_case
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_rates import agree
from tinysplit.common.choices import Slices
from tinysplit.common.units import MS
from tinysplit.costs.settings import CostSettings
from tinysplit.pipeline import Context, split_network
from tinysplit.slices.settings import Search
from tinysplit.split.solution import Split

KBAUD = 1000
PLOT = Path(__file__).parents[1] / "docs" / "slices_growth.svg"
COLORS = {"KWS": "tab:blue", "ResNet-8": "tab:red", "Tiny-CNN": "tab:green"}
BOARDS, BAUD = (1, 2, 3, 4), 3_000_000
TWO, BAUDS = 2, (115_200, 230_400, 460_800, 921_600, 1_000_000, 2_000_000, 3_000_000, 4_000_000)
MEASURED_BAUDS = (460_800, 1_000_000, 3_000_000)
SHOWN_BAUDS = (115_200, 230_400, 460_800, 1_000_000, 2_000_000, 4_000_000)  # on the axis, not too close
LOWEST_BAUDS = (9_600, 19_200, 38_400, 57_600, *BAUDS)


@dataclass(frozen=True)
class Point:
    """Latency I in seconds of a network on boards of one type; measured on virtual boards, or None."""

    network: str
    n_boards: int
    baud: int
    estimated_i_s: float
    estimated_speed_up: float
    measured_i_s: float | None = None
    measured_speed_up: float | None = None


@cache
def split_of(network: str, n_boards: int, baud: int, slices: Slices) -> Split:
    """Return the split with the least estimated latency."""
    boards, settings = (G0,) * n_boards, CostSettings(baud=baud)
    context = Context.load(NETWORKS[network], boards, settings, Console(quiet=True))
    return split_network(context, Search(slices=slices))


@cache
def point_of(network: str, n_boards: int, baud: int, *, is_measured: bool) -> Point:
    """Return the latency and the speed-up at a point."""
    one_s = split_of(network, 1, BAUD, Slices.NONE).objective
    estimated_s = split_of(network, n_boards, baud, Slices.ROWS).objective
    estimated = Point(network, n_boards, baud, estimated_s, one_s / estimated_s)
    if not is_measured:
        return estimated
    row = measure_case(Case(network, n_boards, baud, target=1 / n_boards))
    return Point(**asdict(estimated) | {"measured_i_s": row.measured_i_s, "measured_speed_up": 1 / row.share})


def pays(network: str, baud: int) -> bool:
    """Return whether two boards with divided layers are estimated to be faster than the best split of whole layers."""
    split = split_of(network, TWO, baud, Slices.ROWS)
    return split.distributions is not None and len(set(split.assignment)) > 1


def lowest_baud(network: str) -> int | None:
    """Return the lowest of LOWEST_BAUDS from which dividing pays, by bisection, as a faster link never harms."""
    found = bisect_left(LOWEST_BAUDS, x=True, key=lambda baud: pays(network, baud))
    return LOWEST_BAUDS[found] if found < len(LOWEST_BAUDS) else None


def links_make(baud: int) -> bool:
    """Return whether the UARTs of two boards make a rate."""
    uart = load_board(G0).link_uarts[0]
    return agree(uart, uart, baud)


def _lines(points: Sequence[Point]) -> Iterator[str]:
    yield "| network | boards | baud | estimated, ms | speed-up | measured, ms | speed-up |"
    yield "|---|---|---|---|---|---|---|"
    for point in points:
        cells = [point.network, str(point.n_boards), _grouped(point.baud), f"{MS * point.estimated_i_s:.2f}"]
        cells.append(f"{point.estimated_speed_up:.2f}")
        if point.measured_i_s is not None and point.measured_speed_up is not None:
            cells += [f"{MS * point.measured_i_s:.2f}", f"{point.measured_speed_up:.2f}"]
        else:
            cells += ["", ""]
        yield f"| {' | '.join(cells)} |"


def _grouped(baud: int) -> str:
    return f"{baud:,}".replace(",", " ")


def _plot(by_boards: Sequence[Point], by_baud: Sequence[Point]) -> None:
    """Draw the speed-up against boards and against the baud rate, or say what is missing."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (an optional extra)
    except ImportError:
        print("not drawn: pip install 'tinysplit[plots]'", file=sys.stderr)
        return
    plt.rcParams["svg.fonttype"] = "none"  # text is not converted to paths: smaller files
    plt.rcParams["svg.hashsalt"] = "slices_growth"  # reproducible output
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    _draw(left, {point: point.n_boards for point in by_boards})
    left.plot(BOARDS, BOARDS, ":", color="gray")
    left.set(
        xlabel="boards (links at 3 Mbaud)", ylabel="speed-up over one NUCLEO-G071RB", xticks=BOARDS, ylim=(0, None)
    )
    _draw(right, {point: point.baud / KBAUD for point in by_baud})
    right.axhline(TWO, linestyle=":", color="gray", label="number of boards")
    right.set(xlabel="baud rate in kbaud (2 boards)", xscale="log")
    right.set_xticks([baud / KBAUD for baud in SHOWN_BAUDS], [f"{baud / KBAUD:g}" for baud in SHOWN_BAUDS])
    right.minorticks_off()
    right.plot([], [], color="black", label="estimated")
    right.plot([], [], "o", color="black", label="measured on virtual boards")
    right.legend(loc="upper left")
    figure.savefig(PLOT, metadata={"Date": None})


def _draw(panel: Any, positions: Mapping[Point, float]) -> None:  # noqa: ANN401 (matplotlib is not always there)
    """Draw a line of estimates for each network, and a marker for each measurement."""
    panel.grid(alpha=0.3)
    for network, color in COLORS.items():
        own = [(x, point) for point, x in positions.items() if point.network == network]
        panel.plot([x for x, _ in own], [point.estimated_speed_up for _, point in own], color=color, label=network)
        measured = [(x, point.measured_speed_up) for x, point in own if point.measured_speed_up is not None]
        panel.plot([x for x, _ in measured], [y for _, y in measured], "o", color=color)


def main() -> None:
    """Print the tables, or all as JSON, and draw if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure some points on virtual boards")
    parser.add_argument("--plot", action="store_true", help=f"draw {PLOT.name}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", default="", help="networks whose name contains this text")
    options = parser.parse_args()
    networks = [network for network in COLORS if options.only in network]
    by_boards = [point_of(each, n, BAUD, is_measured=options.measure) for each in networks for n in BOARDS]
    by_baud = [
        point_of(each, TWO, baud, is_measured=options.measure and baud in MEASURED_BAUDS)
        for each in networks
        for baud in BAUDS
        if links_make(baud)
    ]
    lowest = {network: lowest_baud(network) for network in networks}
    if options.json:
        points = {"boards": [asdict(each) for each in by_boards], "baud": [asdict(each) for each in by_baud]}
        print(json.dumps({**points, "lowest_baud": lowest}, indent=2))
    else:
        print(*_lines(by_boards), "", *_lines(by_baud), "", sep="\n")
        for network, baud in lowest.items():
            print(f"{network}: dividing layers over {TWO} boards pays from {_grouped(baud) if baud else 'no'} baud")
    if options.plot:
        _plot(by_boards, by_baud)


if __name__ == "__main__":
    main()
