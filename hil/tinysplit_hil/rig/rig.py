"""A rig: an open port to every board of a project, real or virtual."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import serial

from tinysplit.boards.catalog import load_all
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.errors import InputError, UsageError
from tinysplit.project.manifest import Project
from tinysplit.settings.measurement import IDEAL_MEMORY, RIG, TIMING
from tinysplit.settings.result_files import VCD
from tinysplit_hil.rig.account import Account, Accounts
from tinysplit_hil.rig.labgrid_targets import board_ports
from tinysplit_hil.rig.ports import open_port
from tinysplit_hil.rig.rig_file import ServedRig, read_rig_file, read_rig_of
from tinysplit_hil.rig.rig_links import read_rig_of_project
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.request_port import Port
from tinysplit_hil.wire.simulated_time import share_time
from tinysplit_hil.wire.tasks import Clock, RealClock

if TYPE_CHECKING:
    from virtual_stm32.rig import VirtualRig


@dataclass(frozen=True)
class Rig:
    """Open ports by board number (from 1), and their clock. `note` describes the boards in every table."""

    kind: Literal["virtual", "real"]
    note: str
    memory: Literal["real", "ideal"]  # ideal: of virtual boards without wait states
    ports: Mapping[int, Port]
    clock: Clock
    accounts: Callable[[], Accounts] | None = None  # of virtual boards that this process runs
    timing: str = ""  # rules of time of virtual boards that are not the shipped ones, with their part

    def clients(self, project: Project) -> dict[int, BoardClient]:
        """Return the client of every board of `project` by number."""
        return {b.number: BoardClient(self.ports[b.number], b.title, self.clock, b.number) for b in project.boards}


def check_rig(spec: str) -> None:
    """Check what needs no board. Raises InputError for an invalid rig file, ToolError if virtual boards cannot run."""
    if spec != VIRTUAL:
        read_rig_file(Path(spec))
        return
    from virtual_stm32 import library  # noqa: PLC0415 - as in _open_virtual()

    library()


def check_ports_open(path: Path, names: Mapping[int, str], baud: int) -> None:
    """Open the ports of a rig file, whose boards have these names, and close them. Raises the errors of `open_rig`."""
    file = read_rig_of(path, names)
    if file.virtual:
        file.virtual.check_runs(path)
    with board_ports(path, file) as every, _open_ports(dict(zip(names, _different(path, every), strict=True)), baud):
        pass


@dataclass(frozen=True)
class VirtualSettings:
    """What only virtual boards have: ideal memory, a timing file, and a file for the levels of their markers."""

    has_ideal_memory: bool = False
    timing: Path | None = None
    vcd: Path | None = None

    def check(self, spec: str) -> None:
        """Raise UsageError for the rig `spec` with real boards and one of these."""
        for is_given, setting in ((self.has_ideal_memory, IDEAL_MEMORY), (self.timing is not None, TIMING)):
            if is_given and spec != VIRTUAL:
                raise UsageError(f"{setting} is for virtual boards: leave {setting} out with {RIG} {spec}")
        if self.vcd and spec != VIRTUAL:
            raise UsageError(f"{VCD} is for virtual boards: a logic analyser sees the pins of real ones")

    def check_boards(self, names: Sequence[str]) -> None:
        """Raise InputError for a timing file that cannot be read, or is of the part of none of these boards."""
        if self.timing:
            from virtual_stm32.timing_rules import read_timing_file  # noqa: PLC0415 - as in _open_virtual()

            read_timing_file(self.timing).check_boards(load_all(names))


@contextmanager
def open_rig(
    spec: str,
    project: Project,
    folder: Path,
    virtual: VirtualSettings = VirtualSettings(),
    *,
    is_in_real_time: bool = False,
) -> Iterator[Rig]:
    """Open the rig `spec`: "virtual", or the path of a TOML file with a [[board]] for every board, in board order.

    The virtual boards run the ELF files in `folder`. Boards that another process serves run only while this one waits,
    unless `is_in_real_time`: a programmer needs that. Raises InputError for an invalid rig file and for a folder that
    is not built, ToolError when a port is missing or cannot be opened.
    """
    if spec == VIRTUAL:
        opened = _open_virtual(project, folder, virtual)
    else:
        opened = _open_real(Path(spec), project, shares_time=not is_in_real_time)
    with opened as rig:
        yield rig


@contextmanager
def _open_virtual(project: Project, folder: Path, settings: VirtualSettings) -> Iterator[Rig]:
    # Imported here because they require Unicorn, which real boards do not.
    from tinysplit_hil.rig.project_rig import marker_trace, project_rig  # noqa: PLC0415
    from tinysplit_hil.rig.virtual_clock import VirtualClock  # noqa: PLC0415
    from virtual_stm32 import open_registered  # noqa: PLC0415

    name = f"{project.project_hash:08x}"
    rig = project_rig(project, folder, has_ideal_memory=settings.has_ideal_memory, timing=settings.timing)
    with marker_trace(project, rig, settings.vcd), open_registered(name, rig) as virtual:
        urls = {board.number: f"virtual://{name}/{position}" for position, board in enumerate(project.boards)}
        with _open_ports(urls, project.host_baud) as ports:
            memory: Literal["real", "ideal"] = "ideal" if settings.has_ideal_memory else "real"
            accounts = partial(_accounts, project, virtual)
            clock = VirtualClock(virtual)
            yield Rig("virtual", virtual.model_note, memory, ports, clock, accounts, virtual.timing_rules)


def _accounts(project: Project, virtual: "VirtualRig") -> Accounts:
    return {
        board.number: Account(
            virtual.cycles(index),
            virtual.slept_cycles(index),
            virtual.external_cycles(index),
            virtual.stopped_s(index),
        )
        for index, board in enumerate(project.boards)
    }


@contextmanager
def _open_real(path: Path, project: Project, *, shares_time: bool) -> Iterator[Rig]:
    """Open the ports of a rig file: of real boards, or of virtual ones that another process serves."""
    file = read_rig_of_project(path, project)
    if file.virtual:
        file.virtual.check_runs(path)
    with board_ports(path, file) as every:
        urls = dict(zip(project.numbered_names, _different(path, every), strict=True))
        with _open_ports(urls, project.host_baud) as ports:
            if file.virtual and shares_time:
                served = _served(path, file.virtual, urls)
                opened = {served[number]: port for number, port in ports.items()}
                with share_time(Path(file.virtual.time_file), opened) as (clock, shared):
                    shared_ports = {number: shared[served[number]] for number in ports}
                    yield Rig("virtual", file.virtual.note, "real", shared_ports, clock, timing=file.virtual.timing)
                return
            yield Rig("real", f"real boards on {', '.join(every)}", "real", ports, RealClock(tuple(ports.values())))


def _served(path: Path, served: ServedRig, urls: Mapping[int, str]) -> dict[int, int]:
    """Return the index of each board, by number, in the process that serves them on these ports."""
    for url in urls.values():
        if url not in served.ports:
            raise InputError(f"{path} has the port {url}, which [virtual] does not: start `tinysplit virtual -o` again")
    return {number: served.ports.index(url) for number, url in urls.items()}


def _different(path: Path, urls: Sequence[str]) -> Sequence[str]:
    if len(set(urls)) != len(urls):
        raise InputError(f"{path} has the same port for two boards: {', '.join(urls)}")
    return urls


@contextmanager
def _open_ports(urls: Mapping[int, str], baud: int) -> Iterator[dict[int, serial.SerialBase]]:
    """Open the ports `urls` of boards, by number."""
    with ExitStack() as stack:
        yield {number: stack.enter_context(open_port(url, baud)) for number, url in urls.items()}
