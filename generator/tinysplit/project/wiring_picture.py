"""The picture of what to connect: both ends of each link with their header pins, as text and as SVG."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tinysplit.boards.catalog import load_board
from tinysplit.boards.header_pins import header_pins
from tinysplit.common.templates import render
from tinysplit.project.manifest import Project, ProjectLink

_COLUMN = 28  # characters of the left end
_PANEL_HEIGHT, _FIRST_WIRE, _WIRE_STEP = 190, 92, 34
_COLORS = ("#c2410c", "#1d4ed8", "#111111")  # TX of the left board, TX of the right one, ground


@dataclass(frozen=True)
class WireEnd:
    """One end of a wire: the signal, the header pin, and the pin of the device, "" for ground."""

    signal: str  # "TX", "RX", "GND"
    header: str  # "CN10-21 (D8)"
    pin: str  # "PA9"


@dataclass(frozen=True)
class DrawnWire:
    """A wire between the left and the right board of a link; `to` is the end that listens, "" for ground."""

    left: WireEnd
    right: WireEnd
    to: str  # "left", "right"


@dataclass(frozen=True)
class LinkPicture:
    """The two ends of a link, and its three wires."""

    left: str  # "board 1 (nucleo_g071rb) USART1"
    right: str
    left_title: str  # "NUCLEO-G071RB (STM32G071RB)"
    right_title: str
    baud: int
    wires: tuple[DrawnWire, ...]


@dataclass(frozen=True)
class _DrawnWire:
    y: int
    color: str
    wire: DrawnWire


@dataclass(frozen=True)
class _Panel:
    y: int
    link: LinkPicture
    wires: tuple[_DrawnWire, ...]


@dataclass(frozen=True)
class WiringPicture:
    """The names of `project/wiring.svg.j2`; lengths in pixels."""

    height: int
    panels: tuple[_Panel, ...]


def picture_of(project: Project, link: ProjectLink) -> LinkPicture:
    """Return what to connect for a link."""
    ends = [(project.board(end.board), end.uart) for end in link.ends]
    left, right = (header_pins(board.name, uart) for board, uart in ends)
    left_title, right_title = (load_board(board.name).title for board, _ in ends)
    left_name, right_name = (f"{board.title} {uart}" for board, uart in ends)
    wires = (
        DrawnWire(WireEnd("TX", left.tx, left.tx_pin), WireEnd("RX", right.rx, right.rx_pin), "right"),
        DrawnWire(WireEnd("RX", left.rx, left.rx_pin), WireEnd("TX", right.tx, right.tx_pin), "left"),
        DrawnWire(WireEnd("GND", left.ground, ""), WireEnd("GND", right.ground, ""), ""),
    )
    return LinkPicture(left_name, right_name, left_title, right_title, link.baud, wires)


def wiring_lines(project: Project) -> Iterator[str]:
    """Yield the picture as lines of text."""
    if not project.links:
        yield "one board, or several that do not talk to each other: nothing to connect but USB"
    for link in project.links:
        picture = picture_of(project, link)
        yield f"{picture.left} to {picture.right}, {picture.baud} baud"
        for wire in picture.wires:
            line = {"right": "-------->", "left": "<--------", "": "---------"}[wire.to]
            yield f"    {_text(wire.left):{_COLUMN}} {line}  {_text(wire.right)}".rstrip()


def wiring_svg(project: Project) -> str:
    """Return the picture as SVG; it is for projects with links."""
    panels = tuple(_panels(picture_of(project, link) for link in project.links))
    return render("project/wiring.svg.j2", WiringPicture(_PANEL_HEIGHT * len(panels), panels))


def _panels(pictures: Iterable[LinkPicture]) -> Iterator[_Panel]:
    for index, picture in enumerate(pictures):
        top = index * _PANEL_HEIGHT
        wires = tuple(
            _DrawnWire(top + _FIRST_WIRE + position * _WIRE_STEP, color, wire)
            for position, (wire, color) in enumerate(zip(picture.wires, _COLORS, strict=True))
        )
        yield _Panel(top, picture, wires)


def _text(end: WireEnd) -> str:
    return f"{end.signal:4} {end.header:14} {end.pin}".rstrip()
