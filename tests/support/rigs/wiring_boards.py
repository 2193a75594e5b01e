"""Virtual boards that run the wiring test, with any wires and faults between them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import serial
from rich.console import Console

from session.shared_folder import made_once
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_all
from tinysplit.build.folder import build_folder
from tinysplit.codegen.wiring_projects import generate_wiring_test
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.project.manifest import Project
from tinysplit.project.wiring_file import WiringFile
from tinysplit_hil.bench.check import BenchCheck, check_boards
from tinysplit_hil.bench.wiring import LinkCandidate, WiringRequest, candidates_of, find_rates
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.rig.virtual_clock import VirtualClock
from virtual_stm32 import LineFaults, VirtualBoard, VirtualRig, Wire, open_registered

TEST_BYTES = 4096

End = tuple[int, str]  # index of a board, and a UART


def wiring_of(
    *names: str,
    wires: Sequence[tuple[End, End]] | None = None,
    faults: Mapping[End, LineFaults] | None = None,
    baud: int | None = None,
    named: tuple[LinkSetting, ...] = (),
    test_bytes: int = TEST_BYTES,
) -> WiringFile:
    """Test boards that are wired as planned, or as `wires` says, with `faults` of what arrives at some UARTs.

    Without a `baud` the highest rates are searched for.
    """
    boards = load_all(names)
    request = WiringRequest(boards, LinkSettings(baud or 115_200, named), is_auto=baud is None, test_bytes=test_bytes)
    candidates = candidates_of(boards, request.links, is_auto=request.is_auto)
    with _opened(boards, candidates, wires, faults) as (project, rig):
        return find_rates(request, candidates, project, rig, Console(quiet=True))


def bench_check_of(
    *names: str,
    wires: Sequence[tuple[End, End]] | None = None,
    faults: Mapping[End, LineFaults] | None = None,
    are_straight: bool = False,
    clock_errors_ppm: Sequence[int] = (),
) -> BenchCheck:
    """Test the bench of boards that are wired as planned, or as `wires` says, TX to TX where they `are_straight`."""
    boards = load_all(names)
    candidates = candidates_of(boards, LinkSettings(115_200), is_auto=False)
    wired = _opened(boards, candidates, wires, faults, are_straight=are_straight, clock_errors_ppm=clock_errors_ppm)
    with wired as (project, rig):
        return check_boards(boards, project, rig, Console(quiet=True))


@contextmanager
def _opened(
    boards: Sequence[Board],
    candidates: Sequence[LinkCandidate],
    wires: Sequence[tuple[End, End]] | None,
    faults: Mapping[End, LineFaults] | None,
    *,
    are_straight: bool = False,
    clock_errors_ppm: Sequence[int] = (),
) -> Iterator[tuple[Project, Rig]]:
    """Open virtual boards with the wiring test, and their ports."""
    folder = _built(boards, candidates)
    project = Project.read(folder)
    connected = [Wire(*wire, is_straight=are_straight) for wire in (_planned(candidates) if wires is None else wires)]
    elfs = [board.elf(folder) for board in project.boards]
    errors = clock_errors_ppm or [0] * len(boards)
    virtual = VirtualRig([VirtualBoard(*each) for each in zip(boards, elfs, errors, strict=True)], connected)
    for target, each in (faults or {}).items():
        virtual.set_faults(target, each)
    name = f"wiring-{project.project_hash:08x}"
    with ExitStack() as stack:
        stack.enter_context(open_registered(name, virtual))
        ports = {
            number: stack.enter_context(serial.serial_for_url(f"virtual://{name}/{number - 1}", project.host_baud))
            for number in range(1, len(boards) + 1)
        }
        yield project, Rig("virtual", "", "real", ports, VirtualClock(virtual))


def _planned(candidates: Sequence[LinkCandidate]) -> list[tuple[End, End]]:
    ends = (each.link.ends for each in candidates)
    return [((first.board, first.uart.name), (second.board, second.uart.name)) for first, second in ends]


def _built(boards: Sequence[Board], candidates: Sequence[LinkCandidate]) -> Path:
    """Return the folder of the programs, which tests share. Its manifest has the links and their first rates."""

    def make(folder: Path) -> None:
        project = generate_wiring_test(boards, [each.link for each in candidates], None, folder)
        build_folder(project, folder, Console(quiet=True))

    links = (f"{each.link.boards}{each.link.baud}" for each in candidates)
    return made_once("-".join(("wiring", *(board.name for board in boards), *links)).replace(" ", ""), make)
