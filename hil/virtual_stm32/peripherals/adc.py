"""ADC1 of the STM32L4 (RM0394, Analog-to-digital converters): one channel, converted at each trigger of TIM6."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from typing_extensions import override

from virtual_stm32.clock import PS_PER_S, BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.basic_timer import BasicTimer
from virtual_stm32.peripherals.dma.controller import RequestLine

_ISR, _IER, _CR, _CFGR, _SMPR1, _SMPR2, _SQR1, _DR, _CCR = 0x00, 0x04, 0x08, 0x0C, 0x14, 0x18, 0x30, 0x40, 0x308
_ADRDY, _EOC, _OVR = 1, 1 << 2, 1 << 4
_CLEARABLE = 0x7FF
_ADEN, _ADSTART, _ADVREGEN, _DEEPPWD, _ADCAL = 1, 1 << 2, 1 << 28, 1 << 29, 1 << 31
_DMAEN, _DMACFG, _ALIGN, _JQDIS = 1, 1 << 1, 1 << 5, 1 << 31
_TIM6_RISING = 1 << 10 | 13 << 6  # EXTEN and EXTSEL
_CKMODE = 16
_DIVIDERS = {1: 1, 2: 2, 3: 4}  # of HCLK, by CKMODE
_MAX_HZ = 80_000_000  # DS11912, ADC characteristics
_REGULATOR_PS = 20 * 10**6  # its start-up time (DS11912, tADCVREG_STUP)
_CALIBRATION_CLOCKS = 116
_SAMPLING_HALVES = (5, 13, 25, 49, 95, 185, 495, 1281)  # half clocks, by SMP
_CONVERSION_HALVES = 25
_CHANNELS_PER_SMPR = 10
_SAMPLE_BITS = 12
# DS11912, pin definitions: channels from 1.
PINS = (*(f"PC{n}" for n in range(4)), *(f"PA{n}" for n in range(8)), "PC4", "PC5", "PB0", "PB1")


@dataclass
class AnalogSource:
    """What is connected to a pin: 12-bit samples at a rate, from the first conversion on; each stays until the next.

    After the last one the level is that of the middle.
    """

    samples: Sequence[int]
    rate_hz: int
    _since_ps: int | None = field(default=None, init=False)

    def rewind(self) -> None:
        """Play from the beginning again."""
        self._since_ps = None

    def level(self, ps: int) -> int:
        """Return the sample at a time in picoseconds."""
        if self._since_ps is None:
            self._since_ps = ps - PS_PER_S // self.rate_hz // 2  # the middle of the first sample
        index = (ps - self._since_ps) * self.rate_hz // PS_PER_S
        return self.samples[index] if index < len(self.samples) else 1 << (_SAMPLE_BITS - 1)


@dataclass(frozen=True)
class AdcPorts:
    """Connections of the ADC inside its board."""

    clock: BoardClock
    hclk_hz: Callable[[], int]
    cycles_per_clock: Callable[[], int]  # core cycles in one cycle of HCLK
    is_analog: Callable[[str], bool]  # of a pin
    irq_position: int
    changed: Callable[[], None]  # the interrupt line may have changed


class Adc(Registers):
    """A regular sequence of one conversion, with DMA or an interrupt; no oversampling, no injected channels."""

    def __init__(self, base: int, trigger: BasicTimer, ports: AdcPorts) -> None:
        reset = dict.fromkeys((_ISR, _IER, _CR, _CFGR, _SMPR1, _SMPR2, _SQR1, _DR, _CCR), 0)
        super().__init__("ADC1", {**reset, _CR: _DEEPPWD, _CFGR: _JQDIS})
        self._trigger = trigger
        self._ports = ports
        self.irq_position = ports.irq_position
        self._up_ps: int | None = None  # when the regulator is up
        self._since = 0  # the last trigger, or ADSTART
        self.sources: dict[str, AnalogSource] = {}  # by pin
        self.line = RequestLine("ADC1", base + _DR, lambda _now: None, size_bytes=2)

    def has_interrupt(self) -> bool:
        """Return the level of the interrupt line."""
        return bool(self.words[_ISR] & self.words[_IER])

    @override
    def read(self, offset: int, now: int) -> int:
        if offset == _DR:
            self.words[_ISR] &= ~_EOC
            self._ports.changed()
        return super().read(offset, now)

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != _DR

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == _ISR:
            self.words[_ISR] &= ~(value & _CLEARABLE)
        elif offset == _CR:
            self._control(value, now)
        elif self.words[_CR] & _ADSTART and offset != _IER:
            raise NotModelledError(f"the register at offset 0x{offset:x} of ADC1 is written while ADSTART is set")
        else:
            self._check(offset, value)
            super().store(offset, value, now)
        self._ports.changed()

    def _check(self, offset: int, value: int) -> None:
        modelled = {
            _IER: _EOC | _OVR,
            _CFGR: _DMAEN | _DMACFG | _ALIGN | _TIM6_RISING | _JQDIS,
            _SQR1: 0x1F << 6,
            _CCR: 3 << _CKMODE,
        }
        if value & ~modelled.get(offset, 0x3FFFFFFF):
            raise NotModelledError(f"bits of ADC1 at offset 0x{offset:x} = 0x{value:x} are not modelled")

    def _control(self, value: int, now: int) -> None:
        before = self.words[_CR]
        begun = value & ~before
        if value & ~(_ADEN | _ADSTART | _ADVREGEN | _ADCAL) or before & ~value & (_ADEN | _ADSTART | _ADVREGEN):
            raise NotModelledError(f"ADC1 CR = 0x{value:x} after 0x{before:x} is not modelled")
        if begun & (_ADCAL | _ADEN) and (self._up_ps is None or self._ports.clock.ps(now) < self._up_ps):
            raise NotModelledError("ADC1 is calibrated or enabled before its voltage regulator is up (ADVREGEN, 20 us)")
        self.words[_CR] = value | before & _ADCAL
        if begun & _ADVREGEN:
            self._up_ps = self._ports.clock.ps(now) + _REGULATOR_PS
        if begun & _ADCAL:
            self.later(now + self._cycles(2 * _CALIBRATION_CLOCKS), lambda _now: self.set_bits(_CR, _ADCAL, 0))
        if begun & _ADEN:
            if before & _ADCAL:
                raise NotModelledError("ADC1 is enabled while it is calibrated")
            self.later(now + self._cycles(2), lambda _now: self.set_bits(_ISR, _ADRDY, _ADRDY))
        if begun & _ADSTART:
            self._start(now)

    def _start(self, now: int) -> None:
        if not self.words[_ISR] & _ADRDY:
            raise NotModelledError("ADC1 is started before it is ready (ADRDY)")
        if self.words[_CFGR] & _TIM6_RISING != _TIM6_RISING:
            raise NotModelledError("ADC1 with another trigger than the rising edge of TIM6_TRGO is not modelled")
        if not self._ports.is_analog(self._pin):
            raise NotModelledError(f"ADC1 converts {self._pin}, which is not in analog mode")
        self._since = now

    def _cycles(self, half_clocks: int) -> int:
        """Return the core cycles of half ADC clocks, rounded up."""
        divider = _DIVIDERS.get(self.field(_CCR, _CKMODE, 2))
        if divider is None:
            raise NotModelledError("ADC1 without a clock from HCLK (CKMODE of CCR) is not modelled")
        if self._ports.hclk_hz() > _MAX_HZ * divider:
            raise NotModelledError(f"the clock of ADC1 is above {_MAX_HZ} Hz")
        return -(-half_clocks * divider * self._ports.cycles_per_clock() // 2)

    @property
    def _channel(self) -> int:
        return self.field(_SQR1, 6, 5)

    @property
    def _pin(self) -> str:
        if not 1 <= self._channel <= len(PINS):
            raise NotModelledError(f"channel {self._channel} of ADC1 has no pin")
        return PINS[self._channel - 1]

    @property
    def _conversion(self) -> int:
        """Core cycles from the trigger to the result."""
        register = _SMPR1 if self._channel < _CHANNELS_PER_SMPR else _SMPR2
        sampling = _SAMPLING_HALVES[self.field(register, 3 * (self._channel % _CHANNELS_PER_SMPR), 3)]
        return self._cycles(sampling + _CONVERSION_HALVES)

    def _due(self) -> int | None:
        """Return the cycle of the next result."""
        trigger = self._trigger.trigger_after(self._since) if self.words[_CR] & _ADSTART else None
        return None if trigger is None else trigger + self._conversion

    @override
    def next_event(self) -> int | None:
        events = [event for event in (super().next_event(), self._due()) if event is not None]
        return min(events, default=None)

    @override
    def advance(self, now: int) -> None:
        super().advance(now)
        while (due := self._due()) is not None and due <= now:
            self._since = due - self._conversion
            self._convert()

    def _convert(self) -> None:
        source = self.sources.get(self._pin)
        level = source.level(self._ports.clock.ps(self._since)) if source else 1 << (_SAMPLE_BITS - 1)
        value = level << 4 if self.words[_CFGR] & _ALIGN else level
        if self.words[_ISR] & _EOC:
            self.words[_ISR] |= _OVR  # the older result stays (OVRMOD = 0)
        else:
            self.words[_DR] = value
            if not (self.words[_CFGR] & _DMAEN and self.line.store(value)):
                self.words[_ISR] |= _EOC
        self._ports.changed()
