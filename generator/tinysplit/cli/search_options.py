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

from typing_extensions import override

from tinysplit.boards.board import ClockSource
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.cli import completion
from tinysplit.cli.basic_options import messages
from tinysplit.cli.option import option
from tinysplit.cli.options import AUTO_BAUD, WIRING_PATH, CostTableFile, parse_baud
from tinysplit.common.choices import (
    AUTO,
    DEFAULT_FRONT_LIMIT_S,
    DEFAULT_TIME_LIMIT_S,
    Copies,
    InputSource,
    LowPower,
    Optimize,
    Slices,
    SliceSolver,
    check_seconds,
    check_solver,
)
from tinysplit.common.errors import InputError, UsageError
from tinysplit.costs.link_options import HandOffMode, parse_links
from tinysplit.costs.settings import CostSettings
from tinysplit.settings.boards_and_links import BAUD, BOARD, HAND_OFF, LINK, LINK_DRIVER, USE_ALL, WIRING
from tinysplit.settings.costs import (
    FRAME_PERIOD,
    HOST_TRANSFERS,
    INPUT_SOURCE,
    MAX_ENERGY,
    MAX_FLASH,
    MAX_LATENCY,
    MAX_PERIOD,
    OPTIMIZE,
    PERIOD,
)
from tinysplit.settings.programs import LOW_POWER, STANDALONE
from tinysplit.settings.search import ASSIGN, FRAME_RATE, INPUT_AT, OUTPUT_AT, REPLICATE, SLICES, SOLVER, TIME_LIMIT
from tinysplit.settings.setting import Heading
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Period

if TYPE_CHECKING:
    from tinysplit.project.wiring_file import WiringFile

BoardNames = Annotated[list[str], option(BOARD, metavar="NAME", autocompletion=completion.boards)]
LinkOption = Annotated[list[str] | None, option(LINK)]
LinkDriverOption = Annotated[LinkDriver | None, option(LINK_DRIVER)]
RATE_HELP = f"Inputs per second, in place of {FRAME_PERIOD}."
LOW_POWER_HELP = (
    f"What the boards do between inputs: sleep, or stop, as programs of {STANDALONE(True)} can: there is no host, and "
    f"energy counts stop mode. auto stops where that takes less energy at {FRAME_RATE}."
)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of every command that searches for splits."""

    input_source: Annotated[InputSource, option(INPUT_SOURCE)] = InputSource.HOST
    host_transfers: Annotated[bool, option(HOST_TRANSFERS)] = False
    optimize: Annotated[Optimize | None, option(OPTIMIZE)] = None
    max_flash: Annotated[int | None, option(MAX_FLASH)] = None
    period: Annotated[Period | None, option(PERIOD)] = None
    cost_table: CostTableFile = None
    max_latency: Annotated[float | None, option(MAX_LATENCY)] = None
    max_period: Annotated[float | None, option(MAX_PERIOD)] = None
    max_energy: Annotated[float | None, option(MAX_ENERGY)] = None
    frame_period: Annotated[float | None, option(FRAME_PERIOD)] = None
    frame_rate: Annotated[float | None, option(FRAME_RATE, RATE_HELP, rich_help_panel=Heading.COSTS)] = None
    low_power: Annotated[LowPower, option(LOW_POWER, LOW_POWER_HELP, rich_help_panel=Heading.COSTS)] = LowPower.SLEEP
    time_limit: Annotated[float, option(TIME_LIMIT)] = DEFAULT_TIME_LIMIT_S

    @property
    def _frame_period_s(self) -> float:
        """Seconds between two inputs, 0 without a rate. Raises UsageError for two of them."""
        if self.frame_rate is None:
            return 0.0 if self.frame_period is None else check_seconds(FRAME_PERIOD, self.frame_period)
        if self.frame_period is not None:
            raise UsageError(f"give either {FRAME_PERIOD} or {FRAME_RATE}")
        if not 0 < self.frame_rate < inf:
            raise UsageError(f"{FRAME_RATE} {self.frame_rate:g}: expected a number of inputs per second above zero")
        return 1 / self.frame_rate

    def settings(self) -> CostSettings:
        """Return the settings of the costs. Raises UsageError for a value that makes no sense."""
        return CostSettings(
            input_source=self.input_source,
            host_transfers=self.host_transfers,
            optimize=self.optimize or Optimize.CYCLES,
            max_flash_bytes=self.max_flash,
            period=self.period,
            max_latency_s=inf if self.max_latency is None else self.max_latency,
            max_period_s=inf if self.max_period is None else self.max_period,
            max_energy_j=inf if self.max_energy is None else self.max_energy,
            frame_period_s=self._frame_period_s,
            low_power=self.low_power,
        )


@dataclass(frozen=True, kw_only=True)
class SplitOptions(SearchOptions):
    """Options of a search on given boards."""

    board: BoardNames
    use_all: Annotated[bool | None, option(USE_ALL)] = None
    baud: Annotated[str, option(BAUD)] = AUTO_BAUD
    wiring: Annotated[Path | None, option(WIRING)] = None
    link: LinkOption = None
    link_driver: LinkDriverOption = None
    hand_off: Annotated[HandOffMode | None, option(HAND_OFF)] = None
    solver: Annotated[
        str,
        option(
            SOLVER,
            SOLVER.help.format(AUTO, ", ".join(SliceSolver)),
            callback=lambda name: check_solver(name, SliceSolver),
        ),
    ] = AUTO

    slices: Annotated[Slices | None, option(SLICES)] = None
    input_at: Annotated[int | None, option(INPUT_AT)] = None
    output_at: Annotated[int | None, option(OUTPUT_AT)] = None

    @property
    def search(self) -> Search:
        """Solvers and time limit.

        Raises UsageError for an end at a board that does not exist, and for a solver of divided layers without any.
        """
        slice_solver = SliceSolver(self.solver) if self.solver in set(SliceSolver) else None
        search = Search(
            solver=AUTO if slice_solver else self.solver,
            time_limit_s=self.time_limit,
            slices=self.slices,
            slice_solver=slice_solver,
            input_board=self.input_at,
            output_board=self.output_at,
        )
        search.check(len(self.board))
        return search

    @override
    def settings(self, clock: ClockSource = ClockSource.HSI, *, may_be_tested: bool = True) -> CostSettings:
        """Return the settings of the costs. With --baud auto, the file of a wiring test has the links, if there is one.

        Raises UsageError for a value that makes no sense, InputError for a file --wiring that is missing or of other
        boards.
        """
        named = parse_links(self.link or (), len(self.board))
        settings = replace(
            super().settings(),
            hand_off=self.hand_off,
            use_all=bool(self.use_all),
            links=named,
            link_driver=self.link_driver,
        )
        if self.baud != AUTO_BAUD:
            return replace(settings, baud=parse_baud(self.baud))
        wiring = self._tested_wiring(clock) if may_be_tested else None
        if wiring is None:
            return settings
        messages.print(wiring.summary, highlight=False, markup=False, soft_wrap=True)
        driver = wiring.driver_with(self.link_driver)
        return replace(settings, baud=wiring.lowest_baud, links=wiring.links_with(named), link_driver=driver)

    def _tested_wiring(self, clock: ClockSource) -> "WiringFile | None":
        """Return the file of the wiring test. A file that nobody named may be missing, or of other boards."""
        path = self.wiring or WIRING_PATH
        if self.wiring is None and not path.exists():
            return None
        from tinysplit.boards.catalog import load_all
        from tinysplit.project.wiring_file import read_wiring

        try:
            return read_wiring(path, [board.with_clock(clock) for board in load_all(self.board)])
        except InputError as error:
            if self.wiring:
                raise
            messages.print(f"note: {error.message}", highlight=False, markup=False, soft_wrap=True)
        return None


@dataclass(frozen=True, kw_only=True)
class FrontOptions(SplitOptions):
    """Options of a search for a Pareto front on given boards."""

    time_limit: Annotated[
        float, option(TIME_LIMIT, "Time limit of the search in seconds; then the points so far are shown.")
    ] = DEFAULT_FRONT_LIMIT_S


Assign = Annotated[str | None, option(ASSIGN)]


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions:
    """What a command may be told to take in place of the best pipeline."""

    replicate: Annotated[bool | None, option(REPLICATE)] = None
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
    """Return the place of an option among the headings, from 1; 0 without one, and of what is no option."""
    option = get_args(parameter.annotation)[1:]
    return [None, *Heading].index(option[0].rich_help_panel) if option else 0


def _options_of(group: Any) -> Iterator[Parameter]:  # noqa: ANN401 (any dataclass)
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])
