"""DMAMUX1 of STM32G0 (RM0444), L4+ (RM0432) and H7 (RM0433): which request each DMA channel serves."""

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.dma.controller import RequestLines, RequestRouter

_ID_MASK = 0x7F


class RequestSelection(RequestRouter):
    """The request numbers in CxCR; channel x serves controller x / `per_controller`."""

    def __init__(self, names: dict[int, str], per_controller: int, count: int) -> None:
        self._names = names
        self._per_controller = per_controller
        self.words = [0] * count

    @override
    def request_of(self, controller: str, index: int) -> str | None:
        number = self.words[self._per_controller * (int(controller[-1]) - 1) + index]
        return self._names.get(number, f"{number}") if number else None


class Dmamux(Peripheral):
    """CxCR with DMAREQ_ID; synchronisation and request generators are not modelled."""

    def __init__(self, selection: RequestSelection, lines: RequestLines) -> None:
        super().__init__("DMAMUX1")
        self._selection = selection
        self._lines = lines

    @override
    def read(self, offset: int, now: int) -> int:
        del now
        if offset // 4 >= len(self._selection.words):
            raise self.unknown(offset)
        return self._selection.words[offset // 4]

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset // 4 >= len(self._selection.words):
            raise self.unknown(offset)
        if value & ~_ID_MASK:
            raise NotModelledError(f"DMAMUX1 CxCR = 0x{value:x}: only DMAREQ_ID is modelled")
        self._selection.words[offset // 4] = value
        self._lines.reconnect(now)
