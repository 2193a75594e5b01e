"""The USART of STM32F4 (RM0368, RM0390) and F1 (RM0008): SR, DR, BRR, CR1 to CR3."""

from typing_extensions import override

from virtual_stm32.clock import TICKS_PER_CYCLE
from virtual_stm32.peripherals.usart import DMAR, DMAT, EIE, ERRORS, HDSEL, IDLE, RXNE, TC, UartPorts, Usart


class UsartV1(Usart):
    """Errors and IDLE are cleared by reading SR, then DR, which a DMA channel may do, too."""

    enable_bit = 1 << 13
    receive_offset = send_offset = 0x04
    cr3_modelled = EIE | HDSEL | DMAR | DMAT
    _SR, _DR, _BRR, _CR1, _CR2, _CR3 = range(0x00, 0x18, 4)

    def __init__(self, name: str, ports: UartPorts, *, base: int, is_low_power: bool, fifo_bytes: int) -> None:
        super().__init__(name, ports, base=base, is_low_power=is_low_power, fifo_bytes=fifo_bytes)
        self._seen = 0  # flags read from SR, cleared by reading DR, and TC by writing DR

    @override
    def has_error_interrupt(self) -> bool:
        return bool(self.cr3 & EIE and self.cr3 & DMAR and self.flags & ERRORS)

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != self._DR

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset == self._SR:
            self._seen = self.flags & (ERRORS | IDLE | TC)
            return self.flags
        if offset == self._DR:
            return self.read_data()
        known = {self._BRR: self.brr, self._CR1: self.cr1, self._CR2: 0, self._CR3: self.cr3}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    @override
    def take(self) -> int:
        self.flags &= ~(self._seen & ~TC)
        self._seen &= TC
        return super().take()

    @override
    def clear_complete(self) -> None:
        self.flags &= ~(self._seen & TC)
        self._seen &= ~TC

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == self._DR:
            self.put(value, now * TICKS_PER_CYCLE)
        elif offset == self._BRR:
            self.set_divider(value & 0xFFFF)
        elif offset == self._CR1:
            self.configure(value, now)
        elif offset == self._CR3:
            self.set_cr3(value, now)
        elif offset == self._SR:
            if not value & RXNE:
                self.received.clear()
            self.flags &= value | ~(RXNE | TC)
        elif value or offset != self._CR2:
            raise self.unknown(offset)


class UsartF1(UsartV1):
    """Of the F1, which samples a bit 16 times."""

    over8_bit = 0
