"""The firmware of a board beside the network: its ports, the places of code and data, and the choices of the user."""

from collections.abc import Collection
from dataclasses import dataclass

from tinysplit.boards.board import Board, Uart
from tinysplit.boards.link_driver import LinkDriver, LinkDriving
from tinysplit.boards.marker_pins import MarkerPins
from tinysplit.boards.parts import Memory
from tinysplit.codegen.weights_source import BoardWeights
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.plan.code_placement import IN_FLASH, CodePlacement
from tinysplit.plan.wake_up import WakeUp


@dataclass(frozen=True, kw_only=True, eq=False)
class BoardFirmware:
    """What decides which files of the firmware a board gets, and what is in those that are generated from its facts.

    `links` are the link UARTs with their baud rates, in the order of the link indices in network.c. The constants of
    `external_layers` (from 0) lie in the board's external memory, those of `resident_layers` in RAM from the start,
    of `far_layers` in `far_ram`, those of all layers with `weights` in the configuration file, and those that are kept
    decrypted in `kept`, None: in `arena`.
    """

    board: Board
    host_baud: int
    driving: LinkDriving  # without links, it does not matter
    arena: Memory
    links: tuple[tuple[Uart, int], ...] = ()
    host: HostProtocol = HostProtocol.TINYSPLIT
    code: CodePlacement = IN_FLASH  # of the layers
    external_layers: Collection[int] = ()
    resident_layers: Collection[int] = ()
    far_layers: Collection[int] = ()
    far_ram: Memory | None = None
    weights: BoardWeights | None = None  # None: in C arrays
    kept: Memory | None = None
    markers: MarkerPins | None = None  # pins that the firmware drives
    has_diagnostics: bool = True  # requests that only measuring needs
    is_standalone: bool = False  # begins runs without a host
    wake_up: WakeUp | None = None  # from stop mode, None without it

    @property
    def driver(self) -> LinkDriver | None:
        """How the links are driven, None without links."""
        return self.driving.driver if self.links else None
