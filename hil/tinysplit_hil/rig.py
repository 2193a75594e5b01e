"""A rig: an open port to every board of a project, real or virtual."""

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
from tinysplit_hil.client import BoardClient
from tinysplit_hil.request_port import Port
from tinysplit_hil.tasks import Clock, RealClock

VIRTUAL = "virtual"
WRITE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Rig:
    """Open ports by board number (from 1), and their clock. `note` describes the boards in every table."""

    kind: Literal["virtual", "real"]
    note: str
    memory: Literal["real", "ideal"]  # ideal: of virtual boards without wait states
    ports: Mapping[int, Port]
    clock: Clock

    def clients(self, project: Project) -> dict[int, BoardClient]:
        """Return the client of every board of `project` by number."""
        return {b.number: BoardClient(self.ports[b.number], b.title, self.clock, b.number) for b in project.boards}


class _RealBoard(FileModel):
    """A real board: a device or URL of pyserial, or the USB serial number of its debug probe."""

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
    """Raise InputError for an invalid rig file."""
    if spec != VIRTUAL:
        _read_rig_file(Path(spec))


@contextmanager
def open_rig(spec: str, project: Project, folder: Path, *, has_ideal_memory: bool = False) -> Iterator[Rig]:
    """Open the rig `spec`: "virtual", or the path of a TOML file with a [[board]] for every board, in board order.

    The virtual boards run the ELF files in `folder`, with the memory of the boards or with an ideal one. Raises
    InputError for an invalid rig file and for a folder that is not built, ToolError when a port is missing or cannot be
    opened.
    """
    is_virtual = spec == VIRTUAL
    with _open_virtual(project, folder, has_ideal_memory) if is_virtual else _open_real(Path(spec), project) as rig:
        yield rig


@contextmanager
def _open_virtual(project: Project, folder: Path, has_ideal_memory: bool) -> Iterator[Rig]:
    # Imported here because they require Unicorn, which real boards do not.
    from tinysplit_hil.virtual import VirtualBoard, VirtualRig, Wire, open_registered  # noqa: PLC0415
    from tinysplit_hil.virtual.host_clock import VirtualClock  # noqa: PLC0415

    boards = [VirtualBoard(load_board(board.name), _built(board.elf(folder))) for board in project.boards]
    index = {board.number: position for position, board in enumerate(project.boards)}
    wires = [
        Wire(*((index[number], uart) for number, uart in zip(link.boards, link.uarts, strict=True)))
        for link in project.links
    ]
    name = f"{project.project_hash:08x}"
    with open_registered(name, VirtualRig(boards, wires, has_ideal_memory=has_ideal_memory)) as virtual:
        urls = [f"virtual://{name}/{position}" for position in range(len(boards))]
        with _open_ports(project, urls) as ports:
            memory: Literal["real", "ideal"] = "ideal" if has_ideal_memory else "real"
            yield Rig("virtual", virtual.model_note, memory, ports, VirtualClock(virtual))


def _built(elf: Path) -> Path:
    if not elf.is_file():
        raise InputError(f"{elf} is missing: build the folder first (`tinysplit build`)")
    return elf


@contextmanager
def _open_real(path: Path, project: Project) -> Iterator[Rig]:
    urls = [_port_name(board) for board in _read_rig_file(path).board]
    if len(urls) != len(project.boards):
        raise InputError(f"{path} has {len(urls)} [[board]] entries, but the project has {len(project.boards)} boards")
    if len(set(urls)) != len(urls):
        raise InputError(f"{path} has the same port for two boards: {', '.join(urls)}")
    with _open_ports(project, urls) as ports:
        yield Rig("real", f"real boards on {', '.join(urls)}", "real", ports, RealClock(tuple(ports.values())))


def _read_rig_file(path: Path) -> _RigFile:
    try:
        return _RigFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(
            f"rig {path} not found: use `{VIRTUAL}` or a TOML file with a [[board]] for every board"
        ) from None
    except ValidationError as error:
        raise InputError(f"{path} is not a valid rig file ({first_mistake(error)})") from None
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid rig file ({error})") from None


def _port_name(board: _RealBoard) -> str:
    """Return the port of `board`; serial numbers distinguish identical ST-LINKs."""
    if board.port is not None:
        return board.port
    connected = {port.serial_number: str(port.device) for port in list_ports.comports() if port.serial_number}
    if board.serial_number in connected:
        return connected[board.serial_number]
    others = ", ".join(f"{number} ({device})" for number, device in connected.items()) or "none"
    raise ToolError(f"no serial port has the USB serial number {board.serial_number} (connected: {others})")


@contextmanager
def _open_ports(project: Project, urls: Sequence[str]) -> Iterator[dict[int, Port]]:
    """Open the ports `urls` of all boards, in board order."""
    with ExitStack() as stack:
        yield {
            board.number: stack.enter_context(_open_port(place, project.host_baud))
            for board, place in zip(project.boards, urls, strict=True)
        }


@contextmanager
def _open_port(name: str, baud: int) -> Iterator[Port]:
    try:
        port = serial.serial_for_url(name, baudrate=baud, write_timeout=WRITE_TIMEOUT_S)
    except (serial.SerialException, ValueError, KeyError, OSError) as error:  # KeyError: options of a URL
        raise ToolError(
            f"the port {name} cannot be opened ({one_line(error)}): is the board connected, and the port not in use?"
        ) from None
    with port:
        port.reset_input_buffer()
        yield port
