"""What scripts give: networks, boards and settings, as names, paths or objects."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Annotated

import numpy as np
from pydantic import AfterValidator
from rich.console import Console

from tinysplit.api.arguments import for_scripts, takes, takes_settings, takes_some
from tinysplit.boards import catalog
from tinysplit.boards.board import Board, ClockSource
from tinysplit.boards.board_files import use_folder_beside
from tinysplit.calibration.conditions import table_for
from tinysplit.common.errors import UsageError
from tinysplit.common.progress import Listener, console_of
from tinysplit.context import Context
from tinysplit.costs.link_options import check_links
from tinysplit.costs.settings import CostSettings
from tinysplit.network import sample_files
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.onnx_import.reading import read_network
from tinysplit.plan.named_kernels import check_possible
from tinysplit.slices.settings import Search
from tinysplit.timing.topology import pair_of

GivenPath = Annotated[str | Path, takes("a path", str, Path)]
GivenFile = Annotated[str | Path, takes("the path of an ONNX or .tflite file", str, Path)]
GivenModel = Annotated[
    str | Path | Graph, takes("the path of an ONNX or .tflite file, or what load_model returns", str, Path, Graph)
]
GivenBoard = Annotated[str | Path | Board, takes("a name, a path, or what load_board returns", str, Path, Board)]
GivenBoards = Annotated[
    GivenBoard | Sequence[GivenBoard],
    takes_some("a board, or a list of boards: names, paths of files, or what load_board returns", str, Path, Board),
]
GivenSamples = Annotated[
    sample_files.GivenSamples,
    takes(
        "an array, a dict of arrays by the names of inputs, or the path of a file of samples",
        *(str, Path, np.ndarray, list, tuple, dict),
    ),
]

GivenLabels = Annotated[
    sample_files.GivenArrays | None,
    takes("an array, or a dict of arrays by the names of outputs", np.ndarray, list, tuple, dict, NoneType),
]


def _counted_from_0(settings: CostSettings) -> CostSettings:
    """Return settings of a script, in which layers and boards count from 1, as stages take them."""
    for number, _ in settings.kernels:
        if number < 1:
            raise ValueError(f"kernels: layers count from 1, not {number}")
    for link in settings.links:
        if min(link.boards) < 1 or link.boards[0] == link.boards[1]:
            raise ValueError(f"links: boards count from 1, and differ, not {link.boards[0]}, {link.boards[1]}")
    return replace(
        settings,
        kernels=tuple((number - 1, name) for number, name in settings.kernels),
        links=tuple(replace(link, boards=pair_of(*(board - 1 for board in link.boards))) for link in settings.links),
    )


GivenCosts = Annotated[CostSettings, takes_settings(CostSettings), AfterValidator(_counted_from_0)]
GivenSearch = Annotated[Search, takes_settings(Search)]


@for_scripts
def load_model(path: GivenFile) -> Graph:
    """Read an ONNX network, with or without trained weights; `load_board` also finds boards in `boards/` beside it.

    Raises InputError for what is not supported.
    """
    use_folder_beside(Path(path).parent)
    return import_model(Path(path), needs_weights=False)


@for_scripts
def load_board(board: GivenBoard) -> Board:
    """Return the board of a name, in any case, or of the path of a board file; or the given one.

    Raises UsageError with the nearest names for an unknown one, InputError for a file that cannot be used.
    """
    return board if isinstance(board, Board) else catalog.load_board(str(board))


def graph_of(model: GivenModel, messages: Console) -> Graph:
    """Return the network of a path, or the given one. Raises InputError as `load_model` does."""
    if isinstance(model, Graph):
        return model
    use_folder_beside(Path(model).parent)
    return read_network(Path(model), messages, needs_weights=False)


def context_of(
    model: GivenModel,
    boards: GivenBoards,
    settings: CostSettings,
    clock: ClockSource,
    cost_table: GivenPath | None,
    progress: Listener | None,
) -> Context:
    """Return the input of the stages; weights are not needed.

    The errors are those of `graph_of`, `boards_of` and `table_for`.
    """
    messages = console_of(progress)
    graph, every = graph_of(model, messages), boards_of(boards, clock)
    check_links(settings.links)
    check_possible(graph, every, settings.kernels)
    for link in settings.links:
        if max(link.boards) >= len(every):
            first, second = (board + 1 for board in link.boards)
            raise UsageError(f"links has boards {first}, {second}: the number of boards is {len(every)}")
    context = Context(
        model=Path(graph.name if isinstance(model, Graph) else model),
        graph=graph,
        boards=every,
        table=table_for(every, cost_table),
        settings=settings,
        messages=messages,
    )
    context.print_assumed_rates()
    return context


def boards_of(given: GivenBoards, clock: ClockSource = ClockSource.HSI) -> tuple[Board, ...]:
    """Return boards in the given order; a board with another clock than HSI keeps it.

    Raises UsageError where there is none, for unknown names, and where a board lacks `clock`.
    """
    every = (given,) if isinstance(given, str | Path | Board) else tuple(given)
    if not every:
        raise UsageError("boards are needed, by name, path or as `load_board` returns them")
    boards = map(load_board, every)
    return tuple(board if clock is ClockSource.HSI else board.with_clock(clock) for board in boards)
