"""A board file for any part of a line with firmware: what is known of the device, and a choice of its pins.

Which pins a board connects, and to what, is known to its owner only: the file says where to look.
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from tinysplit.boards.catalog import family_names, load_family, make_board
from tinysplit.boards.devices import package_pins, part_names, uart_pins
from tinysplit.boards.family_schema import DeviceLine, FamilyFile
from tinysplit.boards.schema import BoardFile
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.file_schema import first_mistake
from tinysplit.common.output_file import version_mark
from tinysplit.common.templates import render
from tinysplit.settings.programs import MARKERS

_FAMILY_LETTERS = len("stm32g0")
_MOST_NAMES = 8  # in messages
_USUAL_HOST = "USART2"  # behind the ST-LINK of most boards of ST
# SWD and JTAG, USB, oscillators: what boards usually connect otherwise.
_RESERVED = ("PA11", "PA12", "PA13", "PA14", "PA15", "PB3", "PB4", "PC13", "PC14", "PC15", "PF0", "PF1", "PH0", "PH1")


@dataclass(frozen=True)
class _Uart:
    name: str
    tx: str
    rx: str


@dataclass(frozen=True)
class _NewBoard:
    """Variables of the template."""

    version: str
    part: str
    platformio_board: str
    line: DeviceLine
    host: _Uart
    links: tuple[_Uart, ...]
    markers: tuple[str, str]


def new_board_file(given: str) -> tuple[str, str]:
    """Return the name of a part, given in any case and by its beginning if that is enough, and a board file for it.

    Raises UsageError for a part that is not known, InputError for one without firmware or with too few UARTs or pins.
    """
    part = _part(given)
    family = load_family(part)
    line = _line(part, family)
    uarts = tuple(_uarts(part, family))
    if len(uarts) < 2:  # noqa: PLR2004 (host and link)
        names = ", ".join(uart.name for uart in uarts) or "none"
        raise InputError(f"{part} has too few UARTs: one for the host and one for a link are needed, known are {names}")
    host = next((uart for uart in uarts if uart.name == _USUAL_HOST), uarts[0])
    taken = {pin for uart in uarts for pin in (uart.tx, uart.rx)}
    free = [pin for pin in _in_order(package_pins(part)) if pin not in taken and pin not in _RESERVED]
    if len(free) < 2:  # noqa: PLR2004 (layers and transfers)
        raise InputError(f"{part} has no two free pins for {MARKERS(True)} beside its UARTs: choose a larger package")
    text = render(
        "project/new_board.toml.j2",
        _NewBoard(
            version=version_mark(),
            part=part,
            platformio_board=f"generic{part[:11].upper()}",
            line=line,
            host=host,
            links=tuple(uart for uart in uarts if uart != host),
            markers=(free[0], free[1]),
        ),
    )
    _check(part, text)
    return part, text


def _part(given: str) -> str:
    """Return the only part with this name or beginning. Raises UsageError with those that begin alike, or are near."""
    wanted = given.lower()
    known = part_names()
    alike = [name for name in known if name.startswith(wanted)] if len(wanted) >= _FAMILY_LETTERS else []
    parts = [wanted] if wanted in known else alike
    if parts:
        load_family(wanted)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        _check_one_core(wanted)
        nearest = next(
            (wanted[:n] for n in range(len(wanted), 6, -1) if any(k.startswith(wanted[:n]) for k in known)), ""
        )
        near = get_close_matches(wanted, _with_firmware(known), n=3)
        others = f"nearest: {', '.join(near)}" if near else "as in stm32g071rbt6"
        hint = f"parts that begin with {nearest}: {_some(nearest, known)}" if nearest else others
        raise UsageError(f"there is no part {given!r}: write it as on the device, {hint}")
    raise UsageError(f"{given}: several parts begin so: {_some(wanted, known)}; write one of them")


def _with_firmware(parts: Sequence[str]) -> list[str]:
    families = family_names()
    return [part for part in parts if part[:_FAMILY_LETTERS] in families]


def _check_one_core(wanted: str) -> None:
    """Raise InputError for parts with two cores that both start at a reset."""
    alike = [name for name in part_names(n_cores=2) if name.startswith(wanted)]
    if len(wanted) >= _FAMILY_LETTERS and alike:
        raise InputError(f"{wanted}: there is no firmware for parts with two cores that both start at a reset")


def _some(beginning: str, known: Sequence[str]) -> str:
    names = [name for name in known if name.startswith(beginning)]
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")


def _line(part: str, family: FamilyFile) -> DeviceLine:
    if line := family.line_of(part):
        return line
    known = ", ".join(pattern for line in family.lines for pattern in line.parts)
    raise InputError(f"{part}: there is no firmware for its line of the family {part[:7]}, only for {known}")


def _uarts(part: str, family: FamilyFile) -> Iterator[_Uart]:
    """Yield the UARTs of the package that the family file describes, each on pins of its own."""
    taken = set(_RESERVED)
    for name in sorted(family.uarts, key=lambda name: (name != _USUAL_HOST, name.startswith("LP"), name[-1])):
        pins = uart_pins(part, name)
        free = ((tx, rx) for tx in pins.tx for rx in pins.rx if rx.suits(tx) and not {tx.name, rx.name} & taken)
        pair = next(((tx.name, rx.name) for tx, rx in free if tx.name != rx.name), None)
        if pair:
            taken.update(pair)
            yield _Uart(name, *pair)


def _in_order(pins: Iterable[str]) -> list[str]:
    return sorted(pins, key=lambda pin: (pin[1], int(pin[2:])))


def _check(part: str, text: str) -> None:
    """Raise InputError where the facts of the device and those of its line contradict each other."""
    data: dict[str, Any] = tomllib.loads(text)
    try:
        make_board(part, BoardFile.model_validate(data))
    except ValidationError as error:
        raise InputError(f"{part}: {first_mistake(error)}") from None
