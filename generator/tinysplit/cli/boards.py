"""`tinysplit boards`: the supported boards."""

from tinysplit.boards.catalog import boards_to_json, load_boards, print_boards
from tinysplit.cli.basic_options import Json, emit


def boards(as_json: Json = False) -> None:
    """List the supported boards with core, clock, memories, power and UARTs."""
    known = load_boards()
    emit(as_json, {"boards": boards_to_json(known)}, lambda console: print_boards(known, console))
