"""Finds the boards that are plugged in: their probes and ports, and through the probes their parts."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.boards.board_files import board_names
from tinysplit.boards.debug_port import DEVICE_ID_MASK, DebugPort, load_debug_port
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import ToolError
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.texts.quoting import line_comment, toml_string
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice, Programmer
from tinysplit_hil.rig.stlink import Probe, connected_probes

_HEAD = """\
# The boards of a rig, in the order of the project: move the blocks where they are not.
# serial_number is the probe that flashes the board, and on whose port it answers, or on `port` where the probe has
# several; name is checked against the project.
# `tinysplit bench check --rig FILE -o FILE` tests the wires and adds the [[link]]s.
"""


_BY_ID = Path("/dev/serial/by-id")
_NAMELESS = "without a USB serial number no programmer can choose it: update its firmware (STLinkUpgrade)"


@dataclass(frozen=True)
class FoundBoard:
    """A probe, the device id of the part behind it (None if not read, then `note` says why), and what it can be."""

    probe: Probe
    device_id: int | None
    boards: tuple[str, ...]  # the known boards with this device id
    note: str


@dataclass(frozen=True)
class Bench:
    """All that is plugged in; `note` says what was left out, "" for nothing."""

    boards: tuple[FoundBoard, ...]
    note: str

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "boards": [
                {
                    **asdict(each.probe),
                    "device_id": each.device_id,
                    "boards": list(each.boards),
                    "note": each.note,
                }
                for each in self.boards
            ],
            "note": self.note,
        }

    def rig_toml(self) -> str:
        """Return a rig file with all boards that have a serial number. Raises ToolError where none has."""
        named = [each for each in self.boards if each.probe.serial_number]
        if not named:
            raise ToolError(f"no probe can be written into a rig file: {_NAMELESS}")
        return "\n".join((_HEAD, *map(_block, named)))


def discover(messages: Console) -> Bench:
    """Find all ST-LINKs and, with a programmer that is installed, their parts.

    The errors are those of `connected_probes`.
    """
    probes = connected_probes()
    programmer = next((each for each in PROGRAMMERS.values() if each.read and each.is_installed), None)
    if programmer is None:
        note = f"device ids are not read without a programmer: {PROGRAMMERS[ProgrammerName.OPENOCD].remedy}"
        return Bench(tuple(FoundBoard(probe, None, (), note) for probe in probes), note)
    with steps(messages, f"reading the parts of {counted(len(probes), 'board')} with {programmer.name}"):
        return Bench(tuple(_found(probe, programmer) for probe in probes), "")


def _found(probe: Probe, programmer: Programmer) -> FoundBoard:
    if not probe.serial_number:
        return FoundBoard(probe, None, (), _NAMELESS)
    ports = [load_debug_port(name) for name in board_names()]
    note = "its part is none that is known"
    device_id, choice = None, ProbeChoice(probe.serial_number)
    for address in sorted({port.idcode_address for port in ports}):
        try:
            word = programmer.read_words(choice, [address]).get(address)
        except ToolError as error:
            return FoundBoard(probe, None, (), str(error))
        if word:
            device_id = word & DEVICE_ID_MASK
            if found := _ports_of(ports, address, device_id, programmer):
                boards = tuple(port.board for port in found if _has_banks(port, choice, programmer))
                return FoundBoard(probe, device_id, boards, "" if boards else note)
    return FoundBoard(probe, device_id, (), note)


def _has_banks(port: DebugPort, choice: ProbeChoice, programmer: Programmer) -> bool:
    """Whether the flash has the banks of a board; also where the programmer does not read option bytes."""
    if port.bank_flag is None:
        return True
    options = programmer.read_words(choice, [port.protection_address]).get(port.protection_address)
    return options is None or port.bank_flag.is_right(options)


def _ports_of(ports: Iterable[DebugPort], address: int, device_id: int, programmer: Programmer) -> list[DebugPort]:
    """Return the known boards with a device id; st-info does not tell where it has read it."""
    at_address = [
        port for port in ports if port.idcode_address == address or programmer.name is ProgrammerName.ST_FLASH
    ]
    return [port for port in at_address if port.device_id == device_id]


def _block(board: FoundBoard) -> str:
    lines = ["[[board]]", f"serial_number = {toml_string(board.probe.serial_number)}"]
    first, *others = map(_lasting_name, board.probe.ports)
    if others:
        lines += [f"port = {toml_string(first)}", f"# other ports: {line_comment(', '.join(others))}"]
    lines += [f"name = {toml_string(board.boards[0])}"] if len(board.boards) == 1 else []
    lines += [f"# one of {', '.join(board.boards)}"] if len(board.boards) > 1 else []
    return "\n".join(lines) + "\n"


def _lasting_name(port: str) -> str:
    """Return the link to a port whose name has the serial number, where udev makes one: numbers of ports change."""
    return next((str(link) for link in sorted(_BY_ID.glob("*")) if link.resolve() == Path(port).resolve()), port)


def write_rig(path: Path, bench: Bench) -> None:
    """Write the rig file. Raises InputError when it cannot be written, and the error of `rig_toml`."""
    write_whole_file(path, bench.rig_toml())


def print_bench(bench: Bench, console: Console) -> None:
    """Print a row for each probe."""
    table = plain_table("probe", "product", "ports", "device id", "can be")
    for board in bench.boards:
        device_id = "" if board.device_id is None else f"{board.device_id:#x}"
        can_be = ", ".join(board.boards) or board.note
        table.add_row(board.probe.serial_number, board.probe.product, " ".join(board.probe.ports), device_id, can_be)
    console.print(table)
