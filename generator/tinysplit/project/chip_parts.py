"""What of a microcontroller the firmware has for itself, and what the application says that it uses."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from tinysplit.boards.schema import read_toml
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import FileModel, matching
from tinysplit.common.project_files import APPLICATION_PARTS

Pin = Annotated[str, AfterValidator(matching(r"P[A-K](\d|1[0-5])", 'the name of a pin, as "PA5"'))]

Peripheral = Annotated[str, AfterValidator(matching(r"[A-Z][A-Za-z0-9_]*", 'the name of a peripheral, as "TIM3"'))]


class FirmwarePart(FileModel):
    """A part that the firmware has: its pins, DMA channels and interrupts with their priority; `note` says what for."""

    name: str
    note: str = ""
    pins: tuple[str, ...] = ()
    dma_channels: tuple[str, ...] = ()
    interrupts: tuple[str, ...] = ()
    priority: int | None = None

    @property
    def text(self) -> str:
        """One line, as in README.md."""
        interrupts = f"interrupt{'s' * (len(self.interrupts) > 1)} {', '.join(self.interrupts)}"
        priority = "" if self.priority is None else f", priority {self.priority}"
        groups = (
            self.note,
            ", ".join(self.pins),
            ", ".join(self.dma_channels),
            f"{interrupts}{priority}" if self.interrupts else "",
        )
        inside = "; ".join(filter(None, groups))
        return f"{self.name} ({inside})" if inside else self.name


class ApplicationParts(FileModel):
    """`application.toml` of a board's project: what the application uses beside the firmware."""

    pins: tuple[Pin, ...] = ()
    peripherals: tuple[Peripheral, ...] = ()
    interrupts: tuple[str, ...] = ()

    def conflicts(self, parts: Sequence[FirmwarePart]) -> Iterator[str]:
        """Yield what the firmware has, too."""
        for part in parts:
            for kind, own, other in (
                ("pin", self.pins, part.pins),
                ("peripheral", self.peripherals, (part.name, *part.dma_channels)),
                ("interrupt", self.interrupts, part.interrupts),
            ):
                yield from (f"{kind} {name} is used by the firmware: {part.text}" for name in own if name in other)


def check_application_parts(directory: Path, parts: Sequence[FirmwarePart], interrupts: Collection[str]) -> None:
    """Check what the application of a board's project says that it uses, if it does.

    Raises InputError for what the firmware has, too, and for interrupts that are none of the device's `interrupts`.
    """
    path = directory / APPLICATION_PARTS
    if not (path.exists() or path.is_symlink()):
        return
    wanted = read_toml(path, ApplicationParts)
    for name in wanted.interrupts:
        if name not in interrupts:
            raise InputError(f"{path}: {name} is no interrupt of this device: src/vectors.c has all names")
    for conflict in wanted.conflicts(parts):
        raise InputError(f"{path}: {conflict}; let the application use another one")
