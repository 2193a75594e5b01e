"""Exceptions of signal handlers while virtual boards run: none is lost, and the boards can go on."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.peripherals.bus import Bus

END_PS = 10**12
INTERRUPTS = 20
# Reads a register of a GPIO, which is a callback of C, again and again.
READING = (
    "void reset(void) { for (;;) { *(volatile unsigned *)0x50000010; for (volatile int i = 0; i < 300; i++) {} } }"
)


class LaterError(Exception):
    """What a handler raises."""


@contextmanager
def handler(called: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, lambda *_: called())
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def fail() -> None:
    raise LaterError


def test_an_interrupt_in_a_callback_is_raised_and_the_boards_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board = load_board("nucleo_g071rb")
    elf = build(tmp_path, board, READING)
    undisturbed, rig = (VirtualRig([VirtualBoard(board, elf)], finds_loops=False) for _ in range(2))
    undisturbed.run_until(END_PS)
    read = Bus.read
    calls = 0

    def interrupted_read(*arguments: Any) -> tuple[int, bool]:  # noqa: ANN401 - as Bus.read takes them
        nonlocal calls
        calls += 1
        if calls % 10 == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
        return read(*arguments)

    with handler(fail):
        monkeypatch.setattr(Bus, "read", interrupted_read)
        for _ in range(INTERRUPTS):
            with pytest.raises(LaterError):
                rig.run_until(END_PS)
        monkeypatch.undo()
    assert rig.time_ps < END_PS // 2  # it has stopped soon
    rig.run_until(END_PS)
    assert (rig.cycles(0), rig.time_ps) == (undisturbed.cycles(0), undisturbed.time_ps)
    assert capsys.readouterr().err == ""
