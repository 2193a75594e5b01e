"""What the page of `tinysplit explore --serve` shows: a split that its reader chooses, as the cost model has it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from tinysplit.api.prediction import BoardUse, Prediction, predicted_split
from tinysplit.api.splitting import split
from tinysplit.boards.board import Board, board_title
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_rates import LOW_RATES, RATES
from tinysplit.boards.listed import ListedBoard
from tinysplit.cli.web.server import Site
from tinysplit.common.choices import BIT_WIDTHS
from tinysplit.common.errors import UsageError
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.common.output_file import check_output_file, version_mark
from tinysplit.common.templates import render
from tinysplit.common.texts.quoting import json_in_html, shell_line
from tinysplit.common.texts.spans import spans_text
from tinysplit.common.units import KB, MILLI, MS
from tinysplit.context import reduced_by_file
from tinysplit.costs.settings import Baud, Bits, CostSettings
from tinysplit.network.graph import Graph
from tinysplit.settings.boards_and_links import BAUD, BOARD
from tinysplit.settings.fixed_point import BITS
from tinysplit.settings.result_files import OUT
from tinysplit.settings.search import ASSIGN, OBJECTIVE
from tinysplit.slices.settings import Search
from tinysplit.split.figures import FigureBottleneck
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Split
from tinysplit.timing.bottleneck import bottleneck_text
from tinysplit_hil.html_report.figures import Card
from tinysplit_hil.measure.timeline.picture import TimelinePicture, picture_of
from tinysplit_hil.measure.timeline.predicted import predicted_timeline

MAX_BOARDS = 8  # for which the page has colours


class Choice(FileModel):
    """What the reader of the page has chosen; without an assignment, the best one is wanted."""

    boards: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_BOARDS)]
    bits: Bits
    baud: Baud | None
    objective: Objective
    assignment: str | None = None

    @classmethod
    def of(cls, given: Any) -> "Choice":  # noqa: ANN401 (JSON)
        """Return what the page has sent. Raises UsageError for anything else."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise UsageError(first_mistake(error)) from None

    @property
    def settings(self) -> CostSettings:
        """The settings of the costs."""
        return CostSettings(bits=self.bits, baud=self.baud, objective=self.objective)


@dataclass(frozen=True)
class BoardChoice:
    """A board of the lists."""

    name: str
    about: str


@dataclass(frozen=True)
class PageContext:
    """The names of `web/explorer.html.j2`."""

    about: str
    title: str
    subtitle: str
    out: str
    bits: tuple[int, ...]
    bauds: tuple[int, ...]
    objectives: tuple[str, ...]
    boards: tuple[BoardChoice, ...]
    data: str  # JSON for the script


@dataclass(frozen=True)
class NoVariables:
    """The names of `web/explorer.js.j2`."""


@dataclass(frozen=True)
class Memory:
    """A memory of a board: bytes in use, and of all of it."""

    name: str
    used: int
    size: int


@dataclass(frozen=True)
class BoardFigures:
    """A board that computes something."""

    number: int
    title: str
    layers: str
    ms: str
    memories: tuple[Memory, ...]


@dataclass(frozen=True)
class Transfer:
    """A tensor that crosses a link."""

    what: str
    ends: str
    n_bytes: int
    ms: str


@dataclass(frozen=True)
class Figures:
    """The names of `web/figures.html.j2`."""

    cards: tuple[Card, ...]
    bottleneck: str
    boards: tuple[BoardFigures, ...]
    transfers: tuple[Transfer, ...]
    timeline: TimelinePicture


@dataclass(frozen=True)
class Explorer:
    """A network, the boards at first, and the split file that the page may write."""

    graph: Graph
    model: Path
    boards: tuple[str, ...]
    out: Path
    force: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The boards that can be chosen."""
        return tuple(sorted({*board_names(), *self.boards}))

    @property
    def site(self) -> Site:
        """The page with what it asks for."""
        script = render("web/explorer.js.j2", NoVariables())
        files = {"": ("text/html", self._page()), "explorer.js": ("text/javascript", script)}
        return Site(files, {"predict": self.predict, "write": self.write})

    def _page(self) -> str:
        layers = [{"name": layer.name, "kind": layer.kind, "out": str(layer.out_shape)} for layer in self.graph.layers]
        data = {"boards": self.boards, "layers": layers, "maxBoards": MAX_BOARDS}
        context = PageContext(
            about=version_mark(),
            title=self.graph.name,
            subtitle=f"{len(layers)} layers, {self.graph.macc:,} MACs",
            out=str(self.out),
            bits=BIT_WIDTHS,
            bauds=(*RATES, *LOW_RATES),
            objectives=tuple(Objective),
            boards=tuple(BoardChoice(name, _about(load_board(name))) for name in self.names),
            data=json_in_html(json.dumps(data)),
        )
        return render("web/explorer.html.j2", context)

    def predict(self, given: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
        """Return the assignment and its figures as HTML. The errors are those of `predicted_split`."""
        choice, boards = self._chosen(given)
        found = predicted_split(self._graph(choice.bits), boards, choice.settings, choice.assignment)
        prediction = Prediction.of(found, boards)
        figures = Figures(
            cards=tuple(_cards(found, prediction)),
            bottleneck=_bottleneck(found, boards),
            boards=tuple(_boards(found, prediction, boards)),
            transfers=tuple(_transfers(found, boards)),
            timeline=picture_of(
                predicted_timeline(found, [each.name for each in boards], choice.settings.link_settings_on(boards))
            ),
        )
        return {
            "assignment": prediction.assignment,
            "command": self._command(choice, prediction.assignment),
            "figures": render("web/figures.html.j2", figures),
        }

    def write(self, given: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
        """Write the split file, as the command does. The errors are those of `api.split` and of its `write`."""
        choice, boards = self._chosen(given)
        check_output_file(self.out, force=self.force)
        found = split(self.graph, boards, choice.settings, Search(assignment=choice.assignment))
        found.write(self.out, force=self.force)
        return {"written": str(self.out)}

    def _chosen(self, given: Any) -> tuple[Choice, tuple[Board, ...]]:  # noqa: ANN401 (JSON)
        choice = Choice.of(given)
        for name in choice.boards:
            if name not in self.names:
                raise UsageError(f"there is no board {name}: choose one of the list")
        return choice, tuple(map(load_board, choice.boards))

    def _graph(self, bits: int) -> Graph:
        return _reduced(self.graph, bits)

    def _command(self, choice: Choice, assignment: str) -> str:
        words = ["tinysplit", "split", str(self.model)]
        for name in choice.boards:
            words += [BOARD.short, name]
        words += [BITS.option, str(choice.bits)]
        if choice.baud:
            words += [BAUD.option, str(choice.baud)]
        if choice.objective is not Objective.LATENCY:
            words += [OBJECTIVE.option, choice.objective.value]
        return shell_line([*words, ASSIGN.option, assignment, OUT.short, str(self.out)])


@cache
def _reduced(graph: Graph, bits: int) -> Graph:
    return reduced_by_file(graph, bits)[0]


def _about(board: Board) -> str:
    core = f"Cortex-{ListedBoard.of(board).short_core.upper()} at {board.clock.core_hz / 1e6:g} MHz"
    return f"{core}, {board.device.flash.size_bytes // KB} + {board.device.ram_bytes // KB} KB"


def _cards(found: Split, prediction: Prediction) -> Iterator[Card]:
    yield Card("I, latency", _ms(prediction.latency_s), f"L {_ms(found.l_s)}, T {_ms(found.t_s)}")
    yield Card("period", _ms(prediction.period_s), f"{1 / prediction.period_s:.4g} inferences per second")
    if prediction.energy_j is None:
        yield Card("energy", "-", f"no currents are known of {', '.join(dict.fromkeys(found.without_currents))}")
    else:
        yield Card("energy", f"{MILLI * prediction.energy_j:.3g} mJ", "of an inference")


def _bottleneck(found: Split, boards: Sequence[Board]) -> str:
    if not found.timing:
        return ""
    busy = FigureBottleneck.of(found.timing.bottleneck)
    titles = [board_title(number, boards[number - 1].name) for number in busy.boards]
    return bottleneck_text(busy.place, titles, busy.layers, busy.share)


def _boards(found: Split, prediction: Prediction, boards: Sequence[Board]) -> Iterator[BoardFigures]:
    for index, use in zip(sorted(set(found.assignment)), prediction.boards, strict=True):
        title = board_title(index + 1, use.name)
        memories = tuple(_memories(use, boards[index]))
        yield BoardFigures(index + 1, title, spans_text(use.layers), _ms(use.l_s), memories)


def _memories(use: BoardUse, board: Board) -> Iterator[Memory]:
    yield Memory("flash", use.flash_bytes, board.device.flash.size_bytes)
    yield Memory("RAM", use.ram_bytes, board.device.ram_bytes)


def _transfers(found: Split, boards: Sequence[Board]) -> Iterator[Transfer]:
    for cut in found.cuts:
        what = "input" if cut.after_layer < 0 else f"after layer {cut.after_layer + 1}"
        ends = " to ".join(board_title(device + 1, boards[device].name) for device in (cut.sender, cut.receiver))
        yield Transfer(what, ends, cut.payload_bytes, _ms(cut.seconds))


def _ms(seconds: float) -> str:
    return f"{MS * seconds:.2f} ms"
