"""Published figures of firmware images, and the images in checkouts or git directories of their repositories."""

import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

from common.image_run import infer
from common.published_parts import PARTS
from tinysplit.common.errors import CheckFailedError, UsageError
from virtual_stm32 import BoardStoppedError

_FIGURES = Path(__file__).with_suffix(".toml")
_MS = 1000
_DEPTHS = ("*", "*/*")  # of repositories below the folder


@dataclass(frozen=True)
class Figure:
    """The time of an inference that was measured on hardware, and the image that took it."""

    title: str  # "Bosch v1.1 stm32l4r5 KWS"
    part: str
    ms: float
    repository: str
    path: str  # of the image in the repository


@dataclass(frozen=True)
class Comparison:
    """A figure beside that of a virtual board; `why_not` it was not run, "" if it was."""

    figure: Figure
    core: str
    virtual_ms: float | None = None
    stall_share: float | None = None  # of the virtual time: waits for memory
    why_not: str = ""

    @property
    def ratio(self) -> float | None:
        """Virtual by published time."""
        return None if self.virtual_ms is None else self.virtual_ms / self.figure.ms


@dataclass(frozen=True)
class CodeFigure:
    """The cycles that code took on hardware which is no part of this project."""

    title: str
    cycles: int
    source: str


def code_figures() -> list[CodeFigure]:
    """Return the published figures of code that has to be compiled."""
    return [CodeFigure(**each) for each in _published()["code"]]


def _published() -> dict[str, Any]:
    return tomllib.loads(_FIGURES.read_text(encoding="utf-8"))


def figures() -> Iterator[Figure]:
    """Yield the published figures of images, in the order of their file."""
    for each in _published()["submissions"]:
        for image in each["images"]:
            title = f"{each['title']} {each['part']} {image['network']}"
            path = f"{each['folder']}/{image['path']}"
            yield Figure(title, each["part"], _MS / image["per_s"], each["repository"], path)


class Images:
    """Files of the repositories in a folder: checkouts, or git directories without one, at most two folders below it.

    Raises UsageError for a folder without any.
    """

    def __init__(self, folder: Path) -> None:
        places = [folder, *(place for depth in _DEPTHS for place in sorted(folder.glob(depth)))]
        self._checkouts = [place for place in places if (place / "closed").is_dir()]
        self._git_folders = [place for place in places if (place / "HEAD").is_file() and (place / "objects").is_dir()]
        if not (self._checkouts or self._git_folders):
            repositories = sorted({each.repository for each in figures()})
            wanted = " or ".join(f"https://github.com/{each}" for each in repositories)
            raise UsageError(f"{folder} has no repository with published images: clone {wanted} there")

    def find(self, path: str) -> bytes | None:
        """Return the contents of a file, None where no repository has it."""
        for checkout in self._checkouts:
            if (checkout / path).is_file():
                return (checkout / path).read_bytes()
        for folder in self._git_folders:
            command = ["git", f"--git-dir={folder}", "cat-file", "blob", f"HEAD:{path}"]
            found = subprocess.run(command, capture_output=True, check=False, timeout=60)
            if not found.returncode:
                return found.stdout
        return None


def compare(figure: Figure, images: Images) -> Comparison:
    """Run the image of a figure on the virtual board of its part, if it is there."""
    part = PARTS[figure.part]()
    core = part.board.device.core
    image = images.find(figure.path)
    if image is None:
        return Comparison(figure, core, why_not=f"{figure.repository} is not in the folder, or without the image")
    try:
        run = infer(part, image)
    except (BoardStoppedError, CheckFailedError) as error:
        return Comparison(figure, core, why_not=str(error))
    stalls = run.stalls.code + run.stalls.constants + run.stalls.values
    return Comparison(figure, core, _MS * run.cycle / part.core_hz, stalls / run.cycle)


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))
