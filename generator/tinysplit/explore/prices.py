"""Prices of boards, read from a file of the user."""

import tomllib
from collections.abc import Sequence
from math import inf
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.common.errors import InputError


def read_prices(path: Path, boards: Sequence[Board]) -> dict[str, float]:
    """Return the price of each board from a TOML file with lines like `nucleo_g071rb = 11.20`, in any currency.

    Raises InputError if the file cannot be read, or a board has no price or an invalid one.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    for board in boards:
        price = data.get(board.name)
        if price is None:
            raise InputError(f"{path} has no price for {board.name}: add a line like `{board.name} = 11.20`")
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < inf:
            raise InputError(
                f"{path} has the price {price!r} for {board.name}: a price is a number of at least 0, like 11.20"
            )
    return {board.name: float(data[board.name]) for board in boards}
