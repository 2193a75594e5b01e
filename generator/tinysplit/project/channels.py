"""Names of the channels of a logic analyser that are connected to the markers of a project's boards."""

from collections import Counter
from collections.abc import Mapping

from tinysplit.boards.marker_pins import LAYER, TRANSFER, MarkerPins
from tinysplit.common.errors import UsageError
from tinysplit.project.manifest import Project
from tinysplit.settings.measurement import CHANNEL

KINDS = (LAYER, TRANSFER)
Channel = tuple[int, str]  # board by number, and kind


def channel_name(number: int, kind: str) -> str:
    """Return the usual name of a channel: "board1_layer"."""
    return f"board{number}_{kind}"


def channels_of(project: Project) -> tuple[Channel, ...]:
    """Return the markers of a project: each has layers, but transfers only boards with links."""
    linked = {number for link in project.links for number in link.boards}
    return tuple(
        (board.number, kind) for board in project.boards for kind in KINDS if kind == LAYER or board.number in linked
    )


def parse_channels(project: Project, texts: list[str]) -> Mapping[Channel, str]:
    """Return the names of all channels: the usual ones, but for those of `texts`, such as "board1_layer=D0".

    Raises UsageError for a marker that the project does not have.
    """
    names = {channel_name(*channel): channel for channel in channels_of(project)}
    channels = {channel: name for name, channel in names.items()}
    for text in texts:
        name, _, given = text.partition("=")
        if name not in names or not given:
            known = ", ".join(names)
            raise UsageError(f"{CHANNEL} {text}: expected MARKER=NAME as in board1_layer=D0, MARKER one of {known}")
        if channels[names[name]] != name:
            raise UsageError(f"{CHANNEL} {text}: {name} has the channel {channels[names[name]]} already: name it once")
        channels[names[name]] = given
    twice = [name for name, count in Counter(channels.values()).items() if count > 1]
    if twice:
        raise UsageError(f"{CHANNEL}: two markers have the channel {twice[0]}: give each its own")
    return channels


def marker_lines(project: Project) -> list[str]:
    """Return where a logic analyser is connected, a line for each marker; none without markers."""
    pins = {board.number: MarkerPins.of(board.name) for board in project.boards if board.has_markers}
    lines = []
    for number, kind in channels_of(project):
        if markers := pins.get(number):
            header, pin = (
                (markers.layer_header, markers.layer) if kind == LAYER else (markers.transfer_header, markers.transfer)
            )
            lines.append(f"{project.board(number).title} {header} ({pin}): {channel_name(number, kind)}")
    return lines
