"""What boards cost, from the user's own file: prices change, and differ from one shop to the next."""

import tomllib
from collections.abc import Sequence
from math import inf
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.common.errors import InputError


def read_prices(path: Path, boards: Sequence[Board]) -> dict[str, float]:
    """Return the price of each board from a TOML file with lines like `nucleo_g071rb = 11.20`, in any currency.

    Raises InputError when the file cannot be read, and for a board without a price.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): name the file with the prices") from None
    except ValueError as error:
        raise InputError(f"{path} is no TOML: {error}") from None
    for board in boards:
        price = data.get(board.name)
        if price is None:
            raise InputError(f"{path} has no price for {board.name}: add a line like `{board.name} = 11.20`")
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price < inf:
            raise InputError(
                f"{path} gives {board.name} the price {price!r}: a price is a number that is not below zero, like 11.20"
            )
    return {board.name: float(data[board.name]) for board in boards}
