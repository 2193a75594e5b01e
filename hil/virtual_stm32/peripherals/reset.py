"""Causes of a reset, and the flags by which RCC tells them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import reduce
from operator import or_


class ResetCause(Enum):
    """What has reset a board."""

    POWER_UP = auto()
    BROWN_OUT = auto()
    PIN = auto()
    SOFTWARE = auto()
    WATCHDOG = auto()
    OPTION_BYTES = auto()  # OBL_LAUNCH: they are loaded anew

    @property
    def keeps_ram(self) -> bool:
        """Whether the supply stayed on, and with it the contents of RAM."""
        return self not in (ResetCause.POWER_UP, ResetCause.BROWN_OUT)

    @property
    def loads_options(self) -> bool:
        """Whether option bytes are loaded, and the flash is checked for being empty."""
        return self is ResetCause.OPTION_BYTES or not self.keeps_ram


class BoardResetError(Exception):
    """Raised inside a board that resets itself; the rig starts it anew."""

    def __init__(self, cause: ResetCause) -> None:
        super().__init__(cause.name)
        self.cause = cause


@dataclass(frozen=True)
class ResetFlags:
    """The reset flags of a family: its register of RCC, the bit RMVF that clears them, and the bits by cause.

    Flags accumulate until they are cleared. Every internal reset also pulls NRST down, which sets PINRSTF.
    """

    offset: int
    remove_bit: int
    masks: Mapping[ResetCause, int]

    @property
    def all_masks(self) -> int:
        """All flags."""
        return reduce(or_, self.masks.values())


def reset_flags(offset: int, remove_bit: int, always: tuple[int, ...], **others: tuple[int, ...]) -> ResetFlags:
    """Return flags by bit numbers: `always` are set by every cause, `others` by the causes with their names."""
    masks = {cause: sum(1 << bit for bit in always) for cause in ResetCause}
    for name, bits in others.items():
        masks[ResetCause[name.upper()]] |= sum(1 << bit for bit in bits)
    return ResetFlags(offset, remove_bit, masks)


def csr_reset_flags(offset: int) -> ResetFlags:
    """Return those that CSR has at `offset`, with the same bits in the families C0, G0, G4, L0 and L4."""
    return reset_flags(
        offset,
        23,
        always=(26,),
        option_bytes=(25,),
        power_up=(27,),
        brown_out=(27,),
        software=(28,),
        watchdog=(29,),
    )
