"""Halting debug of ARMv6-M and ARMv7-M (Arm DDI 0419 and DDI 0403, part C): DHCSR, DCRSR, DCRDR, DEMCR, DFSR."""

from collections.abc import Callable

from unicorn import arm_const

from virtual_stm32.core.native import Reason
from virtual_stm32.core.run_control import RunControl
from virtual_stm32.machine import Machine

DHCSR, DCRSR, DCRDR, DEMCR, DFSR = 0xE000EDF0, 0xE000EDF4, 0xE000EDF8, 0xE000EDFC, 0xE000ED30
_KEY = 0xA05F
_DEBUGEN, _HALT, _STEP, _MASKINTS = 1, 2, 4, 8
_S_REGRDY, _S_HALT, _S_SLEEP, _S_LOCKUP, _S_RESET = 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 25
_VC_CORERESET, _VC_HARDERR = 1 << 0, 1 << 10
_HALTED, _BKPT, _VCATCH = 1 << 0, 1 << 1, 1 << 3  # of DFSR
_REGWNR = 1 << 16  # of DCRSR
_PC, _XPSR, _MSP, _PSP, _SPECIAL, _FPSCR, _S0, _S31 = 15, 16, 17, 18, 20, 33, 64, 95
_FLAGS = 0xFE0FFC00  # of CPSR and xPSR alike: N Z C V Q, IT, GE
_THUMB = 1 << 24
_PLAIN = {
    **{number: arm_const.UC_ARM_REG_R0 + number for number in range(13)},
    13: arm_const.UC_ARM_REG_SP,
    14: arm_const.UC_ARM_REG_LR,
    _MSP: arm_const.UC_ARM_REG_SP,
    _FPSCR: arm_const.UC_ARM_REG_FPSCR,
    **{number: arm_const.UC_ARM_REG_S0 + number - _S0 for number in range(_S0, _S31 + 1)},
}
_SPECIAL_REGISTERS = (
    arm_const.UC_ARM_REG_PRIMASK,
    arm_const.UC_ARM_REG_BASEPRI,
    arm_const.UC_ARM_REG_FAULTMASK,
    arm_const.UC_ARM_REG_CONTROL,
)


class CoreDebug:
    """The debug registers of a core. They stay over resets, but not without supply.

    `halt_changed` is called when the debugger halts the core or lets it go on.
    """

    REGISTERS = (DHCSR, DCRSR, DCRDR, DEMCR, DFSR)

    def __init__(self, halt_changed: Callable[[], None]) -> None:
        self._halt_changed = halt_changed
        self.run_control = RunControl(stopped=self._stopped)
        self.failure = ""  # why the core is in lockup
        self._clear()

    def _clear(self) -> None:
        control = self.run_control
        control.is_enabled = control.is_halted = control.is_stepping = control.masks_interrupts = False
        self._demcr = self._dfsr = self._data = 0

    def attach(self, machine: Machine, *, keeps_power: bool) -> None:
        """Debug `machine`, which has just been reset."""
        self._machine = machine
        self.failure = ""
        if not keeps_power:
            self._clear()
        self._was_reset = True
        control = self.run_control
        control.is_stepping = False
        control.is_halted = control.is_enabled and bool(self._demcr & _VC_CORERESET)
        if control.is_halted:
            self._dfsr |= _VCATCH

    def _stopped(self, reason: Reason) -> None:
        is_step = self.run_control.is_stepping and reason == Reason.STOPPED
        self._halt(_HALTED if is_step else _BKPT)

    def _halt(self, cause: int) -> None:
        self.run_control.is_halted, self.run_control.is_stepping = True, False
        self._dfsr |= cause
        self._machine.disturb()
        self._halt_changed()

    def lock_up(self, failure: str) -> None:
        """Halt after an error of the program: by the vector catch, else the core is in lockup."""
        if self.run_control.is_enabled and self._demcr & _VC_HARDERR:
            self._halt(_VCATCH)
        else:
            self.run_control.is_halted = True
            self.failure = failure

    def read(self, address: int) -> int:
        """Return a register."""
        if address == DHCSR:
            return self._status()
        return {DCRDR: self._data, DEMCR: self._demcr, DFSR: self._dfsr}.get(address, 0)

    def _status(self) -> int:
        control = self.run_control
        bits = (
            (_DEBUGEN, control.is_enabled),
            (_HALT, self._is_halted),
            (_STEP, control.is_stepping),
            (_MASKINTS, control.masks_interrupts),
            (_S_REGRDY, True),
            (_S_HALT, self._is_halted),
            (_S_SLEEP, self._machine.is_asleep and not control.is_halted),
            (_S_LOCKUP, bool(self.failure)),
            (_S_RESET, self._was_reset),
        )
        self._was_reset = False
        return sum(bit for bit, is_set in bits if is_set)

    @property
    def _is_halted(self) -> bool:
        return self.run_control.is_halted and not self.failure

    def write(self, address: int, value: int) -> None:
        """Write a register."""
        if address == DHCSR and value >> 16 == _KEY:
            self._control(value)
        elif address == DCRSR and self._is_halted:
            self._transfer(value & 0x7F, is_write=bool(value & _REGWNR))
        elif address == DCRDR:
            self._data = value
        elif address == DEMCR:
            self._demcr = value
        elif address == DFSR:
            self._dfsr &= ~value

    def _control(self, value: int) -> None:
        control = self.run_control
        control.is_enabled = bool(value & _DEBUGEN)
        control.masks_interrupts = control.is_enabled and bool(value & _MASKINTS)
        if control.is_enabled and value & _HALT:
            self.failure = ""
            if not control.is_halted:
                self._halt(_HALTED)
        elif not self.failure:
            control.is_stepping = control.is_enabled and bool(value & _STEP)
            control.is_halted = False
            self._machine.disturb()
            self._halt_changed()

    def _transfer(self, number: int, *, is_write: bool) -> None:
        """Move a core register from or to DCRDR."""
        if is_write:
            self._write_register(number, self._data)
        else:
            self._data = self._read_register(number)

    def _read_register(self, number: int) -> int:
        emulator = self._machine.emulator
        if number == _PC:
            return emulator.pc & ~1
        if number == _XPSR:
            active = self._machine.nvic.active
            flags = emulator.read_register(arm_const.UC_ARM_REG_CPSR) & _FLAGS
            return flags | _THUMB | (active[-1] if active else 0)
        if number == _SPECIAL:
            values = [emulator.read_register(register) & 0xFF for register in self._special]
            return sum(value << 8 * i for i, value in enumerate(values))
        return emulator.read_register(_PLAIN[number]) if number in _PLAIN else 0

    def _write_register(self, number: int, value: int) -> None:
        emulator = self._machine.emulator
        if number == _PC:
            emulator.write_register(arm_const.UC_ARM_REG_PC, value | 1)
            self._machine.is_asleep = False
        elif number == _XPSR:
            before = emulator.read_register(arm_const.UC_ARM_REG_CPSR)
            emulator.write_register(arm_const.UC_ARM_REG_CPSR, before & ~_FLAGS | value & _FLAGS)
        elif number == _SPECIAL:
            for i, register in enumerate(self._special):
                emulator.write_register(register, value >> 8 * i & 0xFF)
        elif number in _PLAIN:
            emulator.write_register(_PLAIN[number], value)

    @property
    def _special(self) -> tuple[int, ...]:
        """Return PRIMASK, and on ARMv7-M BASEPRI, FAULTMASK and CONTROL, in the order of their bytes."""
        return _SPECIAL_REGISTERS if self._machine.core.facts.has_mainline else _SPECIAL_REGISTERS[:1]
