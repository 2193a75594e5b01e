"""Where wires are connected: the header pins of a board's link UARTs, and of ground. No split depends on them."""

from dataclasses import dataclass

from tinysplit.boards.catalog import load_board, read_board_file


@dataclass(frozen=True)
class HeaderPins:
    """The header pins of a link UART and the pins of the device behind them, and a header pin of ground."""

    tx: str  # "CN10-21 (D8)"
    tx_pin: str  # "PA9"
    rx: str
    rx_pin: str
    ground: str


def header_pins(board: str, uart: str) -> HeaderPins:
    """Return the header pins of a link UART. Raises UsageError for an unknown board."""
    wired = next(each for each in load_board(board).link_uarts if each.name == uart)
    file = read_board_file(board)
    tx, rx = (pin.rpartition(" ")[0] for pin in wired.connector.split(", "))  # as the schema has it
    return HeaderPins(tx, wired.tx.name, rx, wired.rx.name, file.ground.connector)
