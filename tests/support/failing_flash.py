"""Flash of a virtual board whose supply fails while it is erased or programmed."""

import random

from tinysplit_hil.virtual import VirtualRig
from tinysplit_hil.virtual.machine import Machine
from tinysplit_hil.virtual.peripherals.reset import BoardResetError, ResetCause


class FailingFlash:
    """Counts the changes of a board's flash; at change `fails_at`, from 0, its supply fails.

    That change is left half done: some bits of a word that is programmed stay as they were, and an erased sector has
    random bits.
    """

    def __init__(self, rig: VirtualRig, index: int, seed: int) -> None:
        self.changes = 0
        self.fails_at: int | None = None
        self.failures = 0
        self._rig, self._index, self._random = rig, index, random.Random(seed)  # noqa: S311 (repeatable)
        part = rig.part(index)
        attach = part.attach

        def attach_and_wrap(machine: Machine, cause: ResetCause) -> None:
            attach(machine, cause)
            self._wrap()

        part.attach = attach_and_wrap  # type: ignore[method-assign]
        self._wrap()

    def begin(self, fails_at: int | None) -> None:
        """Count from 0."""
        self.changes, self.fails_at = 0, fails_at

    def _wrap(self) -> None:
        cells = self._rig.part(self._index).machine.chip.flash.cells
        program, erase = cells.program, cells.erase

        def failing_program(offset: int, data: bytes) -> None:
            if self._is_last():
                program(offset, bytes(byte | self._random.randrange(256) for byte in data))
                self._fail()
            program(offset, data)

        def failing_erase(offset: int, size: int) -> None:
            if self._is_last():
                cells.put(offset, self._random.randbytes(size))
                self._fail()
            erase(offset, size)

        cells.program, cells.erase = failing_program, failing_erase  # type: ignore[method-assign]

    def _is_last(self) -> bool:
        self.changes += 1
        return self.changes - 1 == self.fails_at

    def _fail(self) -> None:
        self.fails_at = None
        self.failures += 1
        raise BoardResetError(ResetCause.POWER_UP)
