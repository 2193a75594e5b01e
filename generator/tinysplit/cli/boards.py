"""`tinysplit boards`: the supported boards, and files for others."""

from pathlib import Path
from typing import Annotated

from tinysplit.boards.board_files import check_new_file
from tinysplit.boards.catalog import boards_to_json, load_boards, print_boards
from tinysplit.cli.basic_options import Force, Json, emit, messages
from tinysplit.cli.option import option
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.settings.boards_and_links import BOARD, NEW
from tinysplit.settings.result_files import FORCE, OUT


def boards(
    new: Annotated[
        str | None,
        option(NEW, metavar="PART"),
    ] = None,
    out: Annotated[Path | None, option(OUT, f"With {NEW}: file to write; by default PART.toml.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the supported boards with core, clock, memories, power and UARTs, or write a file for another one."""
    if new is not None:
        if as_json:
            raise UsageError(f"{NEW} writes a board file, which is TOML: leave --json out")
        _write_new(new, out, force=force)
        return
    if out:
        raise UsageError(f"{OUT} is the file that {NEW} writes: name a part with {NEW}")
    if force:
        raise UsageError(f"{FORCE} overwrites the file that {NEW} writes: name a part with {NEW}")
    known = load_boards()
    emit(as_json, {"boards": boards_to_json(known)} if as_json else {}, lambda console: print_boards(known, console))


def _write_new(given: str, out: Path | None, *, force: bool) -> None:
    from tinysplit.boards.new_board import new_board_file

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
