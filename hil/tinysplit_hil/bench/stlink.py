"""ST-LINKs on the USB: their product ids, serial numbers and ports, and the rules that let users open them."""

import os
from dataclasses import dataclass

from serial.tools import list_ports

from tinysplit.boards.probe_port import PORT_BAUDS
from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.texts.quoting import is_serial_number

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


def check_port_baud(name: str, baud: int) -> None:
    """Raise InputError where the port `name` is that of an ST-LINK that cannot do `baud`."""
    for port in list_ports.comports():
        product = PRODUCTS.get(port.pid) if port.vid == VENDOR_ID else None
        if product is None or os.path.realpath(str(port.device)) != os.path.realpath(name):
            continue
        lowest, highest = next(bauds for family, bauds in PORT_BAUDS.items() if product.startswith(family))
        if not lowest <= baud <= highest:
            raise InputError(
                f"the port {name} of an {product} cannot do {baud} baud, but {lowest} to {highest}: generate the"
                " project again with such a --host-baud"
            )


@dataclass(frozen=True)
class Probe:
    """An ST-LINK that is plugged in."""

    serial_number: str
    product: str  # "ST-LINK/V2-1"
    ports: tuple[str, ...]


def connected_probes() -> tuple[Probe, ...]:
    """Return the ST-LINKs with a serial port, by serial number. Raises ToolError if there are none."""
    found = sorted(
        (port.serial_number, PRODUCTS[port.pid], str(port.device))
        for port in list_ports.comports()
        if port.vid == VENDOR_ID and port.pid in PRODUCTS and port.serial_number
    )
    for number, product, device in found:
        if not is_serial_number(number):
            raise ToolError(
                f"the {product} at {device} has the USB serial number {number!r}, which is none of ST: it would go into"
                " scripts; unplug it"
            )
    if not found:
        raise ToolError(
            "no ST-LINK with a serial port is plugged in: connect the boards by USB, with cables that carry data"
            f" (`lsusb -d {VENDOR_ID:04x}:` lists them)"
        )
    devices: dict[tuple[str, str], list[str]] = {}
    for number, product, device in found:
        devices.setdefault((number, product), []).append(device)
    return tuple(Probe(number, product, tuple(own)) for (number, product), own in devices.items())
