"""The drive of an ST-LINK: a binary that is copied there is flashed."""

import re
from pathlib import Path

from tinysplit_hil.rig.commands import Command

MOUNTS = Path("/proc/self/mounts")
DISKS = Path("/dev/disk/by-id")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how mounts have blanks, and backslashes
DRIVE = "mounted drive NODE_* of probe"


def copy_to_drive(image: Path, serial_number: str) -> Command:
    """Return the command that copies a binary to the drive of a probe, and waits until it is written.

    Where there is no such drive, the command names what is missing, and fails.
    """
    drive = find_drive(serial_number) or Path(f"<{DRIVE} {serial_number}>")
    return ("dd", f"if={image}", f"of={drive / 'firmware.bin'}", "conv=fsync", "status=none")


def find_drive(serial_number: str) -> Path | None:
    """Return where the drive of a probe is mounted; its disk has the serial number in its name."""
    disks = {str(link.resolve()) for link in DISKS.glob(f"usb-*{serial_number}*")} if DISKS.is_dir() else set()
    mounts = [line.split()[:2] for line in _read(MOUNTS).splitlines()]
    places = [place for disk, place in mounts if disk in disks]
    return Path(_OCTAL.sub(lambda match: chr(int(match[1], 8)), places[0])) if places else None


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
