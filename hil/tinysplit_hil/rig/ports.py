"""Serial ports of real boards: opened for one program alone, with what to do where that fails."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import serial

from tinysplit.common.errors import InputError, ToolError, one_line
from tinysplit_hil.rig.stlink import check_port_baud

WRITE_TIMEOUT_S = 5.0
URLS = ("socket", "rfc2217", "virtual", "loop")  # of pyserial; others write files (spy) or open any port (alt, hwgrep)
_NO_PERMISSION = {errno.EACCES, errno.EPERM}
_BUSY = {errno.EBUSY, errno.EAGAIN}
_MISSING = {errno.ENOENT, errno.ENODEV, errno.ENXIO}


def may_be_port(name: str) -> bool:
    """Return whether `name` is a device, a URL of pyserial, or would be a device if its board were connected."""
    return "://" in name or name.startswith("/dev/") or Path(name).exists()


@contextmanager
def open_port(name: str, baud: int) -> Iterator[serial.SerialBase]:
    """Open the port or URL `name`; no other program can open it then.

    Raises ToolError with a remedy, InputError for another URL and a baud rate that the port of an ST-LINK cannot do.
    """
    scheme, separator, _ = name.partition("://")
    if separator and scheme not in URLS:
        raise InputError(f"the port {name} is no device, socket://HOST:PORT or rfc2217://HOST:PORT")
    check_port_baud(name, baud)
    write_timeout_s = None if name.startswith("rfc2217://") else WRITE_TIMEOUT_S  # pyserial has none there
    try:
        port = serial.serial_for_url(name, baudrate=baud, write_timeout=write_timeout_s, exclusive=True)
    except (serial.SerialException, ValueError, KeyError, OSError) as error:  # KeyError: options of a URL
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else one_line(error)
        raise ToolError(f"the port {name} cannot be opened ({reason}): {_remedy(number)}") from None
    with port:
        port.reset_input_buffer()
        yield port


def _remedy(number: int | None) -> str:
    if number in _NO_PERMISSION:
        return (
            "join the group dialout (`sudo usermod -aG dialout $USER`, then log in again), or install the udev rules"
            " that `tinysplit bench udev` prints"
        )
    if number in _BUSY:
        return "another program uses it: end that one (`fuser -v PORT` names it)"
    if number in _MISSING:
        return "is the board connected? `tinysplit bench discover` lists the ports"
    return "is the board connected, and the port not in use?"
