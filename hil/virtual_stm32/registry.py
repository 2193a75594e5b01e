"""Open rigs by name, for pyserial URLs: virtual://<rig name>/<board index>."""

from collections.abc import Iterator
from contextlib import contextmanager

import serial

from virtual_stm32.rig import VirtualRig

_URL_HANDLERS = "virtual_stm32.urls"
_rigs: dict[str, VirtualRig] = {}


@contextmanager
def open_registered(name: str, rig: VirtualRig) -> Iterator[VirtualRig]:
    """Register `rig` as `name` for serial.serial_for_url() while the context is open."""
    if _URL_HANDLERS not in serial.protocol_handler_packages:
        serial.protocol_handler_packages.append(_URL_HANDLERS)
    _rigs[name] = rig
    try:
        yield rig
    finally:
        del _rigs[name]


def find(name: str) -> VirtualRig | None:
    """Return the open rig with this name, or None."""
    return _rigs.get(name)
