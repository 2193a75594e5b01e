"""What each choice of a user gives for KWS: latency, period, energy, flash and RAM, as `split` estimates them.

Nothing runs on boards. Takes some minutes in all.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from common.benchmark import JSON, ONLY, benchmark
from common.networks import NETWORKS
from common.tables import Cell, MarkdownTable, milliseconds
from tinysplit import api
from tinysplit.api.splitting import AS_THE_COMMAND
from tinysplit.boards.board import CodeMemory
from tinysplit.common.choices import InputSource, Optimize, Slices
from tinysplit.common.errors import CheckFailedError
from tinysplit.split.problem import Objective

G0, L4R5, H7 = "nucleo_g071rb", "nucleo_l4r5zi", "nucleo_h743zi"
EXTERNAL = "disco_l496ag"


@dataclass(frozen=True)
class Choice:
    """What a user changes, as the docs name it, and how it is asked for."""

    change: str
    options: str
    boards: tuple[str, ...] = (G0,)
    settings: api.CostSettings = api.CostSettings()  # noqa: RUF009 (frozen)
    search: api.Search = AS_THE_COMMAND


@dataclass(frozen=True)
class Given:
    """What a choice gives; flash and RAM of whole programs, of the board that needs most. None: it does not fit."""

    change: str
    options: str
    latency_s: float | None = None
    period_s: float | None = None
    energy_j: float | None = None
    flash_bytes: int | None = None
    ram_bytes: int | None = None


def boards(*names: str) -> str:
    """Return the options for boards."""
    return " ".join(f"-b {name}" for name in names)


def several(count: int) -> Choice:
    """Return the choice of several boards with the fastest links."""
    return Choice(f"{count} boards, layers divided", boards(*[G0] * count), (G0,) * count)


def at(baud: int) -> Choice:
    """Return the choice of a baud rate on two boards."""
    settings = api.CostSettings(baud=baud)
    return Choice(f"2 boards at {baud:,} baud".replace(",", " "), f"{boards(G0, G0)} --baud {baud}", (G0, G0), settings)


def other(name: str) -> Choice:
    """Return the choice of another board."""
    return Choice("another board", boards(name), (name,))


ONE = Choice("one board", boards(G0))
WHOLE = Choice(
    "2 boards, whole layers",
    f"{boards(G0, G0)} --slices none --use-all",
    (G0, G0),
    api.CostSettings(use_all=True),
    api.Search(slices=Slices.NONE),
)
WIDE = Choice("16 bits", f"{boards(G0)} --bits 16", settings=api.CostSettings(bits=16))
FASTER = (
    ONE,
    several(2),
    several(3),
    several(4),
    at(921_600),
    at(115_200),
    WHOLE,
    Choice(
        "2 boards, more results",
        f"{boards(G0, G0)} --objective throughput",
        (G0, G0),
        api.CostSettings(objective=Objective.THROUGHPUT),
    ),
    Choice(
        "the board has its input",
        f"{boards(G0)} --input-source board",
        settings=api.CostSettings(input_source=InputSource.BOARD),
    ),
    WIDE,
    other("nucleo_f401re"),
    other(L4R5),
    Choice(
        "code in flash",
        f"{boards(L4R5)} --code-memory flash",
        (L4R5,),
        api.CostSettings(code_memory=CodeMemory.FLASH),
    ),
    other(H7),
)
FIT = (
    ONE,
    Choice("less flash", f"{boards(G0)} --optimize flash", settings=api.CostSettings(optimize=Optimize.FLASH)),
    Choice("less RAM", f"{boards(G0)} --optimize ram", settings=api.CostSettings(optimize=Optimize.RAM)),
    WIDE,
    several(2),
    Choice(
        "2 boards, weights divided",
        f"{boards(G0, G0)} --slices channels --use-all",
        (G0, G0),
        api.CostSettings(use_all=True),
        api.Search(slices=Slices.CHANNELS),
    ),
    other("nucleo_f401re"),
    other(EXTERNAL),
)


def given(choice: Choice) -> Given:
    """Return what a choice gives for KWS."""
    try:
        found = api.split(NETWORKS["KWS"].model, choice.boards, choice.settings, choice.search)
    except CheckFailedError:
        return Given(choice.change, choice.options)
    memory = [(board.predicted_flash_bytes or 0, board.predicted_ram_bytes or 0) for board in found.file.boards]
    flash_bytes, ram_bytes = map(max, zip(*memory, strict=True))
    figures = (found.latency_s, found.period_s, found.energy_j)
    return Given(choice.change, choice.options, *figures, flash_bytes, ram_bytes)


def rows(choices: Sequence[Choice], only: str) -> Iterator[Given]:
    """Yield a row for each choice whose change contains `only`."""
    return (given(choice) for choice in choices if only in choice.change)


def _faster(row: Given) -> Sequence[Cell]:
    energy = None if row.energy_j is None else f"{1000 * row.energy_j:.2f}"
    return row.change, f"`{row.options}`", milliseconds(row.latency_s), milliseconds(row.period_s), energy


def _fit(row: Given) -> Sequence[Cell]:
    return row.change, f"`{row.options}`", row.flash_bytes, row.ram_bytes, milliseconds(row.latency_s)


@benchmark("faster", "a minute", ONLY, JSON)
def faster(options: Namespace) -> None:
    """Estimate what boards, baud rates, slices and bits give for the speed of KWS: the table of docs/do/faster.md."""
    table = MarkdownTable("choice", "options of `split`", numbers=("latency, ms", "period, ms", "energy, mJ"))
    table.print_rows(rows(FASTER, options.only), _faster, as_json=options.json)


@benchmark("fit", "a minute", ONLY, JSON)
def fit(options: Namespace) -> None:
    """Predict what kernels, bits, slices and boards give for the memory of KWS: the table of docs/do/fit.md."""
    headings = ("flash, bytes", "RAM, bytes", "latency, ms")
    table = MarkdownTable("choice", "options of `split`", numbers=headings)
    table.print_rows(rows(FIT, options.only), _fit, as_json=options.json)
