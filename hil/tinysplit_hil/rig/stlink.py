"""ST-LINKs on the USB: their product ids, serial numbers and ports, and the rules that let users open them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from serial.tools import list_ports

from tinysplit.boards.probe_port import PORT_BAUDS
from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.texts.quoting import is_serial_number
from tinysplit.settings.programs import HOST_BAUD

VENDOR_ID = 0x0483
# OpenOCD: src/jtag/drivers/stlink_usb.c and interface/stlink.cfg. Those without a serial port are not listed by
# pyserial: ST-LINK/V2 (0x3748), and V3 while its own firmware is loaded (0x374D).
PRODUCTS = {
    0x374B: "ST-LINK/V2-1",
    0x3752: "ST-LINK/V2-1 without drive",
    0x374E: "STLINK-V3E",
    0x374F: "STLINK-V3S",
    0x3753: "STLINK-V3 with two ports",
    0x3754: "STLINK-V3E without drive",
}
_WITHOUT_PORT = (0x3748, 0x374D)
_RULE = (
    'SUBSYSTEMS=="usb", ATTRS{{idVendor}}=="{vendor:04x}", ATTRS{{idProduct}}=="{product:04x}", MODE="0660",'
    ' GROUP="dialout", TAG+="uaccess", ENV{{ID_MM_DEVICE_IGNORE}}="1"'
)
UDEV_RULES = "\n".join(
    (
        "# ST-LINKs: probe and serial port for the group dialout and the user at the desk; no modem manager.",
        "# sudo sh -c 'tinysplit bench udev > /etc/udev/rules.d/60-tinysplit.rules'",
        "# sudo udevadm control --reload && sudo udevadm trigger, and plug the boards in again",
        *(_RULE.format(vendor=VENDOR_ID, product=product) for product in sorted((*PRODUCTS, *_WITHOUT_PORT))),
    )
)


@dataclass(frozen=True)
class UsbPort:
    """A serial port; `product` is the ST-LINK that it belongs to, "" for another device."""

    device: str
    serial_number: str  # of its device on the USB, "" for none
    product: str
    place: str  # of its device on the USB, "" where the system does not tell

    def is_at(self, name: str) -> bool:
        """Whether `name` is this port, or a link to it."""
        return os.path.realpath(self.device) == os.path.realpath(name)


def usb_ports() -> tuple[UsbPort, ...]:
    """Return all serial ports, by the serial number of their device on the USB and by name."""
    ports = (
        UsbPort(
            str(port.device),
            port.serial_number or "",
            PRODUCTS.get(port.pid, "") if getattr(port, "vid", None) == VENDOR_ID else "",
            (getattr(port, "location", None) or "").partition(":")[0],  # behind it: the interface
        )
        for port in list_ports.comports()
    )
    return tuple(sorted(ports, key=lambda port: (port.serial_number, port.device)))


def check_single(serial_number: str, ports: Iterable[UsbPort]) -> None:
    """Raise ToolError where several devices have that serial number: no programmer can tell them apart."""
    places = [port for port in ports if port.serial_number == serial_number]
    if len({port.place for port in places}) > 1:
        raise ToolError(
            f"{len({port.place for port in places})} probes have the USB serial number {serial_number}"
            f" ({', '.join(port.device for port in places)}), by which they cannot be told apart: plug in one of them"
            " only"
        )


def check_port_baud(name: str, baud: int) -> None:
    """Raise InputError where the port `name` is that of an ST-LINK that cannot do `baud`."""
    for port in usb_ports():
        if not (port.product and port.is_at(name)):
            continue
        lowest, highest = next(bauds for family, bauds in PORT_BAUDS.items() if port.product.startswith(family))
        if not lowest <= baud <= highest:
            raise InputError(
                f"the port {name} of an {port.product} cannot do {baud} baud, but {lowest} to {highest}: generate the"
                f" project again with such a {HOST_BAUD}"
            )


@dataclass(frozen=True)
class Probe:
    """An ST-LINK that is plugged in."""

    serial_number: str
    product: str  # "ST-LINK/V2-1"
    ports: tuple[str, ...]


def connected_probes() -> tuple[Probe, ...]:
    """Return the ST-LINKs with a serial port, by serial number; those without such a number have "".

    Raises ToolError if there are none, or several of one number.
    """
    ports = [port for port in usb_ports() if port.product]
    for port in ports:
        if port.serial_number and not is_serial_number(port.serial_number):
            raise ToolError(
                f"the {port.product} at {port.device} has the USB serial number {port.serial_number!r}, which is none"
                " of ST: it would go into scripts; unplug it"
            )
    if not ports:
        raise ToolError(
            "no ST-LINK with a serial port is plugged in: connect the boards by USB, with cables that carry data"
            f" (`lsusb -d {VENDOR_ID:04x}:` lists them)"
        )
    devices: dict[tuple[str, str], list[str]] = {}
    for port in ports:
        if port.serial_number:
            check_single(port.serial_number, ports)
        devices.setdefault((port.serial_number, port.product), []).append(port.device)
    return tuple(Probe(number, product, tuple(own)) for (number, product), own in devices.items())
