"""A piece of code: a loop in assembler that is measured at several places, and the rules of time that it decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Place(StrEnum):
    """The memory of the code of a piece: flash, RAM at its address on the system bus, or on the code buses."""

    FLASH = "flash"
    RAM = "RAM"
    CODE_RAM = "code RAM"


BASE = "loop"  # the empty one
ALL_CORES = ("cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
WITH_MAINLINE = ("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")
WITH_DSP = ("cortex-m4", "cortex-m7", "cortex-m33")  # and with an FPU, but for families without (`has_fpu`)
EVERYWHERE = tuple(Place)
IN_FLASH = (Place.FLASH,)
OFFSETS = (0, 2)  # of the loop's first instruction, modulo 4


_LINE_BYTES = 32


class Special(StrEnum):
    """What is no loop of code: measured by a function of the firmware."""

    WAKE_UP = "wake-up from WFI"
    UART_BYTE = "UART byte"


@dataclass(frozen=True)
class Piece:
    """A loop of `repeats` times `body`, behind `setup`; registers are those of `report_piece_t`.

    r0 points to memory next to the core, r1 to another one, r2 to the start of the flash, and r3 counts the loops. On
    ARMv6-M r4 to r7 are free, on others r8 to r11, too. Names in braces stand for facts of the board (`facts_of`).
    A line of `body` is an instruction, a label or a directive. `decides` are rules by "core.rule" or "family.rule",
    each with the offset at which the piece decides it. A piece with a `base` has its code. `dma_bytes`: DMA sends as
    many from the memory of r1 by a UART meanwhile; 0: it sends them afterwards.
    """

    name: str
    body: str
    setup: str = ""
    repeats: int = 8
    loops: int = 32
    cores: tuple[str, ...] = ALL_CORES
    places: tuple[Place, ...] = EVERYWHERE
    decides: Mapping[str, int] = field(default_factory=dict, compare=False)
    decides_at: Place | None = None  # None: flash for rules of families, for others where code comes without waits
    special: Special | None = None
    base: "Piece | None" = None  # what is taken off its cycles; None: the empty loop, where it has repeats
    dma_bytes: int | None = None
    needs_fpu: bool = False

    @property
    def base_name(self) -> str:
        """The piece that is taken off its cycles."""
        return self.base.name if self.base else BASE

    @property
    def size_bytes(self) -> int:
        """At most the bytes of the code of a variant: an instruction has up to 4, an alignment up to 32."""
        lines = [line for line in self.body.splitlines() if not line.endswith(":")]
        body = sum(_LINE_BYTES if line.startswith(".balign") else 4 for line in lines)
        return 4 * _LINE_BYTES + self.repeats * body

    def reason_against(self, core: str, *, has_fpu: bool) -> str:
        """Return why a core does without this piece, "" if it does not."""
        if core not in self.cores:
            return f"not on {core}"
        return "not without an FPU" if self.needs_fpu and not has_fpu else ""


@dataclass(frozen=True)
class Variant:
    """A piece at one place: its memory, and the offset of its loop modulo 4."""

    piece: Piece
    place: Place
    offset: int
