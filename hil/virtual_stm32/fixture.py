"""A fixture of pytest for firmware on virtual boards: `pytest_plugins = ["virtual_stm32.fixture"]` brings it in."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from virtual_stm32.rig import VirtualBoard, VirtualRig, Wire

RigFactory = Callable[..., VirtualRig]


@pytest.fixture
def virtual_rig() -> RigFactory:
    """Make a rig: call it with pairs of a board's name and its ELF file, and `wires` between their UARTs.

    The boards are powered up at time 0; `rig.run_until(ps)` lets their time pass, `rig.host_port(0).received` has the
    bytes of the first one's host UART.
    """

    def make(*programs: tuple[str, Path], wires: Sequence[Wire] = (), has_ideal_memory: bool = False) -> VirtualRig:
        boards = [VirtualBoard.of(name, elf) for name, elf in programs]
        return VirtualRig(boards, wires, has_ideal_memory=has_ideal_memory)

    return make
