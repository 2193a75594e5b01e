"""The parts of a rig, as a debugger reads them: device id, revision and option bytes."""

from collections.abc import Mapping
from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.boards.debug_port import DebugPort, load_debug_port
from tinysplit.boards.device_identity import IDCODE, DeviceIdentity
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import ToolError
from tinysplit_hil.rig.labgrid_targets import programmer_of
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice, Programmer
from tinysplit_hil.rig.rig_file import RigFile, read_rig_of


def read_devices(spec: str, names: Mapping[int, str]) -> Mapping[int, DeviceIdentity]:
    """Return the parts of the boards of a rig, by number; `names` are those of the boards.

    Virtual boards are asked for the words of their models; real ones, which go on running, through their probes, by the
    first programmer that is installed. Those that nobody can ask are missing. Raises InputError for the rig file.
    """
    ports = {number: load_debug_port(name) for number, name in names.items()}
    file = None if spec == VIRTUAL else read_rig_of(Path(spec), names)
    if file is None or file.runs_without_flashing:
        return _virtual(ports)
    programmer = _programmer(Path(spec), file)
    read = {number: _read(ports[number], board.probe, programmer) for number, board in file.by_number(names).items()}
    return {number: device for number, device in read.items() if device}


def _virtual(ports: Mapping[int, DebugPort]) -> Mapping[int, DeviceIdentity]:
    # Imported here because it requires Unicorn, which real boards do not.
    from virtual_stm32.rig import VirtualBoard, VirtualRig  # noqa: PLC0415

    rig = VirtualRig([VirtualBoard(load_board(port.board), None) for port in ports.values()], is_debuggable=True)
    return {
        number: DeviceIdentity.of({name: rig.part(index).read(each, 4) for name, each in _registers(port).items()})
        for index, (number, port) in enumerate(ports.items())
    }


def _programmer(path: Path, file: RigFile) -> Programmer | None:
    """Return what reads any words of parts, None where nothing does."""
    if all(board.target for board in file.board):
        return programmer_of(path, file, PROGRAMMERS[ProgrammerName.OPENOCD])
    readers = (each for each in PROGRAMMERS.values() if each.set_register and each.is_installed)
    return next(readers, None)


def _read(port: DebugPort, probe: ProbeChoice | None, programmer: Programmer | None) -> DeviceIdentity | None:
    """Return the part behind a probe, None where it cannot be read."""
    if not (probe and programmer) or not (probe.serial_number or programmer.name is ProgrammerName.OPENOCD):
        return None
    registers = _registers(port)
    try:
        words = programmer.read_words(probe, tuple(registers.values()))
    except ToolError:
        return None
    if not words.keys() >= set(registers.values()):
        return None
    return DeviceIdentity.of({name: words[address] for name, address in registers.items()})


def _registers(port: DebugPort) -> Mapping[str, int]:
    """Return the addresses of what tells the part, by their names."""
    return {IDCODE: port.idcode_address, **port.option_registers}
