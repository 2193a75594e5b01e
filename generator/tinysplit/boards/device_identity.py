"""What the part of a board says of itself: device id, revision, and registers such as that of its option bytes."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field
from typing_extensions import override

from tinysplit.boards.debug_port import DEVICE_ID_MASK
from tinysplit.common.file_schema import FileModel

IDCODE = "DBGMCU_IDCODE"
Word = Annotated[int, Field(ge=0, lt=1 << 32)]


class DeviceIdentity(FileModel):
    """Device id and revision of a part (DEV_ID and REV_ID of DBGMCU_IDCODE), and its registers by their names."""

    device_id: Word
    revision: Word
    registers: Mapping[str, Word]

    @classmethod
    def of(cls, registers: Mapping[str, int]) -> Self:
        """Return what these registers, of which one is `IDCODE`, say."""
        idcode = registers[IDCODE]
        return cls(device_id=idcode & DEVICE_ID_MASK, revision=idcode >> 16, registers=registers)

    @override
    def __str__(self) -> str:
        """Return it in words, for messages."""
        others = "".join(f", {name} {word:#010x}" for name, word in self.registers.items() if name != IDCODE)
        return f"device id {self.device_id:#x}, revision {self.revision:#x}{others}"
