"""An external memory of a board: a serial flash behind the QUADSPI, which maps it into the address space."""

from dataclasses import dataclass

from tinysplit.boards.parts import Memory, Pin

INSTRUCTION_BITS = 8
ADDRESS_BITS = 24
MODE_BITS = 8
BYTE_BITS = 8


@dataclass(frozen=True)
class QuadSpi:
    """The QUADSPI of a family."""

    base_address: int  # of its registers
    max_hz: int
    fifo_bytes: int
    region: Memory  # of the address space, in which it maps a memory
    enable_register: str  # "AHB3ENR": RCC-><register> |= RCC_<register>_<bit>
    enable_bit: str  # "RCC_AHB3ENR_QSPIEN"


@dataclass(frozen=True)
class ExternalMemory:
    """A serial flash, the commands that the firmware gives it, and its power in W.

    Of a read command, the instruction, the address with the mode byte, and the data have 1, 2 or 4 `lines`.
    """

    part: str  # "MX25R6435F"
    memory: Memory  # where it is mapped
    controller: QuadSpi
    pins: tuple[Pin, ...]  # clock, chip select and data lines
    jedec_id: int  # answer to the command 0x9F, first byte highest
    status: tuple[int, ...]  # bytes that the command 0x01 writes: status register, then configuration registers
    read_command: int
    lines: tuple[int, int, int]
    mode_byte: int
    dummy_cycles: int
    select_high_cycles: int  # of its clock, between two commands
    prescaler: int  # cycles of AHB in one of its clock
    core_cycles: int  # of the core in one of AHB
    read_w: float  # while it is read
    standby_w: float

    @property
    def size_bits(self) -> int:
        """Binary logarithm of its size in bytes."""
        return self.memory.size_bytes.bit_length() - 1

    @property
    def clock_cycles(self) -> int:
        """Core cycles of a cycle of its clock."""
        return self.prescaler * self.core_cycles

    @property
    def byte_cycles(self) -> int:
        """Core cycles of a byte, one after the other."""
        return BYTE_BITS // self.lines[2] * self.clock_cycles

    @property
    def burst_cycles(self) -> int:
        """Core cycles from an access that does not continue the one before until the first byte begins."""
        command, address, _ = self.lines
        clocks = INSTRUCTION_BITS // command + (ADDRESS_BITS + MODE_BITS) // address + self.dummy_cycles
        return (self.select_high_cycles + clocks) * self.clock_cycles

    def mean_w(self, share: float) -> float:
        """Return its mean power while it is read for a share of the time."""
        return self.standby_w + share * (self.read_w - self.standby_w)
