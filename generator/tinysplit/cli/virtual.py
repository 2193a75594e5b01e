"""`tinysplit virtual`: virtual boards behind ports of the operating system, for programs that are not ours."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from tinysplit.boards.debug_port import load_debug_port
from tinysplit.cli.basic_options import Folder, Force, Json, emit, messages
from tinysplit.cli.measure_options import Timing
from tinysplit.cli.option import option
from tinysplit.common.errors import UsageError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.interrupts.signals import expected_signals
from tinysplit.common.output_file import check_output_file, version_mark, write_whole_file
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit.project.manifest import Project
from tinysplit.project.printing import mlperf_text
from tinysplit.settings.result_files import OUT
from tinysplit_hil.rig.programmers import gdb_server
from tinysplit_hil.rig.rig import VirtualSettings
from tinysplit_hil.rig.rig_file import ServedBoard, served_rig_text
from tinysplit_hil.wire.simulated_time import SharedTime

FIRST_GDB_PORT = 3333
_NOTE = "virtual boards that run at present. `tinysplit virtual` removes this file when it ends."


Debug = Annotated[
    bool,
    typer.Option("--debug", help="Give every board a debug port on a free TCP port, for OpenOCD: flashing and gdb."),
]
Erased = Annotated[bool, typer.Option("--erased", help="With --debug: start with erased flash, for `tinysplit flash`.")]


def virtual(
    folder: Folder,
    pty: Annotated[bool, typer.Option("--pty", help="Serve every board on a pty; the default.")] = False,
    tcp: Annotated[
        int | None,
        typer.Option(
            "--tcp",
            metavar="PORT",
            help="Serve the boards on the TCP ports PORT, PORT + 1, ... of this machine; 0 takes free ones.",
            min=0,
            max=65535,
        ),
    ] = None,
    real_time: Annotated[
        bool,
        typer.Option(
            "--real-time",
            help="Never run faster than real time. By default only boards that wait are slowed down to it.",
        ),
    ] = False,
    timing: Timing = None,
    debug: Debug = False,
    erased: Erased = False,
    out: Annotated[
        Path | None,
        option(OUT, "Rig file to write, for `tinysplit measure --rig`; it is removed when the boards stop."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Serve the virtual boards of a folder on serial or TCP ports until Ctrl-C, for minicom or a client of your own."""
    if pty and tcp is not None:
        raise UsageError("--pty and --tcp exclude each other: choose one")
    if erased and not debug:
        raise UsageError("--erased needs --debug, by which the boards can be flashed")
    check_output_file(out, force=force)
    options = _Options(tcp, out, timing, is_real_time=real_time, is_debuggable=debug, is_erased=erased, as_json=as_json)
    _serve(Project.read(folder), folder, options)
    messages.print("stopped")


@dataclass(frozen=True)
class _Options:
    tcp: int | None
    out: Path | None
    timing: Path | None
    is_real_time: bool
    is_debuggable: bool
    is_erased: bool
    as_json: bool


def _serve(project: Project, folder: Path, options: _Options) -> None:
    # Imported here because they require Unicorn, which real boards do not.
    from tinysplit_hil.rig.project_rig import project_rig
    from tinysplit_hil.rig.virtual_server import Server
    from virtual_stm32.debug.probe import open_probes
    from virtual_stm32.os_ports import open_ports

    VirtualSettings(timing=options.timing).check_boards([board.name for board in project.boards])
    with ExitStack() as stack:
        rig = project_rig(
            project,
            folder,
            timing=options.timing,
            is_debuggable=options.is_debuggable,
            is_erased=options.is_erased,
        )
        rig.stopped = _print_lockup
        for index in range(rig.board_count):
            rig.set_baud(index, project.host_baud)
        ports = [stack.enter_context(closing(port)) for port in open_ports(rig.board_count, options.tcp)]
        probes = [stack.enter_context(closing(each)) for each in open_probes(rig)] if options.is_debuggable else []
        time_file = Path(stack.enter_context(TemporaryDirectory(prefix="tinysplit-virtual-"))) / "time"
        shared = stack.enter_context(closing(SharedTime.create(time_file, len(ports))))
        with steps(messages, f"starting {counted(rig.board_count, 'virtual board')}"):
            server = Server(rig, ports, shared, is_real_time=options.is_real_time, probes=probes)
        served = [
            ServedBoard(board, ports[index].name, probes[index].adapter if probes else None)
            for index, board in enumerate(project.boards)
        ]
        if options.out:
            text = served_rig_text(served, time_file, rig.model_note, rig.timing_rules)
            stack.enter_context(_rig_file(options.out, f"# {version_mark()}: {_NOTE}\n{text}"))
        is_stopped = stack.enter_context(expected_signals())
        _print_ports(project, served, options.as_json)
        server.serve(is_stopped)


def _print_lockup(why: str) -> None:
    messages.print(f"{why}; the core is in lockup until it is reset", highlight=False, markup=False, soft_wrap=True)


def _openocd_lines(served: Sequence[ServedBoard]) -> dict[int, str]:
    """Return the command that serves gdb for each board with a debug port, by number, each on a TCP port of its own."""
    return {
        each.board.number: gdb_server(load_debug_port(each.board.name), each.adapter, FIRST_GDB_PORT + index)
        for index, each in enumerate(served)
        if each.adapter
    }


@contextmanager
def _rig_file(path: Path, text: str) -> Iterator[None]:
    """Write a rig file and remove it at the end. Raises InputError where it cannot be written."""
    write_whole_file(path, text)
    try:
        yield
    finally:
        if path.is_file() and path.read_bytes() == text.encode():  # not that of a later command
            path.unlink()


def _print_ports(project: Project, served: Sequence[ServedBoard], as_json: bool) -> None:
    """Print the port of each board, and how OpenOCD reaches its debug port, if it has one."""
    commands = _openocd_lines(served)
    boards = [
        {
            "number": each.board.number,
            "name": each.board.name,
            "port": each.port,
            "baud": project.host_baud,
            "openocd": commands.get(each.board.number),
        }
        for each in served
    ]

    def show(console: Console) -> None:
        for each in served:
            console.print(f"{each.board.title}: {each.port}", highlight=False, soft_wrap=True)
        for number, command in commands.items():
            title = project.board(number).title
            console.print(f"# {title}: gdb", command, sep="\n", highlight=False, soft_wrap=True)

    emit(as_json, {"boards": boards}, show)
    if project.host_protocol is HostProtocol.MLPERF:
        messages.print(mlperf_text(project), highlight=False, soft_wrap=True)
    messages.print("Ctrl-C stops the boards", highlight=False)
