"""The file that `wiring` writes and others read: the links of a set of boards and their baud rates, as JSON."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Literal

from pydantic import Field

from tinysplit.boards.board import Board, ClockSource
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.file_schema import Count, FileModel, Hertz, Number, read_json, validate
from tinysplit.common.output_file import write_whole_file
from tinysplit.costs.link_options import LinkSetting
from tinysplit.project.file_link import FileLink
from tinysplit.settings.boards_and_links import LINK, LINK_DRIVER
from tinysplit.settings.programs import CLOCK


class WiringBoard(FileModel):
    """A board; the hash is that of its file."""

    number: Number
    name: str
    sha256: str


class Direction(FileModel):
    """What has arrived of the frames that one board sent to another one."""

    to_board: Number
    sent_frames: Count
    good_frames: Count
    damaged_frames: Count
    line_errors: Count  # overruns, noise and framing errors of the receiver's UART, up to 255
    bit_errors: Count = 0  # in the payloads of damaged frames

    @property
    def is_clean(self) -> bool:
        """Whether everything arrived without an error."""
        return self.good_frames == self.sent_frames and not self.damaged_frames and not self.line_errors


class Trial(FileModel):
    """A baud rate that was tried in both directions at once, while all other links were busy, too."""

    baud: Hertz
    directions: tuple[Direction, Direction]

    @property
    def passed(self) -> bool:
        """Whether both directions were without an error."""
        return all(each.is_clean for each in self.directions)


class WiringLink(FileLink):
    """A link that was tested: the driver at each of its boards, and the highest rate that passed."""

    drivers: tuple[LinkDriver, LinkDriver]
    baud: Hertz
    tested_bytes: Count  # in each direction
    trials: tuple[Trial, ...]  # the last one passed

    @property
    def setting(self) -> LinkSetting:
        """The link for `split`, boards counted from 0."""
        return LinkSetting((self.boards[0] - 1, self.boards[1] - 1), self.baud, uarts=self.uarts)


class WiringFile(FileModel):
    """The whole file. Boards without a link in it have none."""

    schema_version: Literal[1] = 1
    tinysplit_version: str
    rig: str  # where it was measured
    clock: ClockSource
    boards: tuple[WiringBoard, ...] = Field(min_length=2)
    links: tuple[WiringLink, ...] = Field(min_length=1)

    def links_with(self, named: Sequence[LinkSetting]) -> tuple[LinkSetting, ...]:
        """Return the links of all pairs of boards for `split`; those in `named` have another rate, or are left out.

        Raises UsageError for a rate of a link that was not tested.
        """
        count = len(self.boards)
        links = {pair: LinkSetting(pair, None) for pair in combinations(range(count), 2)}
        links.update((link.setting.boards, link.setting) for link in self.links)
        for link in named:
            uarts = links[link.boards].uarts
            if link.baud is not None and uarts is None:
                pair = "-".join(str(index + 1) for index in link.boards)
                raise UsageError(
                    f"{LINK} {pair}:{link.baud}: the wiring test knows no such link: test with this option"
                )
            links[link.boards] = replace(link, uarts=uarts)
        return tuple(links.values())

    def driver_with(self, requested: LinkDriver | None) -> LinkDriver | None:
        """Return the driver of all boards for `split`, None if boards differ. The rates hold for what was tested.

        Raises UsageError when another one is requested.
        """
        tested = {driver for link in self.links for driver in link.drivers}
        if requested and tested != {requested}:
            raise UsageError(
                f"{LINK_DRIVER} {requested}: the wiring was tested with {' and '.join(sorted(tested))}: test it with "
                "this option, too"
            )
        return tested.pop() if len(tested) == 1 else None

    @property
    def lowest_baud(self) -> int:
        """The baud rate of the slowest link."""
        return min(link.baud for link in self.links)

    @property
    def summary(self) -> str:
        """The rates of all links, and where they were measured, in a line."""
        rates = (f"{link.boards[0]}-{link.boards[1]}: {link.baud} baud" for link in self.links)
        return f"links {', '.join(rates)}, tested on {self.rig}"


def write_wiring(path: Path, wiring: WiringFile) -> None:
    """Write the file atomically. Raises InputError when it cannot be written."""
    write_whole_file(path, wiring.model_dump_json(indent=2) + "\n")


def read_wiring(path: Path, boards: Sequence[Board]) -> WiringFile:
    """Read the wiring file of `boards`. Raises InputError when there is none, or one of other boards."""
    remedy = f"test the wiring with `{wiring_command(boards)}`"
    wiring = validate(path, read_json(path, remedy), WiringFile, remedy)
    _check_boards(path, wiring, boards)
    return wiring


def wiring_command(boards: Sequence[Board]) -> str:
    """Return the command that tests the wiring of `boards`."""
    clock = f" {CLOCK.option} {boards[0].clock_source}" if boards[0].clock_source is not ClockSource.HSI else ""
    return f"tinysplit wiring {' '.join(f'-b {board.name}' for board in boards)}{clock}"


def _check_boards(path: Path, wiring: WiringFile, boards: Sequence[Board]) -> None:
    tested = [board.name for board in wiring.boards]
    wanted = [board.name for board in boards]
    again = f"test the wiring with `{wiring_command(boards)}`"
    if tested != wanted:
        raise InputError(f"{path} is of {', '.join(tested)}, not of {', '.join(wanted)}: {again}")
    if any(there.sha256 != here.sha256 for there, here in zip(wiring.boards, boards, strict=True)):
        raise InputError(f"{path} is of boards whose files have changed since: {again}")
    if wiring.clock is not boards[0].clock_source:
        raise InputError(f"{path} was measured with {CLOCK} {wiring.clock}: {again}")
