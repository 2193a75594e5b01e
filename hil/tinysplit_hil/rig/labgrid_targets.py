"""Boards that labgrid manages: ports and probes of the targets of a labgrid environment (docs/start/real_boards.md).

labgrid (the extra `labgrid`) is imported when a rig file names targets, and only here.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tinysplit.boards.debug_port import DebugPort
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import InputError, TinysplitError, ToolError, UsageError, one_line
from tinysplit.common.extras import install_line
from tinysplit.common.texts.quoting import tcl_word
from tinysplit.settings.measurement import PROGRAMMER
from tinysplit_hil.rig.commands import Command
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice, Programmer
from tinysplit_hil.rig.rig_file import RigFile, check_ports

SERIAL_PORTS = ("NetworkSerialPort", "RawSerialPort", "USBSerialPort")
PROBES = ("NetworkUSBDebugger", "USBDebugger")
_PROBE = re.compile(r"adapter serial .*")


@contextmanager
def board_ports(path: Path, rig: RigFile) -> Iterator[list[str]]:
    """Yield the ports of all boards of a rig file, in their order; those of labgrid are reachable in this context.

    Raises InputError for an environment or target that cannot be used, ToolError for a place that cannot be reached,
    and the errors of `check_ports`.
    """
    check_ports(path, rig)
    targets = [board.target for board in rig.board if board.target and not board.port]
    if not targets:
        yield [board.port_name() for board in rig.board]
        return
    file = _environment_file(path, rig)
    with ExitStack() as stack:
        with _errors_of_labgrid(file):
            environment = _opened(file)
            stack.callback(environment.cleanup)
            port_of = {name: _port(environment, name) for name in targets}
        yield [port_of.get(board.target or "") or board.port_name() for board in rig.board]


def _environment_file(path: Path, rig: RigFile) -> Path:
    """Return labgrid's file, which a rig file names by a path relative to its own folder."""
    return path.parent / (rig.labgrid.environment if rig.labgrid else "")


def programmer_of(path: Path, rig: RigFile, programmer: Programmer) -> Programmer:
    """Return the programmer of a rig's boards: OpenOCD on the hosts of labgrid's probes where it has targets.

    Raises UsageError for another programmer, or boards of both kinds.
    """
    if not any(board.target for board in rig.board):
        return programmer
    if programmer.name is not ProgrammerName.OPENOCD:
        raise UsageError(f"{path} has targets of labgrid, which are flashed with openocd: leave out {PROGRAMMER}")
    if not all(board.target for board in rig.board):
        raise UsageError(f"{path} has boards with and without `target`: flash the latter by themselves")
    environment = _environment_file(path, rig)
    openocd = PROGRAMMERS[ProgrammerName.OPENOCD]

    def flash(port: DebugPort, elf: Path, probe: ProbeChoice) -> tuple[Command, ...]:
        return tuple(_on_target(environment, probe.title, each, elf) for each in openocd.flash(port, elf, probe))

    def read(probe: ProbeChoice, addresses: Sequence[int]) -> Command:
        return _on_target(environment, probe.title, openocd.read(probe, addresses) if openocd.read else ())

    def write(port: DebugPort, file: Path, address: int, probe: ProbeChoice) -> Command:
        command = openocd.write(port, file, address, probe) if openocd.write else ()
        return _on_target(environment, probe.title, command, file)

    def set_register(port: DebugPort, address: int, word: int, probe: ProbeChoice) -> Command:
        command = openocd.set_register(port, address, word, probe) if openocd.set_register else ()
        return _on_target(environment, probe.title, command)

    return replace(openocd, executable=sys.executable, flash=flash, read=read, write=write, set_register=set_register)


def on_targets(path: Path, rig: RigFile, programmer: Programmer, commands: Mapping[int, Command]) -> dict[int, Command]:
    """Return commands by board number as they run on the hosts of labgrid's probes; those of other rigs as they are.

    The errors are those of `programmer_of`.
    """
    if programmer_of(path, rig, programmer) is programmer:
        return dict(commands)
    file = _environment_file(path, rig)
    return {number: _on_target(file, str(rig.board[number - 1].target), each) for number, each in commands.items()}


def _on_target(environment: Path, target: str, command: Command, image: Path | None = None) -> Command:
    return (sys.executable, "-m", __name__, str(environment), target, str(image or ""), *command)


def _opened(path: Path) -> Any:  # noqa: ANN401 (labgrid has no types)
    try:
        import labgrid  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise ToolError(f"targets of labgrid need the package {error.name}: {install_line('labgrid')}") from None
    if not path.is_file():
        raise InputError(f"labgrid's environment {path} is missing: [labgrid] of the rig file names it")
    return labgrid.Environment(str(path))


@contextmanager
def _errors_of_labgrid(path: Path) -> Iterator[None]:
    """Turn all that labgrid raises, whose errors have no base class, into an error of ours."""
    try:
        yield
    except TinysplitError:
        raise
    except Exception as error:  # noqa: BLE001
        text = one_line(error) or type(error).__name__
        raise ToolError(f"labgrid with {path}: {text}: is the place acquired (`labgrid-client acquire`)?") from None


def _target(environment: Any, name: str) -> Any:  # noqa: ANN401 (labgrid has no types)
    target = environment.get_target(name)
    if target is None:
        known = ", ".join(environment.config.get_targets()) or "none"
        raise InputError(f"{environment.config_file} has no target {name!r} (it has {known})")
    return target


def _resource(environment: Any, name: str, kinds: Sequence[str]) -> Any:  # noqa: ANN401
    """Return the resource of a target that is one of `kinds`, once it is available."""
    target = _target(environment, name)
    for resource in target.resources:
        if type(resource).__name__ in kinds:
            target.await_resources([resource])
            return resource
    raise InputError(f"target {name!r} of {environment.config_file} has none of {', '.join(kinds)}")


def _port(environment: Any, name: str) -> str:  # noqa: ANN401
    """Return the device or URL of a target's serial port."""
    resource = _resource(environment, name, SERIAL_PORTS)
    if type(resource).__name__ != "NetworkSerialPort":
        return str(resource.port)
    from labgrid.util.proxy import proxymanager  # noqa: PLC0415

    host, port = proxymanager.get_host_and_port(resource)
    return f"socket://{host}:{port}" if resource.protocol == "raw" else f"rfc2217://{host}:{port}?ign_set_control"


def cycle_power(path: Path, rig: RigFile, numbers: Sequence[int]) -> None:
    """Switch the power of boards off and on, one after the other, with the power drivers of their targets.

    Raises InputError for a board without a target, and a target without such a driver; ToolError where it fails.
    """
    file = _environment_file(path, rig)
    targets = {number: rig.board[number - 1].target for number in numbers}
    for number, name in targets.items():
        if name is None:
            raise InputError(f"{path} has no target of labgrid for board {number}, which switches its power")
    with _errors_of_labgrid(file), ExitStack() as stack:
        environment = _opened(file)
        stack.callback(environment.cleanup)
        for name in map(str, targets.values()):
            target = _target(environment, name)
            driver = next((each for each in target.drivers if hasattr(each, "cycle")), None)
            if driver is None:
                raise InputError(f"target {name!r} of {file} has no power driver, such as NetworkPowerDriver: add one")
            target.activate(driver)
            driver.cycle()


def run_on_target(environment: Path, name: str, image: str, command: Sequence[str]) -> int:
    """Run an OpenOCD command on the host of a target's probe; return the exit code.

    `image` is the file that the command writes, which is copied there, or "".
    """
    with _errors_of_labgrid(environment):
        opened = _opened(environment)
        try:
            wrapped = _wrapped(opened, name, image, command)
        finally:
            opened.cleanup()
    return subprocess.run(wrapped, check=False).returncode


def _wrapped(environment: Any, name: str, image: str, command: Sequence[str]) -> list[str]:  # noqa: ANN401
    """Return an OpenOCD command for the host of a probe, after copying its image there."""
    from labgrid.util.managedfile import ManagedFile  # noqa: PLC0415

    probe = _resource(environment, name, PROBES)
    words = [str(environment.config.get_tool(command[0]))]
    words += (_PROBE.sub(lambda _: f"adapter usb location {tcl_word(probe.path)}", each) for each in command[1:])
    if image:
        file = ManagedFile(image, probe)
        file.sync_to_resource()
        words = [each.replace(tcl_word(image), tcl_word(file.get_remote_path())) for each in words]
    return list(probe.wrap_command(words))


def main() -> None:
    """Run what stands behind the environment and the target on the command line."""
    environment, target, image, *command = sys.argv[1:]
    try:
        sys.exit(run_on_target(Path(environment), target, image, command))
    except TinysplitError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
