"""The USART and LPUART of STM32G0, L4 and H7 (RM0444, RM0394, RM0432, RM0433)."""

from typing_extensions import override

from virtual_stm32.clock import TICKS_PER_CYCLE
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.usart import DMAR, DMAT, EIE, ERRORS, FE, HDSEL, IDLE, NE, RE, TC, TE, Usart

_FIFOEN, _TXFEIE, _RXFFIE = 1 << 29, 1 << 30, 1 << 31  # of CR1
_OVRDIS, _DDRE, _TXFTIE, _RXFTIE, _RXFTCFG, _TXFTCFG = 1 << 12, 1 << 13, 1 << 23, 1 << 28, 25, 29  # of CR3
_THRESHOLD_MASK = 7
_TEACK, _REACK, _TXFE, _RXFF, _RXFT, _TXFT = 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 26, 1 << 27  # of ISR
_EIGHTHS = (1, 2, 4, 6, 7, 8)  # of the FIFO, by RXFTCFG and TXFTCFG


class UsartV2(Usart):
    """Flags are in ISR and cleared by ICR. With FIFOs, RXNE and TXE are RXFNE and TXFNF.

    An error is flagged when its byte arrives, not when it reaches the end of the FIFO.
    """

    enable_bit = 1 << 0
    receive_offset, send_offset = 0x24, 0x28
    _CR1, _CR2, _CR3, _BRR = range(0x00, 0x10, 4)
    _RQR, _ISR, _ICR, _RDR, _TDR = range(0x18, 0x2C, 4)
    _CLEARABLE = ERRORS | IDLE | TC
    _CR3_PLAIN = EIE | HDSEL | DMAR | DMAT | _OVRDIS | _DDRE
    _CR3_FIFO = _TXFTIE | _RXFTIE | _THRESHOLD_MASK << _RXFTCFG | _THRESHOLD_MASK << _TXFTCFG
    _CR3_FIXED = HDSEL | _OVRDIS | _DDRE  # while UE is set
    _thresholds: tuple[int, int] | None = None  # of the FIFOs in bytes, to receive and to send; None if CR3 is new

    @property
    @override
    def has_fifo(self) -> bool:
        return bool(self.cr1 & _FIFOEN)

    @override
    def fifo_bits(self) -> int:
        return _FIFOEN | _TXFEIE | _RXFFIE if self.fifo_bytes else 0

    @override
    def has_error_interrupt(self) -> bool:
        if self.cr3 & EIE and self.flags & ERRORS:
            return True
        if not self.has_fifo:
            return False
        status = self._fifo_status
        return bool(
            (self.cr1 & _TXFEIE and status & _TXFE)
            or (self.cr1 & _RXFFIE and status & _RXFF)
            or (self.cr3 & _TXFTIE and status & _TXFT)
            or (self.cr3 & _RXFTIE and status & _RXFT)
        )

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != self._RDR

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset == self._ISR:  # first, and without the others: it is what programs read in their loops
            return self._status
        if offset == self._RDR:
            return self.read_data()
        known = {self._BRR: self.brr, self._CR1: self.cr1, self._CR2: 0, self._CR3: self.cr3}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    @property
    def _status(self) -> int:
        cr1, status = self.cr1, self.flags
        if cr1 & self.enable_bit:
            status |= (_TEACK if cr1 & TE else 0) | (_REACK if cr1 & RE else 0)
        return status | self._fifo_status if cr1 & _FIFOEN else status

    @property
    def _fifo_status(self) -> int:
        """Flags of the FIFOs; the receiver's holds one byte more, in RDR (RM0444, USART_ISR RXFF and RXFT)."""
        received, waiting = len(self.received), len(self.waiting)
        if self._thresholds is None:
            self._thresholds = self._threshold(_RXFTCFG), self._threshold(_TXFTCFG)
        receive_threshold, send_threshold = self._thresholds
        return (
            (0 if waiting else _TXFE)
            | (_RXFF if received > self.fifo_bytes else 0)
            | (_RXFT if received >= receive_threshold else 0)
            | (_TXFT if self.fifo_bytes - waiting >= send_threshold else 0)
        )

    def _threshold(self, position: int) -> int:
        field = self.cr3 >> position & _THRESHOLD_MASK
        if field >= len(_EIGHTHS):
            raise NotModelledError(f"{self.name} CR3 has the reserved FIFO threshold {field}")
        return self.fifo_bytes * _EIGHTHS[field] // 8

    @override
    def _overrun(self, value: int) -> None:
        if self.cr3 & _OVRDIS:
            self.received[-1] = value
        else:
            super()._overrun(value)

    @override
    def _accept(self, value: int, errors: int) -> None:
        """With DMA a wrong byte is not transferred: it is dropped, or with DDRE it ends the transfer (RM0444, CR3)."""
        if errors & (FE | NE) and self.cr3 & DMAR and not self.cr3 & _DDRE:
            self.flags |= errors
            return
        super()._accept(value, errors)

    @override
    def _serve_receiver(self, _now: int) -> None:
        if not (self.cr3 & _DDRE and self.flags & (FE | NE)):
            super()._serve_receiver(_now)

    @override
    def set_register(self, offset: int, value: int, now: int) -> None:
        if offset == self._TDR:
            self.put(value, now * TICKS_PER_CYCLE)
        elif offset == self._BRR:
            if self.cr1 & self.enable_bit and value != self.brr:
                raise NotModelledError(f"{self.name} BRR is changed while UE is set")
            self.set_divider(value & (0xFFFFF if self._is_low_power else 0xFFFF))
        elif offset == self._CR1:
            if self.cr1 & value & self.enable_bit and (value ^ self.cr1) & _FIFOEN:
                raise NotModelledError(f"{self.name} CR1 FIFOEN is changed while UE is set")
            self.configure(value, now)
        elif offset == self._CR3:
            self._set_cr3(value, now)
        elif offset == self._ICR:
            self.flags &= ~(value & self._CLEARABLE)
            self._serve_receiver(now)
        elif value or offset != self._CR2:
            raise self.unknown(offset)

    def _set_cr3(self, value: int, now: int) -> None:
        if self.cr1 & self.enable_bit and (value ^ self.cr3) & self._CR3_FIXED:
            raise NotModelledError(f"{self.name} CR3 HDSEL, OVRDIS or DDRE is changed while UE is set")
        self.cr3_modelled = self._CR3_PLAIN | (self._CR3_FIFO if self.fifo_bytes else 0)
        self._thresholds = None
        self.set_cr3(value, now)
