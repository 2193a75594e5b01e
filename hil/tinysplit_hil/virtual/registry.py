"""Rigs by name, so that pyserial finds them by URL: virtual://<rig name>/<board index>."""

from collections.abc import Iterator
from contextlib import contextmanager

import serial

from tinysplit_hil.virtual.rig import VirtualRig

_URL_HANDLERS = "tinysplit_hil.urls"
_rigs: dict[str, VirtualRig] = {}


@contextmanager
def open_registered(name: str, rig: VirtualRig) -> Iterator[VirtualRig]:
    """Make `rig` known to serial.serial_for_url() under `name` while the context lasts."""
    if _URL_HANDLERS not in serial.protocol_handler_packages:
        serial.protocol_handler_packages.append(_URL_HANDLERS)
    _rigs[name] = rig
    try:
        yield rig
    finally:
        del _rigs[name]


def find(name: str) -> VirtualRig | None:
    """Return the rig with this name, or None."""
    return _rigs.get(name)
