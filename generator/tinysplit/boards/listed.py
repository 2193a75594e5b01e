"""What the list of boards says of each. For boards that come with tinysplit it is in a file beside theirs.

To find it anew takes the files of all boards and families, and the data of their devices: as long as half the list.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

from rich.console import Console

from tinysplit.boards.less_sure import HasCore, less_sure
from tinysplit.common import package_files
from tinysplit.common.tables import plain_table
from tinysplit.common.units import KB, MILLI

if TYPE_CHECKING:
    from tinysplit.boards.board import Board

_NAME = "list.json"


@dataclass(frozen=True)
class ListedBoard:
    """What the list says of a board: a clock in Hz, memories in bytes, typical powers in W, None if they are not known.

    `core` is GCC's -mcpu, `host_uart` the name of the UART at the debug probe.
    """

    name: str
    part: str
    series: str
    core: str
    core_hz: int
    flash_bytes: int
    external_bytes: int
    ram_bytes: int
    run_w: float | None
    idle_w: float | None
    n_links: int
    host_uart: str

    @classmethod
    def of(cls, board: "Board") -> Self:
        """Return it of a board."""
        power = board.power if board.known_power else None
        return cls(
            name=board.name,
            part=board.device.name,
            series=board.device.series,
            core=board.device.core,
            core_hz=board.clock.core_hz,
            flash_bytes=board.device.flash.size_bytes,
            external_bytes=board.external.memory.size_bytes if board.external else 0,
            ram_bytes=board.device.ram_bytes,
            run_w=power.run_w if power else None,
            idle_w=power.idle_w if power else None,
            n_links=len(board.link_uarts),
            host_uart=board.host_uart.name,
        )

    @property
    def short_core(self) -> str:
        """The core as it is usually called: m0+, m4."""
        return self.core.removeprefix("cortex-").replace("plus", "+")

    @property
    def flash_kb(self) -> str:
        """The size of the flash, and of an external memory behind a plus sign."""
        return "+".join(f"{size // KB}" for size in (self.flash_bytes, self.external_bytes) if size)


def list_text(boards: Iterable["Board"]) -> str:
    """Return the file of the list: a line of each board that comes with tinysplit."""
    rows = ",\n".join(json.dumps(asdict(ListedBoard.of(board))) for board in boards)
    return f'{{"of": {_sum_of_files()}, "boards": [\n{rows}\n]}}\n'


def kept_list() -> dict[str, ListedBoard]:
    """Return the boards of the list by name, none without it, or if other files than those that it is of are there."""
    with suppress(OSError, ValueError, TypeError, LookupError):  # damaged: it has nothing that is not found anew
        kept: Any = json.loads((package_files.boards() / _NAME).read_text(encoding="utf-8"))
        if kept["of"] == _sum_of_files():
            return {row["name"]: ListedBoard(**row) for row in kept["boards"]}
    return {}


def _sum_of_files() -> int:
    """Return a sum of the files of all boards and families."""
    total = 0
    for path in sorted(package_files.boards().rglob("*.toml")):
        total = crc32(path.read_bytes(), total)
    return total


def print_boards(boards: Sequence[ListedBoard], console: Console) -> None:
    """Print the boards as a table."""
    numbers = ("MHz", "flash KB", "RAM KB", "mW", "idle mW", "links")
    table = plain_table("board", "core", numbers=numbers, last_labels=("host",))
    for board in boards:
        table.add_row(
            board.name,
            board.short_core,
            f"{board.core_hz / 1e6:g}",
            board.flash_kb,
            f"{board.ram_bytes // KB}",
            *("-" if watts is None else f"{watts * MILLI:.0f}" for watts in (board.run_w, board.idle_w)),
            str(board.n_links),
            board.host_uart,
        )
    console.print(table)
    print_less_sure(boards, console)


def print_less_sure(boards: Iterable[HasCore], console: Console) -> None:
    """Print a note of the boards whose times are less sure."""
    for note in less_sure(boards):
        console.print(note, highlight=False, soft_wrap=True)
