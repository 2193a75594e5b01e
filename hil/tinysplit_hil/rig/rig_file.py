"""The rig file: which probe flashes each board, and on which port it answers."""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, PositiveInt, ValidationError, field_validator, model_validator

from tinysplit.boards.board import board_title
from tinysplit.boards.board_files import board_name
from tinysplit.common.errors import InputError, TinysplitError, ToolError
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.common.input_files.texts import read_toml_file
from tinysplit.common.tables import counted
from tinysplit.common.texts.quoting import is_serial_number, toml_string
from tinysplit.plan.wiring import Link
from tinysplit.project.file_link import FileLink
from tinysplit.project.manifest import ProjectBoard
from tinysplit.settings.boards_and_links import BOARD, USE_ALL
from tinysplit_hil.rig.programmers import ProbeChoice
from tinysplit_hil.rig.stlink import check_single, usb_ports

NO_PORT = "none"
DISCOVER = "`tinysplit bench discover` lists what is plugged in"


class RigBoard(FileModel):
    """A board: the USB serial number of its probe, which flashes it, and the port on which it answers.

    One of both suffices, but for flashing, which needs the serial number, or an adapter of OpenOCD. A `target` of
    labgrid has both.
    """

    serial_number: str | None = None
    openocd_adapter: str | None = None  # commands of OpenOCD that choose a probe which is no ST-LINK
    port: str | None = None  # a device or URL of pyserial, or NO_PORT; by default the port of the probe
    name: str | None = None  # or the path of a board file; it then has to be that of the project
    target: str | None = None  # of labgrid's environment

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str | None) -> str | None:
        try:
            return None if name is None else board_name(name)
        except TinysplitError as error:
            raise ValueError(str(error)) from None

    @field_validator("serial_number", "target")
    @classmethod
    def _is_plain(cls, name: str | None) -> str | None:
        if name is not None and not is_serial_number(name):
            raise ValueError(f"{name!r} has other characters than letters, digits and _ . : -")
        return name

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if not (self.port or self.serial_number or self.target):
            raise ValueError("a [[board]] needs serial_number, port or both")
        if self.target and (self.serial_number or self.openocd_adapter):
            raise ValueError("a [[board]] has a probe of its own or a target of labgrid, not both")
        return self

    @property
    def probe(self) -> ProbeChoice | None:
        """What the board is flashed by; a target of labgrid stands for the serial number of its probe."""
        choice = ProbeChoice(self.serial_number or self.target, self.openocd_adapter)
        return choice if choice.serial_number or choice.openocd_adapter else None

    def port_name(self) -> str:
        """Return the board's port. Raises InputError for a board without, ToolError where there is none, or several."""
        if self.port == NO_PORT:
            raise InputError(f'a [[board]] has port = "{NO_PORT}": only `tinysplit flash` does without, for all boards')
        if self.port:
            return self.port
        connected = [(port.serial_number, port.device) for port in usb_ports() if port.serial_number]
        ports = [device for number, device in connected if number == self.serial_number]
        if len(ports) == 1:
            return ports[0]
        if ports:
            raise ToolError(f"probe {self.serial_number} has the ports {', '.join(ports)}: add `port` to its [[board]]")
        others = ", ".join(f"{number} ({device})" for number, device in connected) or "none"
        raise ToolError(
            f"no serial port has the USB serial number {self.serial_number} (connected: {others}): connect the board,"
            f" or correct the rig file; {DISCOVER}"
        )


class ServedRig(FileModel):
    """Virtual boards of another process: the file of their simulated time, their ports, and their models' description.

    `ports` are in the order in which that process serves the boards, whatever the order of the [[board]] tables.
    """

    time_file: str
    ports: tuple[str, ...]
    note: str
    timing: str = ""  # their rules of time, where these are not the shipped ones

    def check_runs(self, path: Path) -> None:
        """Raise ToolError where that process, which has written `path`, does not serve them any more."""
        files = (self.time_file, *(port for port in self.ports if port.startswith("/")))
        if not all(Path(file).exists() for file in files):
            raise ToolError(
                f"the virtual boards of {path} do not run any more: start `tinysplit virtual OUT -o {path}` again"
            )


class RigLink(FileLink):
    """A link that `tinysplit bench check` found, and the highest rate without an error."""

    baud: PositiveInt

    @classmethod
    def of(cls, link: Link) -> Self:
        """Return a link that is planned."""
        first, second = link.ends
        boards, uarts = (first.board + 1, second.board + 1), (first.uart.name, second.uart.name)
        return cls(boards=boards, uarts=uarts, baud=link.baud)


class LabgridRig(FileModel):
    """The environment of labgrid that has the targets of the boards, a path relative to the rig file."""

    environment: str


class RigFile(FileModel):
    """The boards of a rig, in board order, and their links where they are known."""

    virtual: ServedRig | None = None  # real boards without it
    labgrid: LabgridRig | None = None
    board: tuple[RigBoard, ...] = Field(min_length=1)
    link: tuple[RigLink, ...] = ()

    @property
    def runs_without_flashing(self) -> bool:
        """Whether its boards run their images already: virtual ones without a debug port."""
        return self.virtual is not None and not any(board.openocd_adapter for board in self.board)

    @property
    def has_ports(self) -> bool:
        """Whether any of its boards is reached over a host port."""
        return any(board.port != NO_PORT for board in self.board)

    def by_number(self, names: Mapping[int, str]) -> Mapping[int, RigBoard]:
        """Return its boards by the numbers of the boards with these names, of which there are as many."""
        return dict(zip(names, self.board, strict=True))


def check_ports(path: Path, rig: RigFile) -> None:
    """Raise ToolError where a port is that of another board's probe, or a probe is not the only one of its number.

    The system numbers ports anew when boards are plugged in; the serial number of a probe stays. A port of another
    device, such as a USB-serial adapter, may be that of any board.
    """
    connected = usb_ports()
    probes = {board.serial_number for board in rig.board}
    for number, board in enumerate(rig.board, 1):
        if not board.serial_number:
            continue
        check_single(board.serial_number, connected)
        for port in connected:
            is_of_other = port.serial_number != board.serial_number and (port.product or port.serial_number in probes)
            if board.port and is_of_other and port.is_at(board.port):
                raise ToolError(
                    f"{path}: the port {board.port} of board {number} belongs to the probe"
                    f" {port.serial_number or 'without a serial number'}, not to {board.serial_number}, which flashes"
                    " it: remove `port`, and the port of the probe is taken, or correct it"
                )


@dataclass(frozen=True)
class ServedBoard:
    """A virtual board that this process serves: its port, and OpenOCD's commands for its debug port, if it has one."""

    board: ProjectBoard
    port: str
    adapter: str | None


def served_rig_text(boards: Sequence[ServedBoard], time_file: Path, note: str, timing: str) -> str:
    """Return the rig file of all virtual boards that this process serves, in board order."""
    tables = "".join(
        f"\n[[board]]\nname = {toml_string(each.board.name)}\nport = {toml_string(each.port)}\n"
        + (f"openocd_adapter = {toml_string(each.adapter)}\n" if each.adapter else "")
        for each in boards
    )
    listed = ", ".join(toml_string(each.port) for each in boards)
    served = f"time_file = {toml_string(str(time_file))}\nports = [{listed}]\nnote = {toml_string(note)}\n"
    rules = f"timing = {toml_string(timing)}\n" if timing else ""
    return f"[virtual]\n{served}{rules}{tables}"


def rig_text_of(path: Path, number: int) -> str:
    """Return the text of a rig file with one board of that at `path`, by its number. Raises InputError for the file."""
    file = read_rig_file(path)
    tables = {"[[board]]": file.board[number - 1].model_dump(exclude_none=True)}
    if file.virtual:
        tables["[virtual]"] = file.virtual.model_dump()
    if file.labgrid:
        tables["[labgrid]"] = {"environment": str((path.parent / file.labgrid.environment).resolve())}
    lines = []
    for heading, values in tables.items():
        lines += [heading, *(f"{key} = {_toml_value(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _toml_value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    return toml_string(str(value))


def read_rig_file(path: Path) -> RigFile:
    """Read a rig file. Raises InputError where it is missing, not valid, or names a probe or port twice."""
    try:
        rig = RigFile.model_validate(read_toml_file(path))
    except FileNotFoundError:
        raise InputError(
            f"rig {path} not found: use `virtual` or a TOML file with a [[board]] for every board"
            " (`tinysplit bench discover -o rig.toml` writes one; `tinysplit virtual OUT -o rig.toml` has one while it"
            " runs)"
        ) from None
    except ValidationError as error:
        raise InputError(f"{path} is not a valid rig file ({_mistake(error)})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not a valid rig file ({error})") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"{path} is not a valid rig file ({reason})") from None
    _check_different(path, "serial_number", [board.serial_number for board in rig.board])
    _check_different(path, "port", [board.port for board in rig.board if board.port != NO_PORT])
    _check_different(path, "target", [board.target for board in rig.board])
    if not rig.labgrid and any(board.target for board in rig.board):
        raise InputError(f'{path} has a target of labgrid: name its file, [labgrid] environment = "FILE.yaml"')
    adapters = [board.openocd_adapter for board in rig.board if not board.serial_number]
    _check_different(path, "openocd_adapter", adapters)
    return rig


def read_rig_of(path: Path, names: Mapping[int, str]) -> RigFile:
    """Read the rig file of boards with these names, by number. Raises InputError also where it has other boards."""
    rig = read_rig_file(path)
    if len(rig.board) != len(names):
        has_more = len(rig.board) > len(names)
        remedy = f"remove the others, or split with {USE_ALL(True)}" if has_more else "list all of them, in their order"
        raise InputError(
            f"{path} has {counted(len(rig.board), '[[board]] table')}, but the project has"
            f" {counted(len(names), 'board')}: {remedy}"
        )
    for number, entry in rig.by_number(names).items():
        if entry.name not in {None, names[number]}:
            title = board_title(number, names[number])
            raise InputError(
                f"{path} has a {entry.name} where the project has {title}: put the [[board]]s in the order of the"
                " project"
            )
    return rig


def names_in(path: Path) -> tuple[str, ...]:
    """Return the boards' names in a rig file. Raises InputError where one is missing."""
    names = tuple(board.name for board in read_rig_file(path).board)
    for number, name in enumerate(names, 1):
        if name is None:
            raise InputError(f"{path} has no name for board {number}: add it, or give {BOARD} for all boards")
    return tuple(map(str, names))


def _check_different(path: Path, key: str, values: Sequence[str | None]) -> None:
    twice = [value for value, count in Counter(values).items() if value and count > 1]
    if twice:
        raise InputError(f"{path} has the same {key} for two boards: {twice[0]}; {DISCOVER}")


def _mistake(error: ValidationError) -> str:
    """Return the first mistake; an unknown key with those that there are."""
    first = error.errors()[0]
    if first["loc"] in {("board",), ("link",)} and first["type"] == "tuple_type":
        return f"begin each {first['loc'][0]} with a line [[{first['loc'][0]}]]"
    if first["type"] != "extra_forbidden":
        return first_mistake(error)
    *where, key = first["loc"]
    tables: dict[str, type[FileModel]] = {
        "board": RigBoard,
        "link": RigLink,
        "virtual": ServedRig,
        "labgrid": LabgridRig,
    }
    known = ", ".join(tables[str(where[0])].model_fields) if where else "[[board]], [[link]], [labgrid]"
    entry = f"{where[0]} {int(where[1]) + 1}" if len(where) > 1 else where[0] if where else "the file"
    return f"{entry} has the unknown key `{key}`: known are {known}"
