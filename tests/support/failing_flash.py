"""Flash of a virtual board whose supply fails while it is erased or programmed."""

import random
from collections.abc import Callable, Sequence

from tinysplit_hil.virtual import VirtualRig
from tinysplit_hil.virtual.machine import Machine
from tinysplit_hil.virtual.peripherals.flash.cells import Change
from tinysplit_hil.virtual.peripherals.reset import ResetCause


class FailingFlash:
    """Records the changes of a board's flash; afterwards its supply can fail at each of them, which is left half done."""

    def __init__(self, rig: VirtualRig, index: int) -> None:
        self._rig, self._index = rig, index
        part = rig.part(index)
        attach = part.attach

        def attach_and_wrap(machine: Machine, cause: ResetCause) -> None:
            attach(machine, cause)
            self._wrap()

        part.attach = attach_and_wrap  # type: ignore[method-assign]
        self._wrap()
        self.record()

    @property
    def _machine(self) -> Machine:
        return self._rig.part(self._index).machine

    @property
    def changes(self) -> int:
        """Number of changes that are recorded."""
        return len(self._changes)

    def record(self) -> None:
        """Record the changes from now on."""
        self._before = bytes(self._machine.emulator.flash)
        self._changes: list[tuple[Change, bytes]] = []  # with the contents that it gives

    def _wrap(self) -> None:
        controller, flash = self._machine.chip.flash, self._machine.emulator.flash
        occupy = controller.occupy

        def recording(now: int, us: int, changes: Sequence[Change], done: Callable[[], None]) -> None:
            for change in changes:
                erased = b"\xff" * change.size
                after = bytes(flash[change.offset : change.offset + change.size]) if change.before else erased
                self._changes.append((change, after))
            occupy(now, us, changes, done)

        controller.occupy = recording  # type: ignore[method-assign]

    def fail_at(self, number: int) -> None:
        """Let the board start as if its supply had failed at change `number`, from 0."""
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
