"""`tinysplit virtual`: virtual boards behind ports of the operating system, for programs that are not ours."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Annotated

import typer
from rich.console import Console

from tinysplit.cli.options import Folder, Json, emit, messages
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit.project.manifest import Project
from tinysplit.project.report import mlperf_text
from tinysplit_hil.bench.rig_file import served_rig_text
from tinysplit_hil.simulated_time import SharedTime

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_WRITTEN = "# Virtual boards that run at present. `tinysplit virtual` removes this file when it ends.\n"


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
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Rig file to write, for `tinysplit measure --rig`; it is removed when the boards stop."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Serve the virtual boards of a folder on serial or TCP ports until Ctrl-C, for minicom or a client of your own."""
    if pty and tcp is not None:
        raise UsageError("--pty and --tcp exclude each other: choose one")
    project = Project.read(folder)
    _serve(project, folder, tcp, out, is_real_time=real_time, as_json=as_json)
    messages.print("stopped")


def _serve(
    project: Project, folder: Path, tcp: int | None, out: Path | None, *, is_real_time: bool, as_json: bool
) -> None:
    # Imported here because they require Unicorn, which real boards do not.
    from tinysplit_hil.virtual.os_ports import open_ports  # noqa: PLC0415
    from tinysplit_hil.virtual.project_rig import project_rig  # noqa: PLC0415
    from tinysplit_hil.virtual.server import Server  # noqa: PLC0415

    with ExitStack() as stack:
        is_stopped = stack.enter_context(_stopped_by_signal())
        rig = project_rig(project, folder)
        for index in range(rig.board_count):
            rig.set_baud(index, project.host_baud)
        ports = [stack.enter_context(closing(port)) for port in open_ports(rig.board_count, tcp)]
        time_file = Path(stack.enter_context(TemporaryDirectory(prefix="tinysplit-virtual-"))) / "time"
        shared = stack.enter_context(closing(SharedTime.create(time_file, len(ports))))
        with steps(messages, f"starting {counted(rig.board_count, 'virtual board')}"):
            server = Server(rig, ports, shared, is_real_time=is_real_time)
        names = [port.name for port in ports]
        if out:
            stack.enter_context(_rig_file(out, _WRITTEN + served_rig_text(names, time_file, rig.model_note)))
        _print_ports(project, names, as_json)
        server.serve(is_stopped.is_set)


@contextmanager
def _stopped_by_signal() -> Iterator[Event]:
    """Yield an event that Ctrl-C, SIGTERM and the end of the terminal set, so that everything is cleaned up."""
    event = Event()
    before = {number: signal.signal(number, lambda *_: event.set()) for number in _SIGNALS}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _rig_file(path: Path, text: str) -> Iterator[None]:
    """Write a rig file and remove it at the end. Raises InputError for a file that is not of this command."""
    foreign = f"{path} exists and is not of `tinysplit virtual`: choose another file with -o"
    try:
        if path.exists() and not path.read_text(encoding="utf-8").startswith(_WRITTEN):
            raise InputError(foreign)
        path.write_text(text, encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(foreign) from None
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another file with -o") from None
    try:
        yield
    finally:
        if path.is_file() and path.read_text(encoding="utf-8") == text:  # not that of a later command
            path.unlink()


def _print_ports(project: Project, names: Sequence[str], as_json: bool) -> None:
    boards = [
        {"number": board.number, "name": board.name, "port": name, "baud": project.host_baud}
        for board, name in zip(project.boards, names, strict=True)
    ]

    def show(console: Console) -> None:
        for board, name in zip(project.boards, names, strict=True):
            console.print(f"{board.title}: {name}", highlight=False, soft_wrap=True)

    emit(as_json, {"boards": boards}, show)
    if project.host_protocol is HostProtocol.MLPERF:
        messages.print(mlperf_text(project), highlight=False, soft_wrap=True)
    messages.print("Ctrl-C stops the boards", highlight=False)
