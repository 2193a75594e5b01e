"""The parts on which published images run: core and memories of a board, with sizes, clock and registers of the part.

A part that no board file describes has the memory model of its relative, with the sizes of its own caches and RAM.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from common.image_run import Part
from common.stand_ins import Registers
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board

_KB = 1024
_MHZ = 1_000_000
_HSI_HSE_PLL = ((0, 1), (8, 10), (16, 17), (24, 25), (26, 27), (28, 29))  # RCC_CR: an oscillator on, and ready
_SWS_2, _SWS_3 = ((0, 2), (1, 3)), ((0, 3), (1, 4), (2, 5))  # RCC_CFGR: the clock that is selected, and used


def _g0b1() -> Part:
    # RM0444, memory map and sections RCC_CR, RCC_CFGR and FLASH_ACR; DS13560 (144 KB of RAM)
    registers = Registers(
        flash=0x40022000,
        access_control=0x40600,
        rcc=0x40021000,
        same={0x40021000: _HSI_HSE_PLL, 0x40021008: _SWS_3},
        uarts={0x40013800: 27, 0x40004400: 28, 0x40004800: 29, 0x40008000: 29, 0x40004C00: 29},
        crc=0x40023000,
    )
    return Part(_with_sizes(load_board("nucleo_g071rb"), 512, {"sram": 144}), 64 * _MHZ, registers)


def _l4r5(board: str) -> Part:
    # RM0432, memory map and sections RCC_CR, RCC_CFGR and FLASH_ACR
    registers = Registers(
        flash=0x40022000,
        access_control=0x600,
        rcc=0x40021000,
        same={0x40021000: _HSI_HSE_PLL, 0x40021008: _SWS_2},
        uarts={0x40008000: 70, 0x40013800: 37, 0x40004400: 38, 0x40004800: 39},
        crc=0x40023000,
    )
    return Part(load_board(board), 120 * _MHZ, registers)


def _h7a3() -> Part:
    # RM0455, memory map and sections RCC_CR, RCC_CFGR, RCC_CDCFGR1 and FLASH_ACR. Flash and buses are those of the
    # H743, but AXI may have the clock of the core
    registers = Registers(
        flash=0x52002000,
        access_control=0x37,
        rcc=0x58024400,
        same={
            0x58024400: ((0, 2), (7, 8), (12, 13), (16, 17), (24, 25), (26, 27), (28, 29)),
            0x58024410: _SWS_3,
        },
        bus_divider=0x58024418,
        ones={0x58024400: 0xC000, 0x58024804: 1 << 13, 0x58024818: 1 << 13},  # domain clocks, ACTVOSRDY, VOSRDY
        uarts={0x40004800: 39, 0x40011000: 37, 0x58000C00: 142, 0x40004400: 38},
        crc=0x58024C00,
    )
    return Part(_with_sizes(load_board("nucleo_h743zi"), 2048, {"d1_sram": 1024}), 280 * _MHZ, registers)


def _f746() -> Part:
    # RM0385, memory map and sections RCC_CR, RCC_CFGR and PWR_CSR1
    registers = Registers(
        flash=0x40023C00,
        access_control=0,
        rcc=0x40023800,
        same={0x40023800: _HSI_HSE_PLL, 0x40023808: _SWS_2},
        ones={0x40007004: 1 << 14 | 1 << 16 | 1 << 17},  # VOSRDY, ODRDY, ODSWRDY
        uarts={0x40011000: 37, 0x40011400: 71, 0x40004800: 39},
        crc=0x40023000,
    )
    return Part(load_board("nucleo_f746zg"), 216 * _MHZ, registers)


def _with_sizes(board: Board, flash_kb: int, ram_kb: Mapping[str, int]) -> Board:
    """Return the board with other sizes of its flash and of some RAM."""
    device = board.device
    ram = (replace(each, size_bytes=ram_kb[each.name] * _KB) if each.name in ram_kb else each for each in device.ram)
    flash = replace(device.flash, size_bytes=flash_kb * _KB)
    return replace(board, device=replace(device, flash=flash, ram=tuple(ram)))


PARTS: Mapping[str, Callable[[], Part]] = {
    "stm32g0b1": _g0b1,
    "stm32l4r5": partial(_l4r5, "nucleo_l4r5zi"),
    "stm32l4r5_dbank0": partial(_l4r5, "nucleo_l4r5zi_dbank0"),
    "stm32h7a3": _h7a3,
    "stm32f746": _f746,
}
