"""Flash and static RAM of programs as predicted from their plans, beside those of the built programs.

    .venv/bin/python benchmarks/memory.py [--json] [--only TEXT]

Each case is a network on some boards: split as `tinysplit split --use-all` does it, quantized with random formats,
generated and built. Static RAM has the stack, which is stated separately, and that of the fault handler. "Counted" is
the flash that the search counts for the same split at most. The networks other than Tiny-CNN are looked for in
../shared/models. Takes some minutes.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from periods import NETWORKS
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.build.folder import build_folder
from tinysplit.build.report import ERROR_BYTES, ERROR_SHARE, is_as_predicted
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.choices import Slices
from tinysplit.common.tables import plain_table
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.pipeline import Context, describe_split, distribute_network, plan_boards, split_network, write_projects
from tinysplit.slices.settings import Search

G0, F4, L4, L4PLUS, H7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_l4r5zi", "nucleo_h743zi"
QUIET = Console(quiet=True)
PERCENT = 100


@dataclass(frozen=True)
class Case:
    """A network on boards."""

    network: str
    boards: tuple[str, ...]
    bits: int = 8
    baud: int = 1_000_000
    hand_off: HandOffMode | None = None
    driver: LinkDriver | None = None
    slices: Slices | None = None

    @property
    def title(self) -> str:
        """Boards and what differs from the usual, as text."""
        options = (self.hand_off, self.driver, self.slices and f"slices by {self.slices}")
        return ", ".join((" + ".join(self.boards), *map(str, filter(None, options))))


CASES = (
    *(Case("Tiny-CNN", (board,)) for board in (G0, F4, L4, H7)),
    *(Case("Tiny-CNN", (board,), bits=16) for board in (G0, "nucleo_l412kb", H7)),
    Case("Tiny-CNN", (G0, F4)),
    Case("Tiny-CNN", (G0, "nucleo_l433rc_p", H7), baud=115_200, driver=LinkDriver.INTERRUPT),
    Case("Tiny-CNN", (F4, L4), bits=16, baud=115_200, driver=LinkDriver.POLLING),
    Case("Tiny-CNN", (G0, G0), baud=3_000_000, slices=Slices.ROWS),
    *(Case("KWS", (board,)) for board in (G0, "nucleo_f446re", L4PLUS, "nucleo_h723zg")),
    Case("KWS", (G0,), bits=16),
    Case("KWS", (F4, F4), hand_off=HandOffMode.STREAMED),
    Case("KWS", (G0, L4, "nucleo_h723zg"), hand_off=HandOffMode.WHOLE),
    Case("KWS", (F4, H7), bits=16),
    Case("ResNet-8", ("nucleo_f446re",)),
    Case("ResNet-8", (L4PLUS,), bits=16),
    Case("ResNet-8", (H7,)),
    Case("ResNet-8", (G0, G0), hand_off=HandOffMode.STREAMED),
    Case("ResNet-8", (G0, F4, L4)),
    Case("MobileNet v1 0.25", (H7,)),
    Case("MobileNet v1 0.25", (F4, L4PLUS)),
)


@dataclass(frozen=True)
class Row:
    """Bytes of the program of a board; static RAM with the stack's reserve."""

    network: str
    bits: int
    boards: str
    board: str
    counted_flash_bytes: int
    predicted_flash_bytes: int
    flash_bytes: int
    predicted_ram_bytes: int
    ram_bytes: int
    stack_bytes: int

    @property
    def is_kept(self) -> bool:
        """Whether both are within the error that `build` allows."""
        is_flash_kept = is_as_predicted(self.predicted_flash_bytes, self.flash_bytes)
        return is_flash_kept and is_as_predicted(self.predicted_ram_bytes, self.ram_bytes)


def rows_of(case: Case) -> Iterator[Row]:
    """Yield a row for each board of a case."""
    settings = CostSettings(
        bits=case.bits, baud=case.baud, use_all=True, hand_off=case.hand_off, link_driver=case.driver
    )
    context = Context.load(NETWORKS[case.network], case.boards, settings, QUIET)
    split = split_network(context, Search(slices=case.slices or Slices.NONE))
    quantized = quantize_randomly(context.graph, case.bits)[0]
    quantized, _ = distribute_network(context, quantized, split.distributions)
    plans = plan_boards(context, quantized, split.problem, split.assignments)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        project = write_projects(context, quantized, plans, describe_split(context, split), 0, out)
        report = build_folder(project, out, QUIET)
    for built in report.boards:
        own, index = built.board, built.board.number - 1
        board = context.boards[index]
        counted = split.figures.flash_bytes[index]
        yield Row(
            network=case.network,
            bits=case.bits,
            boards=case.title,
            board=own.title,
            counted_flash_bytes=counted + board.device.flash.size_bytes - split.problem.devices[index].flash_bytes,
            predicted_flash_bytes=own.predicted_flash_bytes or 0,
            flash_bytes=built.sizes.flash.used_bytes,
            predicted_ram_bytes=own.predicted_ram_bytes or 0,
            ram_bytes=built.sizes.ram_bytes,
            stack_bytes=built.sizes.stack_bytes,
        )


def print_rows(console: Console, rows: list[Row]) -> None:
    """Print one row a board, and how many are within the error."""
    numbers = ("counted", "flash predicted", "built", "error", "%", "RAM predicted", "built", "error", "of it stack")
    table = plain_table("network", "boards", "board", numbers=numbers)
    for row in rows:
        error = row.predicted_flash_bytes - row.flash_bytes
        ram_error = row.predicted_ram_bytes - row.ram_bytes
        table.add_row(
            f"{row.network}, {row.bits}",
            row.boards,
            row.board,
            str(row.counted_flash_bytes),
            str(row.predicted_flash_bytes),
            str(row.flash_bytes),
            f"{error:+}",
            f"{PERCENT * error / row.flash_bytes:+.1f}",
            str(row.predicted_ram_bytes),
            str(row.ram_bytes),
            f"{ram_error:+}",
            str(row.stack_bytes),
        )
    console.print(table)
    kept = sum(row.is_kept for row in rows)
    console.print(f"{kept} of {len(rows)} programs within {ERROR_SHARE:.0%} and {ERROR_BYTES} bytes", highlight=False)


def main() -> None:
    """Build all cases whose networks are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", default="", help="only cases whose network or boards contain this text")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for case in CASES:
        if arguments.only not in f"{case.network} {case.title}":
            continue
        if not NETWORKS[case.network].exists():
            Console(stderr=True).print(f"{case.network} is left out: {NETWORKS[case.network]} is absent")
            continue
        rows += rows_of(case)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        print_rows(Console(width=200), rows)


if __name__ == "__main__":
    main()
