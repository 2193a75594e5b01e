"""What flashing came to: a table with a row for each board, and the error that says how to go on."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console

from tinysplit.common.errors import ToolError
from tinysplit.common.tables import plain_table
from tinysplit.project.manifest import ProjectBoard
from tinysplit_hil.bench.empty_check import UNPLUG
from tinysplit_hil.bench.images import RunningImage
from tinysplit_hil.rig.programmers import ProbeChoice


@dataclass(frozen=True)
class BoardResult:
    """A board after flashing; `seconds` is the time of the programmer."""

    board: ProjectBoard
    probe: ProbeChoice
    image_bytes: int  # in flash
    is_skipped: bool  # as it ran this image already
    is_compared: bool  # by the programmer, which has read the flash back
    seconds: float
    image: RunningImage
    programmer_failure: str | None
    starts: bool  # False: its part may start its boot loader in place of the program

    @property
    def is_good(self) -> bool:
        """Whether the board runs the new image, and nothing failed."""
        return self.image.is_good and not self.programmer_failure

    @property
    def runs(self) -> str:
        """What the board runs, in words."""
        if self.image.is_new:
            return "new image"
        if self.image.project_hash is None:
            return "no answer"
        return f"project {self.image.project_hash:08x}"

    @property
    def verified(self) -> str:
        """How the image was verified."""
        if not self.is_good:
            return "no"
        return "programmer, CRC-32" if self.is_compared else "CRC-32"

    @property
    def problem(self) -> str:
        """Why the board is not good."""
        if self.programmer_failure or self.starts or self.image.project_hash is not None:
            return self.programmer_failure or self.image.problem
        return f"{self.image.problem}; {UNPLUG}"


@dataclass(frozen=True)
class FlashReport:
    """All boards of a project."""

    programmer: str
    boards: tuple[BoardResult, ...]

    def check(self) -> None:
        """Raise ToolError unless all boards run the new image; it names the others, and what to do."""
        bad = [each for each in self.boards if not each.is_good]
        if bad:
            texts = "; ".join(
                f"{each.board.title} at probe {each.probe.title} ({each.runs}): {each.problem}" for each in bad
            )
            raise ToolError(
                f"{len(self.boards) - len(bad)} of {len(self.boards)} boards have the new image, but not {texts}."
                " The same command again flashes only these"
            )

    def to_json(self) -> dict[str, Any]:
        """Return JSON values: sizes in bytes, times in seconds."""
        return {
            "programmer": self.programmer,
            "boards": [
                {
                    "number": each.board.number,
                    "name": each.board.name,
                    "serial_number": each.probe.serial_number,
                    "image_bytes": each.image_bytes,
                    "skipped": each.is_skipped,
                    "runs_new_image": each.image.is_new,
                    "verified": each.is_good,
                    "seconds": each.seconds,
                    "problem": each.problem or None,
                }
                for each in self.boards
            ],
        }


def print_flash(report: FlashReport, console: Console) -> None:
    """Print a row for each board."""
    table = plain_table("board", "probe", "runs", "verified", numbers=("image bytes", "time (s)"))
    for flashed in report.boards:
        time = "skipped" if flashed.is_skipped else f"{flashed.seconds:.1f}"
        table.add_row(
            flashed.board.title, flashed.probe.title, flashed.runs, flashed.verified, str(flashed.image_bytes), time
        )
    console.print(table)
