"""A rig gives every board of a project one open port, and says whether the boards are real."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import serial
from pydantic import Field, ValidationError, model_validator
from serial.tools import list_ports

from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError, ToolError, one_line
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.project.manifest import Project
from tinysplit_hil.client import BoardClient, Port

VIRTUAL = "virtual"
WRITE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Rig:
    """Open ports by board number. `note` says on what the figures were measured and stands in every table."""

    kind: Literal["virtual", "real"]
    note: str
    ports: Mapping[int, Port]

    def clients(self, project: Project) -> dict[int, BoardClient]:
        """Return one client a board, by number."""
        return {b.number: BoardClient(self.ports[b.number], b.title) for b in project.boards}


class _RealBoard(FileModel):
    """Where a real board is: a device or URL of pyserial, or the USB serial number of its probe."""

    port: str | None = None
    serial_number: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.port is None) == (self.serial_number is None):
            raise ValueError("a [[board]] has either port or serial_number")
        return self


class _RigFile(FileModel):
    board: tuple[_RealBoard, ...] = Field(min_length=1)


def check_rig(spec: str) -> None:
    """Raise InputError for a rig file that cannot be read, before any work is done for it."""
    if spec != VIRTUAL:
        _read_rig_file(Path(spec))


@contextmanager
def open_rig(spec: str, project: Project, folder: Path) -> Iterator[Rig]:
    """Open the rig `spec`: "virtual", or the path of a TOML file with one [[board]] a board, in board order.

    The virtual boards run the ELF files in `folder`. Raises InputError for a rig file that cannot be used and
    for a folder that is not built, ToolError when a port is missing or cannot be opened.
    """
    with _open_virtual(project, folder) if spec == VIRTUAL else _open_real(Path(spec), project) as rig:
        yield rig


@contextmanager
def _open_virtual(project: Project, folder: Path) -> Iterator[Rig]:
    # Imported here, for it needs Unicorn: who measures on real boards does without.
    from tinysplit_hil.virtual import VirtualBoard, VirtualRig, Wire, open_registered  # noqa: PLC0415

    boards = [VirtualBoard(load_board(board.name), _built(board.elf(folder))) for board in project.boards]
    index = {board.number: position for position, board in enumerate(project.boards)}
    wires = [
        Wire(*((index[number], uart) for number, uart in zip(link.boards, link.uarts, strict=True)))
        for link in project.links
    ]
    name = f"{project.project_hash:08x}"
    with open_registered(name, VirtualRig(boards, wires)) as virtual:
        places = [f"virtual://{name}/{position}" for position in range(len(boards))]
        with _open_ports(project, places) as ports:
            yield Rig("virtual", virtual.model_note, ports)


def _built(elf: Path) -> Path:
    if not elf.is_file():
        raise InputError(f"{elf} is not there: build the folder first (`tinysplit build`)")
    return elf


@contextmanager
def _open_real(path: Path, project: Project) -> Iterator[Rig]:
    places = [_port_name(board) for board in _read_rig_file(path).board]
    if len(places) != len(project.boards):
        raise InputError(f"{path} has {len(places)} [[board]] entries but the project runs on {len(project.boards)}")
    if len(set(places)) != len(places):
        raise InputError(f"{path} gives two boards the same port: {', '.join(places)}")
    with _open_ports(project, places) as ports:
        yield Rig("real", f"real boards on {', '.join(places)}", ports)


def _read_rig_file(path: Path) -> _RigFile:
    try:
        return _RigFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"no rig {path}: give `{VIRTUAL}` or a TOML file with a [[board]] for every board") from None
    except ValidationError as error:
        raise InputError(f"{path} is no rig file ({first_mistake(error)})") from None
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no rig file ({error})") from None


def _port_name(board: _RealBoard) -> str:
    """Return the port of `board`; a serial number tells identical ST-LINKs apart."""
    if board.port is not None:
        return board.port
    plugged = {port.serial_number: str(port.device) for port in list_ports.comports() if port.serial_number}
    if board.serial_number in plugged:
        return plugged[board.serial_number]
    others = ", ".join(f"{number} ({device})" for number, device in plugged.items()) or "none"
    raise ToolError(f"no serial port has the USB serial number {board.serial_number} (plugged in: {others})")


@contextmanager
def _open_ports(project: Project, places: Sequence[str]) -> Iterator[dict[int, Port]]:
    """Open one port a board, in board order."""
    with ExitStack() as stack:
        yield {
            board.number: stack.enter_context(_open_port(place, project.host_baud))
            for board, place in zip(project.boards, places, strict=True)
        }


@contextmanager
def _open_port(name: str, baud: int) -> Iterator[Port]:
    try:
        port = serial.serial_for_url(name, baudrate=baud, write_timeout=WRITE_TIMEOUT_S)
    except (serial.SerialException, ValueError, KeyError, OSError) as error:  # KeyError: options of a URL
        raise ToolError(
            f"the port {name} cannot be opened ({one_line(error)}): is the board plugged in, and the port free?"
        ) from None
    with port:
        port.reset_input_buffer()
        yield port
