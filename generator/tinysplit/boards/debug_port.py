"""What a debug probe has to know of a board: its part, and the registers that tell part and protection."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from tinysplit.boards.catalog import bank_option, flash_banks, load_board, load_family, read_board_file
from tinysplit.boards.family_schema import DebugWords
from tinysplit.boards.schema import BoardFile

DEVICE_ID_MASK = 0xFFF  # DEV_ID in DBGMCU_IDCODE


@dataclass(frozen=True)
class EmptyFlag:
    """The flag of the empty check: at power-up the part found its flash erased, and resets start its boot loader.

    It stays as it is until the next power-up, or load of option bytes, unless it is written.
    """

    address: int  # of its register
    mask: int
    is_toggled: bool  # by writing 1

    def is_set(self, word: int) -> bool:
        """Whether it is set in its register."""
        return bool(word & self.mask)

    def clearing(self, word: int) -> int:
        """Return what clears the flag, and nothing else, in its register that reads `word`."""
        return self.mask if self.is_toggled else word & ~self.mask


@dataclass(frozen=True)
class BankFlag:
    """The option bit that makes two banks of the flash, and how the board has it."""

    name: str
    mask: int
    banks: int

    @property
    def value(self) -> int:
        """The bit."""
        return self.banks - 1

    def is_right(self, options: int) -> bool:
        """Whether the option register has it as the board."""
        return bool(options & self.mask) == bool(self.value)


@dataclass(frozen=True)
class DebugPort:
    """The debug port of a board. It is not part of `Board`, as no split depends on it."""

    board: str  # "nucleo_g071rb"
    part: str  # "stm32g071rbt6"
    device_id: int
    idcode_address: int
    protection_address: int
    protection_shift: int
    unprotected: int  # RDP of level 0
    for_ever: int  # and of level 2
    has_product_state: bool  # in place of RDP
    option_registers: Mapping[str, int]  # addresses by their names, that with the protection first
    settings: Mapping[str, int]  # addresses of registers of flash and clocks
    openocd_target: str  # "stm32g0x": target/stm32g0x.cfg
    openocd_flash_driver: str
    flash_start: int
    empty_flag: EmptyFlag | None  # of parts that have the check
    bank_flag: BankFlag | None  # of parts whose flash is one bank or two
    words: DebugWords

    @property
    def unique_id(self) -> tuple[int, int, int]:
        """Addresses of the three words of the unique ID."""
        first = self.words.unique_id_address
        return first, first + 4, first + 8

    @property
    def idcode(self) -> int:
        """DBGMCU_IDCODE of virtual boards."""
        return self.words.revision << 16 | self.device_id

    def is_part(self, idcode: int) -> bool:
        """Whether DBGMCU_IDCODE is that of this part, or of one that shares its device id."""
        return idcode & DEVICE_ID_MASK == self.device_id

    def protection(self, options: int) -> int:
        """Return the byte RDP of the option register."""
        return options >> self.protection_shift & 0xFF


@lru_cache
def load_debug_port(name: str) -> DebugPort:
    """Return the debug port of a board. Raises UsageError for an unknown name."""
    device = load_board(name).device
    file = read_board_file(name)
    registers = load_family(device.name).debug
    check = registers.empty_check
    return DebugPort(
        board=name,
        part=device.name,
        device_id=file.debug.device_id,
        idcode_address=registers.idcode_address,
        protection_address=registers.protection_address,
        protection_shift=registers.protection_shift,
        unprotected=registers.unprotected,
        for_ever=registers.for_ever,
        has_product_state=registers.has_product_state,
        option_registers={registers.protection_register: registers.protection_address, **file.debug.option_registers},
        settings=registers.registers,
        openocd_target=registers.openocd_target,
        openocd_flash_driver=registers.openocd_flash_driver,
        flash_start=device.flash.start,
        empty_flag=EmptyFlag(check.address, 1 << check.bit, check.is_toggled) if check else None,
        bank_flag=_bank_flag(file),
        words=registers.words,
    )


def _bank_flag(file: BoardFile) -> BankFlag | None:
    option = bank_option(file)
    return BankFlag(option.name, 1 << option.bit, flash_banks(file)) if option else None
