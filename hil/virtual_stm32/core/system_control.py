"""The core's own registers: NVIC, SCB, SysTick and DWT (Arm DDI 0403 and DDI 0419, part B)."""

from collections.abc import Callable

from typing_extensions import override

from virtual_stm32.core.cores import Core
from virtual_stm32.core.data_cache import DataCache
from virtual_stm32.core.memory_timing import IdealMemory
from virtual_stm32.core.mpu import Mpu
from virtual_stm32.core.mpu_v8 import MpuV8
from virtual_stm32.core.nvic import FIRST_INTERRUPT, PENDSV, SYSTICK, Nvic
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import WORD_MASK, Peripheral, Registers

_CTRL, _LOAD, _VAL = 0x010, 0x014, 0x018
_ENABLE, _TICKINT, _CORE_CLOCK, _COUNTFLAG = 1, 2, 4, 1 << 16
_RELOAD_MASK = 0xFFFFFF


class SysTick:
    """The 24-bit down counter on the core's clock."""

    def __init__(self, fire: Callable[[], None]) -> None:
        self._fire = fire
        self._control = 0
        self._load = 0
        self._value = 0
        self._zero_at: int | None = None
        self._has_counted = False

    def read(self, offset: int, now: int) -> int:
        """Return CTRL, LOAD or VAL."""
        if offset == _CTRL:
            flag, self._has_counted = self._has_counted, False
            return self._control | (_COUNTFLAG if flag else 0)
        if offset == _LOAD:
            return self._load
        return self._value if self._zero_at is None else (self._zero_at - now) % (self._load + 1)

    def write(self, offset: int, value: int, now: int) -> None:
        """Write CTRL, LOAD or VAL. Raises NotModelledError for an external clock."""
        if offset == _LOAD:
            self._load = value & _RELOAD_MASK
        elif offset == _VAL:
            self._value = 0
            self._restart(now)
        else:
            self._value = self.read(_VAL, now)
            if value & _ENABLE and not value & _CORE_CLOCK:
                raise NotModelledError("SysTick with an external clock is not modelled")
            self._control = value & (_ENABLE | _TICKINT | _CORE_CLOCK)
            self._restart(now)

    def _restart(self, now: int) -> None:
        if not self._control & _ENABLE or not self._load:
            self._zero_at = None
        else:
            self._zero_at = now + (self._value or self._load + 1)

    def next_event(self) -> int | None:
        """Return the cycle at which the counter reaches 0."""
        return self._zero_at

    def advance(self, now: int) -> None:
        """Count down to `now`, and raise the interrupt at 0."""
        while self._zero_at is not None and self._zero_at <= now:
            self._zero_at += self._load + 1
            self._has_counted = True
            if self._control & _TICKINT:
                self._fire()


_CPUID, _ICSR, _VTOR, _AIRCR, _SCR, _CCR, _SHPR1, _SHPR3 = 0xD00, 0xD04, 0xD08, 0xD0C, 0xD10, 0xD14, 0xD18, 0xD20
_PENDSTSET, _PENDSTCLR, _PENDSVSET, _PENDSVCLR = 1 << 26, 1 << 25, 1 << 28, 1 << 27
_KEY, _SYSRESETREQ = 0x05FA, 1 << 2
_CCSIDR, _CPACR, _DEMCR = 0xD80, 0xD88, 0xDFC
_PLAIN_MAINLINE = (0xD24, 0xD28, 0xD2C, 0xD34, 0xD38, 0xD84, _CPACR, _DEMCR, 0xF34, 0xF38, 0xF3C)
_CACHE_OPERATIONS = (0xF50, 0xF58, 0xF5C, 0xF60, 0xF64, 0xF68, 0xF6C, 0xF70, 0xF74, 0xF78)
_BY_ADDRESS = {0xF5C: (False, True), 0xF64: (True, False), 0xF68: (True, False), 0xF70: (True, True)}
_BFHFNMIGN, _DC, _IC = 1 << 8, 1 << 16, 1 << 17  # of CCR
_CCSIDR_FIXED, _SET_BYTES, _SETS = 0xF0000019, 32 * 4, 13  # CCSIDR of a data cache: sets of 4 lines of 32 bytes
_ISER, _ICER, _ISPR, _ICPR, _IABR, _IPR = 0x100, 0x180, 0x200, 0x280, 0x300, 0x400
_BITMAP_BYTES, _IPR_BYTES = 0x20, 0xF0
_FPU_ACCESS = 0xF << 20


class SystemControl(Peripheral):
    """The system control space at 0xE000E000."""

    def __init__(
        self, core: Core, nvic: Nvic, cache: DataCache, memory: IdealMemory, reset: Callable[[], None]
    ) -> None:
        super().__init__("the system control space")
        self._core = core
        self._nvic = nvic
        self._cache = cache
        self._memory = memory
        self._reset = reset
        self._cache_geometry = _CCSIDR_FIXED | (max(cache.size_bytes // _SET_BYTES, 1) - 1) << _SETS
        self.systick = SysTick(lambda: nvic.pending.add(SYSTICK))
        self.mpu: Mpu = MpuV8(core) if core.facts.has_mpu_v8 else Mpu(core)
        self._words = {_SCR: 0, _CCR: 0, _SHPR1: 0, 0xD1C: 0, _SHPR3: 0}
        if core.facts.has_vtor:
            self._words[_VTOR] = 0
        if core.facts.has_mainline:
            self._words.update(dict.fromkeys(_PLAIN_MAINLINE, 0))

    @property
    def vector_table(self) -> int:
        """VTOR, 0 of a core that lacks it."""
        return self._words.get(_VTOR, 0)

    @property
    def sleeps_deeply(self) -> bool:
        """SCR SLEEPDEEP: WFI stops the clocks."""
        return bool(self._words[_SCR] >> 2 & 1)

    @property
    def fpu_is_on(self) -> bool:
        """Whether CPACR gives full access to the FPU."""
        return self._words.get(_CPACR, 0) & _FPU_ACCESS == _FPU_ACCESS

    @property
    def ignores_bus_faults(self) -> bool:
        """Whether code with the priority of faults goes on after a bus fault of a load or store (CCR BFHFNMIGN)."""
        return bool(self._words[_CCR] & _BFHFNMIGN)

    @property
    def trace_is_on(self) -> bool:
        """DEMCR TRCENA."""
        return bool(self._words.get(_DEMCR, 0) >> 24 & 1)

    @override
    def is_steady(self, offset: int) -> bool:
        return offset not in (_CTRL, _VAL)

    @override
    def next_event(self) -> int | None:
        return self.systick.next_event()

    @override
    def advance(self, now: int) -> None:
        self.systick.advance(now)

    @override
    def read(self, offset: int, now: int) -> int:
        if _CTRL <= offset <= _VAL:
            return self.systick.read(offset, now)
        if _ISER <= offset < _IPR + _IPR_BYTES:
            return self._read_nvic(offset)
        if self.mpu.has(offset):
            return self.mpu.read(offset)
        if offset in self._words:
            return self._words[offset]
        known = {_CPUID: self._core.facts.cpuid, _ICSR: self._icsr, _AIRCR: 0xFA050000, _CCSIDR: self._cache_geometry}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    @property
    def _icsr(self) -> int:
        pending = (_PENDSTSET if SYSTICK in self._nvic.pending else 0) | (
            _PENDSVSET if PENDSV in self._nvic.pending else 0
        )
        return pending | (self._nvic.active[-1] if self._nvic.active else 0)

    def _read_nvic(self, offset: int) -> int:
        if offset >= _IPR:
            first = FIRST_INTERRUPT + offset - _IPR
            return sum(self._nvic.priorities.get(first + i, 0) << 8 * i for i in range(4))
        base = offset & ~(_BITMAP_BYTES - 1)
        sets = {_ISER: self._nvic.enabled, _ICER: self._nvic.enabled, _IABR: set(self._nvic.active)}
        shown = sets.get(base, self._nvic.pending)
        first = FIRST_INTERRUPT + (offset - base) * 8
        return sum((first + bit in shown) << bit for bit in range(32))

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if _CTRL <= offset <= _VAL:
            self.systick.write(offset, value, now)
        elif _ISER <= offset < _IPR + _IPR_BYTES:
            self._write_nvic(offset, value)
        elif self.mpu.has(offset):
            self.mpu.write(offset, value)
        elif offset == _ICSR:
            self._write_icsr(value)
        elif offset == _AIRCR:
            self._write_aircr(value)
        elif offset in self._words:
            self._words[offset] = value
            self._write_priorities(offset, value)
            self._switch_caches()
        elif offset in _BY_ADDRESS:
            cleans, invalidates = _BY_ADDRESS[offset]
            self._cache.maintain(value, cleans=cleans, invalidates=invalidates)
            self._memory.maintain(value, cleans=cleans, invalidates=invalidates)
        elif offset not in _CACHE_OPERATIONS:
            raise self.unknown(offset)

    def _switch_caches(self) -> None:
        control = self._words[_CCR]
        self._cache.switch(is_on=bool(control & _DC))
        self._memory.switch(code_is_on=bool(control & _IC), data_is_on=bool(control & _DC))

    def _write_nvic(self, offset: int, value: int) -> None:
        if offset >= _IPR:
            for i in range(4):
                self._nvic.set_priority(FIRST_INTERRUPT + offset - _IPR + i, value >> 8 * i & 0xFF)
            return
        base = offset & ~(_BITMAP_BYTES - 1)
        numbers = {FIRST_INTERRUPT + (offset - base) * 8 + bit for bit in range(32) if value >> bit & 1}
        changes: dict[int, Callable[[set[int]], None]] = {
            _ISER: self._nvic.enabled.update,
            _ICER: self._nvic.enabled.difference_update,
            _ISPR: self._nvic.pending.update,
            _ICPR: self._nvic.clear,
        }
        if base not in changes:
            raise self.unknown(offset)
        changes[base](numbers)

    def _write_icsr(self, value: int) -> None:
        for bit, number, change in (
            (_PENDSTSET, SYSTICK, self._nvic.pending.add),
            (_PENDSVSET, PENDSV, self._nvic.pending.add),
            (_PENDSTCLR, SYSTICK, self._nvic.pending.discard),
            (_PENDSVCLR, PENDSV, self._nvic.pending.discard),
        ):
            if value & bit:
                change(number)

    def _write_aircr(self, value: int) -> None:
        if value >> 16 != _KEY:
            return
        if value & 0x700:
            raise NotModelledError("priority groups (AIRCR PRIGROUP) are not modelled")
        if value & _SYSRESETREQ:
            self._reset()

    def _write_priorities(self, offset: int, value: int) -> None:
        if _SHPR1 <= offset <= _SHPR3:
            for i in range(4):
                self._nvic.set_priority(4 + offset - _SHPR1 + i, value >> 8 * i & 0xFF)


_DWT_CTRL, _CYCCNT, _LAR = 0x000, 0x004, 0xFB0
_CYCCNTENA = 1
_WITHOUT = 0xD << 24  # NOTRCPKT, NOEXTTRIG and NOPRFCNT of DWT_CTRL: no trace, no counters of CPI, LSU and FOLD


class Dwt(Registers):
    """The cycle counter of ARMv7-M, which does not count while the core sleeps."""

    def __init__(self, control: SystemControl, slept: Callable[[], int]) -> None:
        super().__init__("the DWT", {_DWT_CTRL: _WITHOUT, _CYCCNT: 0, _LAR: 0})
        self._control = control
        self._slept = slept  # cycles in WFI until now
        self._since = 0

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != _CYCCNT

    def _count(self, now: int) -> int:
        if not self.words[_DWT_CTRL] & _CYCCNTENA or not self._control.trace_is_on:
            return self.words[_CYCCNT]
        return (self.words[_CYCCNT] + now - self._slept() - self._since) & WORD_MASK

    @override
    def read(self, offset: int, now: int) -> int:
        return self._count(now) if offset == _CYCCNT else super().read(offset, now)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        self.words[_CYCCNT] = self._count(now)
        self._since = now - self._slept()
        self.words[offset] = value | (_WITHOUT if offset == _DWT_CTRL else 0)
