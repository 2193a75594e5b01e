"""QUADSPI (RM0351) with a serial flash: the commands of the firmware's start, and the memory-mapped mode."""

from collections.abc import Callable
from dataclasses import dataclass, field

from typing_extensions import override

from tinysplit.boards.external_memory import ExternalMemory
from virtual_stm32.core.native import CExternalFlash
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers

_CR, _DCR, _SR, _FCR, _DLR, _CCR, _AR, _ABR, _DR, _LPTR = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C, 0x20, 0x30
_EN, _TCEN = 0, 3  # of CR
_TCF, _BUSY = 1 << 1, 1 << 5  # of SR
_INDIRECT_WRITE, _INDIRECT_READ, _MEMORY_MAPPED = 0, 1, 3
_LINES = {0: 0, 1: 1, 2: 2, 3: 4}  # by mode in CCR
_READ_ID, _READ_STATUS, _READ_CONFIGURATION, _ENABLE_WRITING, _WRITE_STATUS = 0x9F, 0x05, 0x15, 0x06, 0x01
_RESET = (0x66, 0x99)
_WRITE_ENABLED = 1 << 1  # of the status register
_WRITING_CLOCKS = 40_000  # about 1 ms; assumed
_NO_ANSWER = 0xFF


@dataclass
class SerialFlash:
    """The commands that a serial flash takes on one line; as delivered, all its status bits are 0."""

    facts: ExternalMemory
    status: bytearray = field(init=False)
    _is_enabled: bool = False
    _busy_until: int = 0

    def __post_init__(self) -> None:
        self.status = bytearray(len(self.facts.status))

    def read(self, instruction: int, count: int, now: int) -> bytes:
        """Return the answer of `count` bytes to a command."""
        answers = {
            _READ_ID: self.facts.jedec_id.to_bytes(3, "big"),
            _READ_STATUS: bytes([self.status[0] | self._is_enabled * _WRITE_ENABLED | (now < self._busy_until)]),
            _READ_CONFIGURATION: bytes(self.status[1:]),
        }
        if instruction not in answers:
            raise NotModelledError(f"the command 0x{instruction:02X} of {self.facts.part} is not modelled")
        return answers[instruction][:count].ljust(count, bytes([_NO_ANSWER]))

    def write(self, instruction: int, data: bytes, now: int) -> None:
        """Take a command with its data."""
        if instruction == _ENABLE_WRITING:
            self._is_enabled = True
        elif instruction == _WRITE_STATUS and self._is_enabled:
            self.status[: len(data)] = data
            self._is_enabled = False
            self._busy_until = now + _WRITING_CLOCKS * self.facts.clock_cycles
        elif instruction not in (*_RESET, _WRITE_STATUS):
            raise NotModelledError(f"the command 0x{instruction:02X} of {self.facts.part} is not modelled")

    @property
    def is_ready_to_read(self) -> bool:
        """Whether the status allows the read command at its clock."""
        return bytes(self.status) == bytes(self.facts.status)


class Quadspi(Registers):
    """Indirect mode on one line without addresses, and memory-mapped mode, whose timing is in external_flash.h."""

    merges_bytes = False  # DR is a FIFO

    def __init__(self, facts: ExternalMemory, mapping: CExternalFlash, is_connected: Callable[[], bool]) -> None:
        super().__init__("QUADSPI", dict.fromkeys((_CR, _DCR, _SR, _FCR, _DLR, _CCR, _AR, _ABR, _LPTR), 0))
        self.flash = SerialFlash(facts)
        self._facts = facts
        self._mapping = mapping
        self._is_connected = is_connected
        self._received = bytearray()
        self._sent = bytearray()
        mapping.fifo_bytes = facts.controller.fifo_bytes

    @override
    def read(self, offset: int, now: int) -> int:
        if offset != _DR:
            return super().read(offset, now)
        if not self._received:
            raise NotModelledError("QUADSPI_DR is read while the FIFO is empty")
        value = self._received.pop(0)
        if not self._received:
            self.words[_SR] &= ~_BUSY
        return value

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != _DR

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset != _DR:
            super().write(offset, value, now)
            return
        self._sent.append(value & 0xFF)
        if len(self._sent) == self.words[_DLR] + 1:
            self._finish(now)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == _FCR:
            self.words[_SR] &= ~value
            return
        if offset in (_CR, _DCR, _CCR) and self.words[_SR] & _BUSY:
            raise NotModelledError("the QUADSPI is set while it is busy")
        super().store(offset, value, now)
        if offset == _CCR:
            self._begin(now)
        self._map()

    @property
    def _prescaler(self) -> int:
        return self.field(_CR, 24, 8) + 1

    def _begin(self, now: int) -> None:
        """Begin the command of CCR, unless it waits for data."""
        if not self.field(_CR, _EN, 1):
            raise NotModelledError("a command is written to the QUADSPI while it is off")
        mode = self.field(_CCR, 26, 2)
        has_data = bool(self.field(_CCR, 24, 2))
        if mode == _MEMORY_MAPPED:
            return
        if mode not in (_INDIRECT_WRITE, _INDIRECT_READ) or self.field(_CCR, 10, 2) or self.field(_CCR, 8, 2) != 1:
            raise NotModelledError(f"the command 0x{self.words[_CCR]:08x} of the QUADSPI is not modelled")
        self._received, self._sent = bytearray(), bytearray()
        if mode == _INDIRECT_READ or not has_data:
            self._finish(now)

    def _finish(self, now: int) -> None:
        """Exchange the data of a command; it ends when its bits have passed and what it has read is taken."""
        instruction = self.words[_CCR] & 0xFF
        count = self.words[_DLR] + 1
        has_data = bool(self.field(_CCR, 24, 2))
        is_read = self.field(_CCR, 26, 2) == _INDIRECT_READ
        clocks = 8 * (1 + has_data * count) + self.field(_DCR, 8, 3) + 1
        end = now + clocks * self._prescaler * self._facts.core_cycles
        if is_read:
            answer = self.flash.read(instruction, count, now)
            self._received = bytearray(answer if self._is_connected() else [_NO_ANSWER] * count)
        elif self._is_connected():
            self.flash.write(instruction, bytes(self._sent), now)
        self.words[_SR] |= _BUSY
        self.later(end, lambda _: self.set_bits(_SR, _TCF | _BUSY, _TCF | bool(self._received) * _BUSY))

    def _map(self) -> None:
        """Set the memory-mapped mode as the registers say. Raises NotModelledError where the flash cannot follow."""
        is_mapped = self.field(_CCR, 26, 2) == _MEMORY_MAPPED and bool(self.field(_CR, _EN, 1))
        self._mapping.is_mapped = is_mapped
        if not is_mapped:
            return
        facts = self._facts
        if self.words[_CCR] & 0xFF != facts.read_command or not self.flash.is_ready_to_read or not self._is_connected():
            raise NotModelledError(f"{facts.part} is mapped with another command or status than its file has")
        if 1 << (self.field(_DCR, 16, 5) + 1) != facts.memory.size_bytes or self._prescaler < facts.prescaler:
            raise NotModelledError(f"{facts.part} is mapped with another size or a higher clock than its file has")
        clock_cycles = self._prescaler * facts.core_cycles
        command, address, mode, data = (_LINES[self.field(_CCR, at, 2)] for at in (8, 10, 14, 24))
        clocks = 8 // command + 24 // address + (8 // mode if mode else 0) + self.field(_CCR, 18, 5)
        self._mapping.burst_cycles = (self.field(_DCR, 8, 3) + 1 + clocks) * clock_cycles
        self._mapping.byte_cycles = 8 // data * clock_cycles
        self._mapping.idle_cycles = self.field(_CR, _TCEN, 1) * self.words[_LPTR] * clock_cycles
