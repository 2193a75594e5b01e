"""`tinysplit boards`: the supported boards, and files for others."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer

from tinysplit.boards.board_files import board_names, check_new_file, own_board_paths
from tinysplit.boards.listed import ListedBoard, kept_list, print_boards
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Force, Json, emit, messages
from tinysplit.cli.option import option
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.units import KB
from tinysplit.settings.boards_and_links import BOARD, NEW
from tinysplit.settings.result_files import FORCE, OUT


class Order(StrEnum):
    """By what boards are sorted."""

    NAME = "name"
    CLOCK = "clock"
    FLASH = "flash"
    RAM = "ram"
    POWER = "power"


_KEYS: dict[Order, Callable[[ListedBoard], Any]] = {
    Order.NAME: lambda board: board.name,
    Order.CLOCK: lambda board: board.core_hz,
    Order.FLASH: lambda board: board.flash_bytes,
    Order.RAM: lambda board: board.ram_bytes,
    Order.POWER: lambda board: inf if board.run_w is None else board.run_w,
}


def boards(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Board to show with its pins; without it, all are listed.",
            show_default=False,
            autocompletion=completion.boards,
        ),
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="Only boards of this family or line, as in g0, stm32l4 or l4+.")
    ] = None,
    core: Annotated[str | None, typer.Option(help="Only boards with this core, as in m4 or m0+.")] = None,
    ram: Annotated[int | None, typer.Option(help="Only boards with at least so many KB of RAM.", min=1)] = None,
    sort: Annotated[Order, typer.Option(help="Order of the list.")] = Order.NAME,
    new: Annotated[
        str | None,
        option(NEW, metavar="PART"),
    ] = None,
    out: Annotated[Path | None, option(OUT, f"With {NEW}: file to write; by default PART.toml.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the supported boards with core, clock, memories, power and UARTs, or write a file for another one."""
    of_list = {"--family": family, "--core": core, "--ram": ram, "--sort": sort is not Order.NAME or None}
    given = next((each for each, value in of_list.items() if value is not None), None)
    if given and (new or name):
        raise UsageError(f"{given} is for the list of boards: leave it out, or {NEW if new else name}")
    if new is not None:
        if as_json:
            raise UsageError(f"{NEW} writes a board file, which is TOML: leave --json out")
        if name is not None:
            raise UsageError(f"{NEW} writes the file of a part: leave {name} out")
        _write_new(new, out, force=force)
        return
    if out:
        raise UsageError(f"{OUT} is the file that {NEW} writes: name a part with {NEW}")
    if force:
        raise UsageError(f"{FORCE} overwrites the file that {NEW} writes: name a part with {NEW}")
    if name is not None:
        from tinysplit.boards.catalog import boards_to_json, load_board, print_board

        board = load_board(name)
        data = boards_to_json([board])[0] if as_json else {}
        emit(as_json, data, lambda console: print_board(board, console))
        return
    known = sorted(_chosen(family, core, ram), key=_KEYS[sort])
    emit(as_json, _to_json(known) if as_json else {}, lambda console: print_boards(known, console))


def _to_json(boards: Sequence[ListedBoard]) -> dict[str, Any]:
    from tinysplit.boards.catalog import boards_to_json, load_board

    return {"boards": boards_to_json(load_board(each.name) for each in boards)}


def _every() -> Iterator[ListedBoard]:
    """Yield all boards in the order of their names: those that come with tinysplit as they are listed."""
    names, kept = board_names(), kept_list()
    own = own_board_paths(names)
    for name in names:
        if name in kept and name not in own:
            yield kept[name]
        else:
            from tinysplit.boards.catalog import load_board

            yield ListedBoard.of(load_board(name))


def _chosen(family: str | None, core: str | None, ram_kb: int | None) -> list[ListedBoard]:
    """Return the boards that a list is to have. Raises UsageError with what there is where there are none."""
    found = list(_every())
    if family is not None:
        found = _those(found, lambda board: _is_of(board, family), f"family {family}", _family)
    if core is not None:
        names = core.lower()
        found = _those(found, lambda board: names in {board.short_core, board.core}, f"core {core}", _core)
    if ram_kb is not None:
        most_kb = max(board.ram_bytes for board in found) // KB
        found = [board for board in found if board.ram_bytes >= ram_kb * KB]
        if not found:
            raise UsageError(f"no such board has {ram_kb} KB of RAM, the largest {most_kb} KB")
    return found


def _those(
    boards: Sequence[ListedBoard],
    suits: Callable[[ListedBoard], bool],
    what: str,
    kind: Callable[[ListedBoard], str],
) -> list[ListedBoard]:
    found = [board for board in boards if suits(board)]
    if not found:
        raise UsageError(f"no such board has the {what}, only {', '.join(sorted({kind(board) for board in boards}))}")
    return found


def _core(board: ListedBoard) -> str:
    return board.short_core


def _family(board: ListedBoard) -> str:
    return board.part.removeprefix("stm32")[:2]


def _is_of(board: ListedBoard, family: str) -> bool:
    """Whether a board is of a family, series or line, as in g0, STM32L4, l4+ (L4P to L4S) or l4r5."""
    wanted = f"stm32{family.lower().removeprefix('stm32')}"
    return wanted == board.series or board.part.startswith(wanted)


def _write_new(given: str, out: Path | None, *, force: bool) -> None:
    from tinysplit.boards.new_board import new_board_file
    from tinysplit.common.output_file import check_output_file, write_whole_file

    part, text = new_board_file(given)
    path = out or Path(f"{part}.toml")
    check_new_file(path)
    check_output_file(path, force=force)
    if path.is_file() and not force and path.read_bytes() != text.encode():
        raise InputError(
            f"{path} exists and differs from what {NEW} writes: name another file, or overwrite with {FORCE}"
        )
    write_whole_file(path, text)
    messages.print(
        f"wrote {path}: correct its pins and header pins by the manual of the board; {BOARD} {_as_argument(path)} then "
        "takes it",
        highlight=False,
        soft_wrap=True,
    )


def _as_argument(path: Path) -> str:
    return str(path) if path.suffix == ".toml" or "/" in str(path) else f"./{path}"
