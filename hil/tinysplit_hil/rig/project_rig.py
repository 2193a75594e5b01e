"""The virtual boards of a generated folder, wired as its manifest says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.boards.marker_pins import MarkerPins
from tinysplit.common.errors import InputError
from tinysplit.project.channels import channel_name
from tinysplit.project.manifest import Project
from tinysplit.settings.programs import MARKERS
from virtual_stm32.rig import VirtualBoard, VirtualRig, Wire
from virtual_stm32.timing_rules import SHIPPED, read_timing_file

_TAIL_PS = 10**9  # of a trace behind the last change, which programs would drop


def project_rig(
    project: Project,
    folder: Path,
    *,
    has_ideal_memory: bool = False,
    timing: Path | None = None,
    is_debuggable: bool = False,
    is_erased: bool = False,
) -> VirtualRig:
    """Return the boards of `project` with the ELF files in `folder`, or with erased flash if `is_erased`.

    `timing` is a file with rules for boards of a part. Raises InputError where these files are missing.
    """
    rules = read_timing_file(timing) if timing else SHIPPED
    boards = [
        VirtualBoard(load_board(board.name), None if is_erased else board.built_elf(folder), timing=rules)
        for board in project.boards
    ]
    return VirtualRig(boards, project_wires(project), has_ideal_memory=has_ideal_memory, is_debuggable=is_debuggable)


def project_wires(project: Project) -> list[Wire]:
    """Return the links of `project` as wires between its boards."""
    index = {board.number: position for position, board in enumerate(project.boards)}
    return [Wire(*((index[end.board], end.uart) for end in link.ends)) for link in project.links]


@contextmanager
def marker_trace(project: Project, rig: VirtualRig, vcd: Path | None) -> Iterator[None]:
    """Write the levels of all markers into the file `vcd`, if any, at the end of the context.

    Raises InputError for a project without markers.
    """
    if vcd and not project.has_markers:
        raise InputError(f"the project drives no pins for {vcd}: generate it with {MARKERS(True)}")
    pins = [
        (channel_name(board.number, kind), index, pin)
        for index, board in enumerate(project.boards)
        for kind, pin in MarkerPins.of(board.name).by_kind.items()
        if vcd and board.has_markers
    ]
    trace = rig.trace_pins(pins)
    yield
    if vcd:
        trace.write_vcd(vcd, rig.time_ps + _TAIL_PS)
