"""The programs that flash a board through its probe: how each is called, and what its output means."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tinysplit.boards.debug_port import BankFlag, DebugPort
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.texts.quoting import shell_line, tcl_word
from tinysplit.settings.measurement import PROGRAMMER
from tinysplit_hil.rig.commands import Command, run_command, side_by_side
from tinysplit_hil.rig.mass_storage import DRIVE, copy_to_drive

OBJCOPY = COMPILER.replace("gcc", "objcopy")
READ_LIMIT_S = 60.0
T = TypeVar("T")


@dataclass(frozen=True)
class ProbeChoice:
    """The probe of a board: its USB serial number, and OpenOCD's commands that choose it where it is no ST-LINK."""

    serial_number: str | None = None
    openocd_adapter: str | None = None

    @property
    def title(self) -> str:
        """The probe in messages: its serial number, or the last command that chooses it."""
        return self.serial_number or str(self.openocd_adapter).rpartition(";")[2].strip()


@dataclass(frozen=True)
class Programmer:
    """A program that flashes boards through their probes.

    `read` returns the command that reads words at addresses, the first that of the device id; it neither halts nor
    resets the board. `words` finds them in its output. `write` returns the command that writes the bytes of a file to
    an address of the flash, and changes no other sectors. `set_register` returns the command that writes a word to an
    address and resets the board.
    """

    name: ProgrammerName
    executable: str
    remedy: str  # where it is not installed
    flash: Callable[[DebugPort, Path, ProbeChoice], tuple[Command, ...]]  # of an ELF file, by a probe
    read: Callable[[ProbeChoice, Sequence[int]], Command] | None = None
    words: Callable[[str, str, Sequence[int]], Mapping[int, int]] | None = None
    write: Callable[[DebugPort, Path, int, ProbeChoice], Command] | None = None  # of bytes to an address
    set_register: Callable[[DebugPort, int, int, ProbeChoice], Command] | None = None  # an address and its word
    verifies: bool = True  # compares the flash with the file
    is_parallel: bool = False  # several may run at a time

    @property
    def is_installed(self) -> bool:
        """Whether it is on the PATH."""
        return shutil.which(self.executable) is not None

    def require(self, ports: Sequence[DebugPort], probes: Sequence[ProbeChoice] = ()) -> None:
        """Raise ToolError with the remedy where it is not installed, or cannot flash one of the parts.

        Raises InputError for a probe that only OpenOCD can choose.
        """
        if self.name is not ProgrammerName.OPENOCD and not all(each.serial_number for each in probes):
            raise InputError(
                f"{PROGRAMMER} {self.name} finds probes by serial_number, openocd_adapter is only for"
                f" {PROGRAMMER} {ProgrammerName.OPENOCD}: add serial_number to every [[board]]"
            )
        if not self.is_installed:
            others = [each.name for each in PROGRAMMERS.values() if each.is_installed and each is not self]
            instead = f", or use {PROGRAMMER} {others[0]}" if others else ""
            raise ToolError(f"{self.executable} is not on the PATH: {self.remedy}{instead}")
        if self.name is ProgrammerName.PYOCD:
            _require_packs(ports)

    def each(self, calls: Mapping[int, Callable[[], T]]) -> dict[int, T]:
        """Return what the calls for boards, by number, return: side by side where several of it may run at a time."""
        return side_by_side(calls, max(1, len(calls)) if self.is_parallel else 1)

    def read_words(self, probe: ProbeChoice, addresses: Sequence[int]) -> Mapping[int, int]:
        """Return words of the part by address; those that cannot be read are missing.

        Raises ToolError where the probe does not reach the part.
        """
        if not (self.read and self.words):
            return {}
        done = run_command(self.read(probe, addresses), READ_LIMIT_S)
        words = self.words(done.output, str(probe.serial_number), addresses)
        if not words and (reason := known_failure(done.output)):
            raise ToolError(reason)
        return words


# What the messages of the programmers mean. The first that has one of them counts.
_FAILURES: Mapping[str, tuple[str, ...]] = {
    "no permission to open the probe: install the udev rules that `tinysplit bench udev` prints": (
        "LIBUSB_ERROR_ACCESS",
        "Access denied",
        "insufficient permissions",
    ),
    "the probe is in use: end the other program (debugger, IDE)": (
        "LIBUSB_ERROR_BUSY",
        "Resource busy",
        r"Error on socket 'remote_bitbang\w*'",  # of virtual boards
    ),
    "the probe is not connected, or in use: check its cable and serial number (`tinysplit bench discover`)": (
        "Error: open failed",
        "socket 'Failed to connect'",  # of virtual boards
        "Couldn't find any ST-Link",
        "No connected debug probe matches",
        "No target device available",
        "No debug probe detected",
        "No ST-LINK detected",
    ),
    "the probe does not reach the part: check the board's supply and the jumpers of its ST-LINK": (
        "init mode failed",
        "unable to connect to the target",
        "Failed to connect to target",
        "No STM32 target found",
        "Unable to get core ID",
        "scan chain interrogation failed",
    ),
    "pyOCD does not know the part: install its pack (`pyocd pack install PART`)": (r"Target type \S+ not recognized",),
    "OpenOCD does not know the part: use ST's, a newer one, or STM32CubeProgrammer": (r"Can't find target/\S+\.cfg",),
    "the flash is protected: remove the protection with STM32CubeProgrammer, which erases it": (
        "(?i)read[- ]?(out)?[- ]?protect",
        "device protected",
        "(?i)failed to erase memory",
    ),
    "the image does not fit into the flash": ("(?i)no space left", "no flash bank found"),
    "the flash does not have what was written to it: flash again, and check the supply": (
        "(?i)verify failed",
        "checksum mismatch",
        "Verification of flash failed",
        "Data mismatch",
    ),
    "the drive of its probe is not mounted: open it in the file manager": (re.escape(DRIVE),),
}


# What the target files of OpenOCD cause with adapters whose speed cannot be set.
_HARMLESS = re.compile(r"adapter speed not implemented|Error executing event reset-|^embedded:startup.tcl")


def known_failure(output: str) -> str | None:
    """Return what the output of a programmer means, None where it says nothing that is known."""
    return next(
        (meaning for meaning, patterns in _FAILURES.items() if any(re.search(each, output) for each in patterns)), None
    )


def failure(output: str) -> str:
    """Return why a programmer failed: what its output means, else the first line of it that names an error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = (line for line in lines if re.search(r"(?i)\berror\b|failed", line) and not _HARMLESS.search(line))
    first = next(errors, lines[-1] if lines else "")
    return known_failure(output) or first or "it ended without a message"


_WORD = re.compile(r"^(?:0x)?([0-9a-fA-F]{8}) ?:\s+(?:0x)?([0-9a-fA-F]{8})\b", re.MULTILINE)


def _words(output: str, _serial_number: str, _addresses: Sequence[int]) -> dict[int, int]:
    """`0x40015800: 20006460` of OpenOCD; pyOCD and STM32CubeProgrammer print the same but for 0x and spaces."""
    return {int(address, 16): int(word, 16) for address, word in _WORD.findall(output)}


# OpenOCD. Its servers are off, as two of it would want the same TCP ports. Only echo prints every result of a script.

_ALONE = ("-c", "gdb_port disabled; telnet_port disabled; tcl_port disabled")
_ANY_PART = (
    "swj_newdap stm32 cpu -irlen 4 -expected-id 0; dap create stm32.dap -chain-position stm32.cpu;"
    " target create stm32.cpu cortex_m -dap stm32.dap; adapter speed 500; init;"
)


def openocd_command(probe: ProbeChoice, target: str, script: str) -> Command:
    """Return the call of OpenOCD that runs a script on the part behind a probe."""
    adapter = ("-c", probe.openocd_adapter) if probe.openocd_adapter else ("-f", "interface/stlink.cfg")
    serial = ("-c", f"adapter serial {tcl_word(probe.serial_number)}") if probe.serial_number else ()
    return ("openocd", *adapter, *serial, *_ALONE, "-f", f"target/{target}", "-c", script)


def _openocd_flash(port: DebugPort, elf: Path, probe: ProbeChoice) -> tuple[Command, ...]:
    return (_openocd_program(port, tcl_word(str(elf)), probe),)


def _openocd_write(port: DebugPort, file: Path, address: int, probe: ProbeChoice) -> Command:
    return _openocd_program(port, f"{tcl_word(str(file))} {address:#010x}", probe)


def _openocd_program(port: DebugPort, image: str, probe: ProbeChoice) -> Command:
    """Return the call that writes `image`, words of Tcl. Not by `program`, which evaluates a file's name once more."""
    script = (
        f"init; reset init; echo [flash write_image erase {image}]; echo [verify_image {image}]; reset run; shutdown"
    )
    return openocd_command(probe, f"{port.openocd_target}.cfg", script)


def _openocd_set(port: DebugPort, address: int, word: int, probe: ProbeChoice) -> Command:
    script = f"init; mww {address:#010x} {word:#010x}; reset run; shutdown"
    return openocd_command(probe, f"{port.openocd_target}.cfg", script)


def _openocd_read(probe: ProbeChoice, addresses: Sequence[int]) -> Command:
    reads = "".join(f" catch {{echo [mdw {address:#010x}]}};" for address in addresses)
    return openocd_command(probe, "swj-dp.tcl", f"{_ANY_PART}{reads} shutdown")


def unlock_command(port: DebugPort, probe: ProbeChoice) -> str:
    """Return the line for a shell that removes read-out protection: STM32CubeProgrammer's for an ST-LINK."""
    if not probe.openocd_adapter:
        return shell_line((_CUBE, "-c", "port=SWD", f"sn={probe.serial_number}", "-ob", "RDP=0xAA"))
    script = f"init; reset halt; {port.openocd_flash_driver} unlock 0; reset; shutdown"
    return shell_line(openocd_command(probe, f"{port.openocd_target}.cfg", script))


def bank_command(port: DebugPort, flag: BankFlag, probe: ProbeChoice) -> str:
    """Return the line for a shell that sets the option bit of the banks: STM32CubeProgrammer's for an ST-LINK."""
    if not probe.openocd_adapter:
        return shell_line((_CUBE, "-c", "port=SWD", f"sn={probe.serial_number}", "-ob", f"{flag.name}={flag.value}"))
    offset = port.protection_address & _OPTION_OFFSET
    driver, value = port.openocd_flash_driver, flag.mask * flag.value
    write = f"{driver} option_write 0 {offset:#x} {value:#x} {flag.mask:#x}; {driver} option_load 0"
    return shell_line(openocd_command(probe, f"{port.openocd_target}.cfg", f"init; reset halt; {write}; shutdown"))


def gdb_server(port: DebugPort, openocd_adapter: str, gdb_port: int) -> str:
    """Return the line for a shell that lets gdb connect by `target extended-remote :PORT`."""
    others = "telnet_port disabled; tcl_port disabled"
    target = ("-f", f"target/{port.openocd_target}.cfg")
    return shell_line(("openocd", "-c", openocd_adapter, "-c", f"gdb_port {gdb_port}; {others}", *target))


# pyOCD

_BUILT_IN = ("stm32h723", "stm32h743")  # of the parts of boards/, those that pyOCD has without a pack


def pyocd_target(part: str) -> str:
    """Return pyOCD's name of a part: stm32g071rbt6 is stm32g071rbtx there."""
    return f"{part[:9]}xx" if part.startswith(_BUILT_IN) else re.sub(r"\d(p?)$", r"x\1", part)


def _require_packs(ports: Sequence[DebugPort]) -> None:
    listed = run_command(("pyocd", "json", "--targets"), READ_LIMIT_S).output
    lacking = sorted({pyocd_target(port.part) for port in ports if f'"{pyocd_target(port.part)}"' not in listed})
    if lacking:
        raise ToolError(
            f"pyocd has no pack for {', '.join(lacking)}: `pyocd pack install {' '.join(lacking)}`, or use"
            f" {PROGRAMMER} {ProgrammerName.OPENOCD}"
        )


def _pyocd_flash(port: DebugPort, elf: Path, probe: ProbeChoice) -> tuple[Command, ...]:
    return (("pyocd", "flash", "-W", "-u", str(probe.serial_number), "-t", pyocd_target(port.part), str(elf)),)


def _pyocd_write(port: DebugPort, file: Path, address: int, probe: ProbeChoice) -> Command:
    target = ("-t", pyocd_target(port.part), "--erase", "sector", "--base-address", f"{address:#010x}")
    return ("pyocd", "flash", "-W", "-u", str(probe.serial_number), *target, str(file))


def _pyocd_set(port: DebugPort, address: int, word: int, probe: ProbeChoice) -> Command:
    target = ("-t", pyocd_target(port.part), "-M", "attach")
    writes = ("-c", f"write32 {address:#010x} {word:#010x}", "-c", "reset")
    return ("pyocd", "commander", "-W", "-u", str(probe.serial_number), *target, *writes)


def _pyocd_read(probe: ProbeChoice, addresses: Sequence[int]) -> Command:
    reads = [word for address in addresses for word in ("-c", f"read32 {address:#010x}")]
    return ("pyocd", "commander", "-W", "-u", str(probe.serial_number), "-t", "cortex_m", "-M", "attach", *reads)


# st-flash and st-info


def _st_flash(port: DebugPort, elf: Path, probe: ProbeChoice) -> tuple[Command, ...]:
    image = str(elf.with_suffix(".bin"))
    write = ("st-flash", "--serial", str(probe.serial_number), "--reset", "write", image, f"{port.flash_start:#010x}")
    return (_to_binary(elf), write)


def _st_write(_port: DebugPort, file: Path, address: int, probe: ProbeChoice) -> Command:
    serial_number = str(probe.serial_number)
    return ("st-flash", "--serial", serial_number, "--reset", "write", str(file), f"{address:#010x}")


def _to_binary(elf: Path) -> Command:
    return (OBJCOPY, "-O", "binary", str(elf), str(elf.with_suffix(".bin")))


def _st_info(_probe: ProbeChoice, _addresses: Sequence[int]) -> Command:
    return ("st-info", "--probe", "--hot-plug")


def _chip_id(output: str, serial_number: str, addresses: Sequence[int]) -> dict[int, int]:
    """Find the probe among all that st-info lists; it tells the device id, and no other word."""
    match = re.search(
        rf"serial:\s*{re.escape(serial_number)}\b(?:(?!serial:).)*?chipid:\s*(0x[0-9a-fA-F]+)\b", output, re.DOTALL
    )
    return {addresses[0]: int(match[1], 16)} if match else {}


# STM32CubeProgrammer

_CUBE = "STM32_Programmer_CLI"
_OPTION_OFFSET = 0x3FF  # of the option register, from the flash controller


def _cube_flash(_port: DebugPort, elf: Path, probe: ProbeChoice) -> tuple[Command, ...]:
    return ((_CUBE, "-c", "port=SWD", f"sn={probe.serial_number}", "-d", str(elf), "-v", "-rst"),)


def _cube_write(_port: DebugPort, file: Path, address: int, probe: ProbeChoice) -> Command:
    connection = ("-c", "port=SWD", f"sn={probe.serial_number}")
    return (_CUBE, *connection, "-d", str(file), f"{address:#010x}", "-v", "-rst")


def _cube_set(_port: DebugPort, address: int, word: int, probe: ProbeChoice) -> Command:
    connection = ("-c", "port=SWD", f"sn={probe.serial_number}", "mode=HOTPLUG")
    return (_CUBE, *connection, "-w32", f"{address:#010x}", f"{word:#010x}", "-rst")


def loader_command(elf: Path, probe: ProbeChoice) -> str:
    """Return the line for a shell that flashes a board with an external memory, by a loader that the user names."""
    return shell_line((_CUBE, "-c", "port=SWD", f"sn={probe.title}", "-el", "LOADER", "-d", str(elf), "-v", "-rst"))


def _cube_read(probe: ProbeChoice, addresses: Sequence[int]) -> Command:
    reads = [word for address in addresses for word in ("-r32", f"{address:#010x}", "4")]
    return (_CUBE, "-c", "port=SWD", f"sn={probe.serial_number}", "mode=HOTPLUG", *reads)


# The drive of a Nucleo


def _copy(_port: DebugPort, elf: Path, probe: ProbeChoice) -> tuple[Command, ...]:
    return (_to_binary(elf), copy_to_drive(elf.with_suffix(".bin"), str(probe.serial_number)))


PROGRAMMERS = {
    each.name: each
    for each in (
        Programmer(
            ProgrammerName.OPENOCD,
            "openocd",
            "install it (Debian: apt-get install openocd)",
            _openocd_flash,
            _openocd_read,
            _words,
            _openocd_write,
            _openocd_set,
            is_parallel=True,
        ),
        Programmer(
            ProgrammerName.PYOCD,
            "pyocd",
            "install it (pip install pyocd)",
            _pyocd_flash,
            _pyocd_read,
            _words,
            _pyocd_write,
            _pyocd_set,
            verifies=False,
            is_parallel=True,
        ),
        Programmer(
            ProgrammerName.ST_FLASH,
            "st-flash",
            "install it (Debian: apt-get install stlink-tools)",
            _st_flash,
            _st_info,
            _chip_id,
            _st_write,
        ),
        Programmer(
            ProgrammerName.CUBEPROGRAMMER,
            _CUBE,
            "install STM32CubeProgrammer from st.com and add its bin folder to the PATH",
            _cube_flash,
            _cube_read,
            _words,
            _cube_write,
            _cube_set,
        ),
        Programmer(
            ProgrammerName.MASS_STORAGE, "dd", "install it (Debian: apt-get install coreutils)", _copy, verifies=False
        ),
    )
}
