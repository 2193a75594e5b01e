"""Prices of boards, read from a file of the user."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from sys import float_info

from tinysplit.boards.board import Board
from tinysplit.boards.board_files import normal_name
from tinysplit.common.errors import InputError
from tinysplit.common.input_files.texts import read_toml_file


def read_prices(path: Path, boards: Sequence[Board]) -> dict[str, float]:
    """Return the price of each board from a TOML file with lines like `nucleo_g071rb = 11.20`, in any currency.

    Raises InputError if the file cannot be read, or a board has no price or an invalid one.
    """
    try:
        data = read_toml_file(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    return prices_of(data, boards, str(path))


def prices_of(data: Mapping[str, object], boards: Sequence[Board], title: str) -> dict[str, float]:
    """Return the price of each board by its name, from those by its name in any case, and with - for _.

    Raises InputError, which begins with `title`, if a board has no price or an invalid one.
    """
    by_name = {normal_name(name): price for name, price in data.items()}
    prices = {}
    for board in boards:
        price = by_name.get(board.name)
        if price is None:
            raise InputError(f"{title} has no price for {board.name}: add one, as in `{board.name} = 11.20`")
        if not isinstance(price, int | float) or isinstance(price, bool) or not 0 <= price <= float_info.max:
            raise InputError(
                f"{title} has the price {price!r} for {board.name}: a price is a number of at least 0, like 11.20"
            )
        prices[board.name] = float(price)
    return prices
