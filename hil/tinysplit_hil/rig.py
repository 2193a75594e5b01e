"""A rig: an open port to every board of a project, real or virtual."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import serial
from pydantic import Field, ValidationError, model_validator
from serial.tools import list_ports

from tinysplit.common.errors import InputError, ToolError, one_line
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.project.manifest import Project
from tinysplit_hil.client import BoardClient
from tinysplit_hil.request_port import Port
from tinysplit_hil.simulated_time import share_time
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


class _ServedRig(FileModel):
    """Virtual boards of another process: the file of their simulated time, and the description of their models."""

    time_file: str
    note: str


class _RigFile(FileModel):
    virtual: _ServedRig | None = None
    board: tuple[_RealBoard, ...] = Field(min_length=1)


def rig_file_text(ports: Sequence[str], time_file: Path, note: str) -> str:
    """Return the rig file of virtual boards that this process serves on `ports`, in board order."""
    boards = "".join(f"\n[[board]]\nport = {json.dumps(port)}\n" for port in ports)
    return f"[virtual]\ntime_file = {json.dumps(str(time_file))}\nnote = {json.dumps(note)}\n{boards}"


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
    from tinysplit_hil.virtual import open_registered  # noqa: PLC0415
    from tinysplit_hil.virtual.host_clock import VirtualClock  # noqa: PLC0415
    from tinysplit_hil.virtual.project_rig import project_rig  # noqa: PLC0415

    name = f"{project.project_hash:08x}"
    with open_registered(name, project_rig(project, folder, has_ideal_memory=has_ideal_memory)) as virtual:
        urls = [f"virtual://{name}/{position}" for position in range(len(project.boards))]
        with _open_ports(project, urls) as ports:
            memory: Literal["real", "ideal"] = "ideal" if has_ideal_memory else "real"
            yield Rig("virtual", virtual.model_note, memory, ports, VirtualClock(virtual))


@contextmanager
def _open_real(path: Path, project: Project) -> Iterator[Rig]:
    """Open the ports of a rig file: of real boards, or of virtual ones that another process serves."""
    file = _read_rig_file(path)
    urls = [_port_name(board) for board in file.board]
    if len(urls) != len(project.boards):
        raise InputError(f"{path} has {len(urls)} [[board]] entries, but the project has {len(project.boards)} boards")
    if len(set(urls)) != len(urls):
        raise InputError(f"{path} has the same port for two boards: {', '.join(urls)}")
    with _open_ports(project, urls) as ports:
        if file.virtual:
            with share_time(Path(file.virtual.time_file), tuple(ports.values())) as (clock, shared_ports):
                shared = dict(zip(ports, shared_ports, strict=True))
                yield Rig("virtual", file.virtual.note, "real", shared, clock)
            return
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
def _open_ports(project: Project, urls: Sequence[str]) -> Iterator[dict[int, serial.SerialBase]]:
    """Open the ports `urls` of all boards, in board order."""
    with ExitStack() as stack:
        yield {
            board.number: stack.enter_context(_open_port(place, project.host_baud))
            for board, place in zip(project.boards, urls, strict=True)
        }


@contextmanager
def _open_port(name: str, baud: int) -> Iterator[serial.SerialBase]:
    try:
        port = serial.serial_for_url(name, baudrate=baud, write_timeout=WRITE_TIMEOUT_S)
    except (serial.SerialException, ValueError, KeyError, OSError) as error:  # KeyError: options of a URL
        raise ToolError(
            f"the port {name} cannot be opened ({one_line(error)}): is the board connected, and the port not in use?"
        ) from None
    with port:
        port.reset_input_buffer()
        yield port
