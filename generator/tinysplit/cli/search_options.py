"""The options of a search for splits: declared once, for `split`, `pareto`, `run` and `explore`.

Typer reads the options of a command from its signature. `flattened` puts the fields of an options class there.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from tinysplit.boards.board import ClockSource
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.cli.basic_options import Heading, messages
from tinysplit.cli.options import AUTO_BAUD, WIRING_PATH, CostTableFile, parse_baud
from tinysplit.common.choices import (
    AUTO,
    DEFAULT_FRONT_LIMIT_S,
    DEFAULT_TIME_LIMIT_S,
    SOLVERS,
    Copies,
    Optimize,
    Slices,
    SliceSolver,
    check_seconds,
    check_solver,
)
from tinysplit.costs.link_options import HandOffMode, parse_links
from tinysplit.costs.settings import CostSettings
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Period

if TYPE_CHECKING:
    from tinysplit.project.wiring_file import WiringFile

BoardNames = Annotated[
    list[str],
    typer.Option(
        "--board",
        "-b",
        help="Name of a board (see `tinysplit boards`). Repeat it for every board, in the order of their numbers.",
        rich_help_panel=Heading.BOARDS,
    ),
]
LinkOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Override the link between two boards: 1-2:921600 sets its baud rate, 1-2:921600:half makes it half "
        "duplex, 1-3:none removes it (tensors are relayed by other boards). Repeat it for several links.",
        rich_help_panel=Heading.BOARDS,
    ),
]
LinkDriverOption = Annotated[
    LinkDriver | None,
    typer.Option(
        help="How boards drive their links: dma, interrupt (for every byte, or a few with a FIFO), or polling (a "
        "board then receives only while it waits). By default dma where DMA channels and RAM suffice, else "
        "interrupt.",
        rich_help_panel=Heading.BOARDS,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of every command that searches for splits."""

    host_transfers: Annotated[
        bool,
        typer.Option(
            "--host-transfers",
            help="Count the time to transfer input and output between host and boards.",
            rich_help_panel=Heading.COSTS,
        ),
    ] = False
    optimize: Annotated[
        Optimize,
        typer.Option(
            help="What kernels and tensor placement minimise: cycles, or ram or flash even if that costs cycles.",
            rich_help_panel=Heading.COSTS,
        ),
    ] = Optimize.CYCLES
    period: Annotated[
        Period | None,
        typer.Option(
            help="Definition of the period, the time between two outputs. firmware: that of the generated programs "
            "(default). Ideals: load: time that the busiest board is occupied; span: a board is occupied from its "
            "first layer to its last; paper and old: the two definitions of Santamaria 2021.",
            rich_help_panel=Heading.COSTS,
        ),
    ] = None
    cost_table: CostTableFile = None
    max_latency: Annotated[
        float | None, typer.Option(help="Upper limit of the latency in seconds.", rich_help_panel=Heading.COSTS)
    ] = None
    max_period: Annotated[
        float | None, typer.Option(help="Upper limit of the period in seconds.", rich_help_panel=Heading.COSTS)
    ] = None
    max_energy: Annotated[
        float | None,
        typer.Option(help="Upper limit of the energy per inference in joules.", rich_help_panel=Heading.COSTS),
    ] = None
    frame_period: Annotated[
        float | None,
        typer.Option(
            help="Time between two inputs in seconds. It limits the period, and boards draw idle power for the rest of "
            "it. Without it, inputs arrive at the rate that the split sustains.",
            rich_help_panel=Heading.COSTS,
        ),
    ] = None
    time_limit: Annotated[
        float,
        typer.Option(
            help="Time limit of the search in seconds; then the best result so far is used.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = DEFAULT_TIME_LIMIT_S

    @property
    def time_limit_s(self) -> float:
        """Return the time limit. Raises UsageError unless it is finite and above zero."""
        return check_seconds("--time-limit", self.time_limit)

    def settings(self) -> CostSettings:
        """Return the settings of the costs. Raises UsageError for a value that makes no sense."""
        frame_period_s = 0.0 if self.frame_period is None else check_seconds("--frame-period", self.frame_period)
        return CostSettings(
            host_transfers=self.host_transfers,
            optimize=self.optimize,
            period=self.period,
            max_latency_s=inf if self.max_latency is None else self.max_latency,
            max_period_s=inf if self.max_period is None else self.max_period,
            max_energy_j=inf if self.max_energy is None else self.max_energy,
            frame_period_s=frame_period_s,
        )


@dataclass(frozen=True, kw_only=True)
class SplitOptions(SearchOptions):
    """Options of a search on given boards."""

    board: BoardNames
    use_all: Annotated[
        bool | None,
        typer.Option(
            help="Run at least one layer on every board. By default boards may be left out.",
            rich_help_panel=Heading.BOARDS,
        ),
    ] = None
    baud: Annotated[
        str,
        typer.Option(
            help="Baud rate of the links between boards, or auto: for each link the highest one that has passed the "
            "wiring test.",
            rich_help_panel=Heading.BOARDS,
        ),
    ] = str(CostSettings.baud)
    wiring: Annotated[
        Path,
        typer.Option(
            help="With --baud auto: file of the wiring test, written by `tinysplit wiring`.",
            rich_help_panel=Heading.BOARDS,
        ),
    ] = WIRING_PATH
    link: LinkOption = None
    link_driver: LinkDriverOption = None
    hand_off: Annotated[
        HandOffMode | None,
        typer.Option(
            help="How tensors cross to other boards: whole, or streamed: row by row while both boards compute, where "
            "their layers allow it. By default what is estimated to be faster, for each tensor.",
            rich_help_panel=Heading.BOARDS,
        ),
    ] = None
    solver: Annotated[
        str,
        typer.Option(
            callback=lambda name: check_solver(name, SliceSolver),
            help=f"Solver of whole layers: {', '.join((AUTO, *SOLVERS))}; auto chooses by size and objective. With "
            f"--slices also a solver of divided layers: {', '.join(SliceSolver)}; exact is the default, geometric the "
            "geometric program of Carballo-Hernández 2023 (extra `geometric`), two-phase the search of Dariol 2023.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = AUTO

    slices: Annotated[
        Slices | None,
        typer.Option(
            help="Divide layers over boards that compute side by side, where that is estimated to be better than "
            "whole layers: by rows, by channels, or auto: by either. By default by channels, and only where a layer "
            "fits into the flash of no board.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = None
    input_at: Annotated[
        int,
        typer.Option(
            help="With --slices: board that the host gives the input to.", min=1, rich_help_panel=Heading.SEARCH
        ),
    ] = 1
    output_at: Annotated[
        int,
        typer.Option(
            help="With --slices: board that the host reads the output from.", min=1, rich_help_panel=Heading.SEARCH
        ),
    ] = 1

    @property
    def search(self) -> Search:
        """Solvers and time limit.

        Raises UsageError for an end at a board that does not exist, and for a solver of divided layers without any.
        """
        slice_solver = SliceSolver(self.solver) if self.solver in set(SliceSolver) else None
        search = Search(
            solver=AUTO if slice_solver else self.solver,
            time_limit_s=self.time_limit_s,
            slices=self.slices,
            slice_solver=slice_solver,
            input_board=self.input_at,
            output_board=self.output_at,
        )
        search.check(len(self.board))
        return search

    @property
    def is_auto(self) -> bool:
        """Whether the baud rates are those of a wiring test."""
        return self.baud == AUTO_BAUD

    def settings(self, clock: ClockSource = ClockSource.HSI, tested: "WiringFile | None" = None) -> CostSettings:
        """Return the settings of the costs. With --baud auto, `tested` has the links, else the file --wiring.

        Raises UsageError for a value that makes no sense, InputError for a file that is missing or of other boards.
        """
        named = parse_links(self.link or (), len(self.board))
        settings = replace(super().settings(), hand_off=self.hand_off, use_all=bool(self.use_all))
        if not self.is_auto:
            return replace(settings, baud=parse_baud(self.baud), links=named, link_driver=self.link_driver)
        from tinysplit.boards.catalog import load_all
        from tinysplit.project.wiring_file import read_wiring

        boards = [board.with_clock(clock) for board in load_all(self.board)]
        wiring = tested or read_wiring(self.wiring, boards)
        messages.print(wiring.summary, highlight=False, markup=False, soft_wrap=True)
        links, driver = wiring.links_with(named), wiring.driver_with(self.link_driver)
        return replace(settings, baud=wiring.lowest_baud, links=links, link_driver=driver)


@dataclass(frozen=True, kw_only=True)
class FrontOptions(SplitOptions):
    """Options of a search for a Pareto front on given boards."""

    time_limit: Annotated[
        float,
        typer.Option(
            help="Time limit of the search in seconds; then the points so far are shown.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = DEFAULT_FRONT_LIMIT_S


Assign = Annotated[
    str | None,
    typer.Option(
        help="Take this assignment and search for none: layers and board of each run in their order, as in 1-6:1,7:2, "
        "numbered as in `tinysplit analyze` and by --board.",
        rich_help_panel=Heading.SEARCH,
    ),
]


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions:
    """What a command may be told to take in place of the best pipeline."""

    replicate: Annotated[
        bool | None,
        typer.Option(
            help="Give every board that has the memory a copy of the whole network; the host deals the inputs to them. "
            "By default that is the answer where it is better than any split, unless --use-all asks for one pipeline.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = None
    assign: Assign = None

    def search(self, options: SplitOptions, *, one_pipeline: bool) -> Search:
        """Return the search; with `one_pipeline`, for copies of the network only where they are asked for.

        Raises UsageError for options of a search beside --assign.
        """
        copies = Copies.ALWAYS if self.replicate else Copies.NEVER
        if self.replicate is None and not one_pipeline:
            copies = Copies.IF_BETTER
        search = replace(options.search, copies=copies, assignment=self.assign)
        search.check(len(options.board))
        return search


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command whose type is a dataclass by the fields of that class, by headings."""
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        each.name: each.annotation for each in signature.parameters.values() if is_dataclass(each.annotation)
    }
    options = {name: tuple(_options_of(group)) for name, group in groups.items()}
    others = [
        each.replace(kind=Parameter.KEYWORD_ONLY) for each in signature.parameters.values() if each.name not in groups
    ]

    @wraps(command)
    def with_options(**values: Any) -> None:  # noqa: ANN401 (whatever the options' types are)
        chosen = {
            name: group(**{option.name: values.pop(option.name) for option in options[name]})
            for name, group in groups.items()
        }
        command(**chosen, **values)

    parameters = sorted([*chain.from_iterable(options.values()), *others], key=heading_position)
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def heading_position(parameter: Parameter) -> int:
    """Return the place of an option among the headings, from 1; 0 without one."""
    _, option = get_args(parameter.annotation)
    return [None, *Heading].index(option.rich_help_panel)


def _options_of(group: Any) -> Iterator[Parameter]:  # noqa: ANN401 (any dataclass)
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])
