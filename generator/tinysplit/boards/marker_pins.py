"""The pins of markers: high while a layer runs, or a transfer. No split depends on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tinysplit.boards.catalog import read_board_file

LAYER, TRANSFER = "layer", "transfer"


@dataclass(frozen=True)
class MarkerPins:
    """Pins of the device for layers and transfers, and the header pins behind them, "" where they are not known."""

    layer: str  # "PB5"
    transfer: str
    layer_header: str  # "CN9-5 (D4)"
    transfer_header: str

    @classmethod
    def of(cls, board: str) -> Self:
        """Return the pins that the file of a board names. Raises UsageError for an unknown board."""
        markers = read_board_file(board).markers
        return cls(markers.layer, markers.transfer, markers.layer_connector, markers.transfer_connector)

    @property
    def by_kind(self) -> Mapping[str, str]:
        """The pins by what they mark."""
        return {LAYER: self.layer, TRANSFER: self.transfer}

    @property
    def ports(self) -> tuple[str, str]:
        """Letters of their ports."""
        return self.layer[1], self.transfer[1]
