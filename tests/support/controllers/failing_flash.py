"""Flash of a virtual board whose supply fails while it is erased or programmed."""

import random
from collections.abc import Callable, Sequence

from virtual_stm32 import VirtualRig
from virtual_stm32.machine import Machine
from virtual_stm32.peripherals.flash.cells import Change
from virtual_stm32.peripherals.reset import ResetCause

_UNIT_BYTES = 32  # FLASH_UNIT_BYTES of the firmware


class FailingFlash:
    """Records the changes of a board's flash until its supply fails at one of them, which is left half done."""

    def __init__(self, rig: VirtualRig, index: int) -> None:
        self._rig, self._index = rig, index
        part = rig.part(index)
        attach = part.attach

        def attach_and_wrap(machine: Machine, cause: ResetCause) -> None:
            attach(machine, cause)
            self._wrap()

        part.attach = attach_and_wrap  # type: ignore[method-assign]
        self._wrap()
        self._is_recording = True
        self._before = bytes(self._machine.emulator.flash)
        self._changes: list[tuple[Change, bytes]] = []  # with the contents that it gives

    @property
    def _machine(self) -> Machine:
        return self._rig.part(self._index).machine

    @property
    def changes(self) -> int:
        """Number of changes that are recorded."""
        return len(self._changes)

    def decisive(self, others: int) -> list[int]:
        """Return the changes that erase, or program the first bytes of what was erased, and at least so many others."""
        starts = {change.offset for change, _ in self._changes if not change.before}
        firsts = {start + offset for start in starts for offset in range(_UNIT_BYTES)}
        found = {number for number, (change, _) in enumerate(self._changes) if change.offset in firsts}
        return sorted(found.union(range(0, self.changes, max(1, self.changes // others))))

    def _wrap(self) -> None:
        controller, flash = self._machine.chip.flash, self._machine.emulator.flash
        occupy = controller.occupy

        def recording(now: int, us: int, changes: Sequence[Change], done: Callable[[], None]) -> None:
            for change in changes if self._is_recording else ():
                erased = b"\xff" * change.size
                after = bytes(flash[change.offset : change.offset + change.size]) if change.before else erased
                self._changes.append((change, after))
            occupy(now, us, changes, done)

        controller.occupy = recording  # type: ignore[method-assign]

    def fail_at(self, number: int) -> None:
        """Let the board start as if its supply had failed at change `number`, from 0."""
        self._is_recording = False
        flash, chip = self._machine.emulator.flash, self._machine.chip
        flash[:] = self._before
        for change, after in self._changes[:number]:
            flash[change.offset : change.offset + change.size] = after
        change, after = self._changes[number]
        if change.before:
            flash[change.offset : change.offset + change.size] = after
        chip.flash.cells.torn[:] = bytes(len(flash))
        chip.flash.cells.interrupt(change, chip.flash.corrected_bytes, random.Random(number))  # noqa: S311 (repeatable)
        self._rig.reset_board(self._index, ResetCause.POWER_UP)
