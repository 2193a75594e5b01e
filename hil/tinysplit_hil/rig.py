"""A rig: an open port to every board of a project, real or virtual."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError
from tinysplit.project.manifest import Project
from tinysplit_hil.bench.ports import open_port
from tinysplit_hil.bench.rig_file import read_rig_file, read_rig_of
from tinysplit_hil.client import BoardClient
from tinysplit_hil.request_port import Port
from tinysplit_hil.tasks import Clock, RealClock

VIRTUAL = "virtual"


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


def check_rig(spec: str) -> None:
    """Raise InputError for an invalid rig file."""
    if spec != VIRTUAL:
        read_rig_file(Path(spec))


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
    urls = [board.port_name() for board in read_rig_of(path, project).board]
    if len(set(urls)) != len(urls):
        raise InputError(f"{path} has the same port for two boards: {', '.join(urls)}")
    with _open_ports(project, urls) as ports:
        yield Rig("real", f"real boards on {', '.join(urls)}", "real", ports, RealClock(tuple(ports.values())))


@contextmanager
def _open_ports(project: Project, urls: Sequence[str]) -> Iterator[dict[int, Port]]:
    """Open the ports `urls` of all boards, in board order."""
    with ExitStack() as stack:
        yield {
            board.number: stack.enter_context(open_port(place, project.host_baud))
            for board, place in zip(project.boards, urls, strict=True)
        }
