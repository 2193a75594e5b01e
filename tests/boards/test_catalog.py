"""Boards: every file is valid, pins and clocks meet the data sheets, and errors name the mistake."""

import dataclasses
import json
import re

import pytest

from tinysplit.boards.board import Board, Uart, check_baud
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import boards_to_json, load_board, load_boards
from tinysplit.boards.devices import uart_pins
from tinysplit.boards.published import Published
from tinysplit.common.errors import UsageError
from tinysplit.papers.published_costs import published_of

KB = 1024
MHZ = 1_000_000

# Santamaria 2021, Table 3: flash KB, RAM KB, MHz, CpM.
TABLE_3 = {
    "nucleo_h743zi": (2048, 1024, 480, 6),
    "nucleo_h723zg": (1024, 564, 550, 6),
    "nucleo_f446re": (512, 128, 180, 9),
    "nucleo_f401re": (512, 96, 84, 9),
    "stm32f401rb": (128, 64, 84, 9),
    "nucleo_l4r5zi": (2048, 640, 120, 9),
    "nucleo_l4r5zi_dbank0": (2048, 640, 120, 9),
    "nucleo_l452re": (512, 128, 80, 9),
    "nucleo_l433rc_p": (256, 64, 80, 9),
    "nucleo_l412kb": (128, 40, 80, 9),
    "nucleo_g071rb": (128, 36, 64, 307),
    "disco_l496ag": (1024, 320, 80, 9),  # not in the table: DS11585, and the CpM of other L4
}
# Flash KB, RAM KB, MHz of boards that are not in it: the datasheets of their devices.
OTHERS = {
    "nucleo_f746zg": (1024, 320, 216),  # DS10916
    "nucleo_f767zi": (2048, 512, 216),  # DS11532
    "nucleo_g431rb": (128, 32, 170),  # DS12589
    "nucleo_g474re": (512, 128, 170),  # DS12288
    "nucleo_c031c6": (32, 12, 48),  # DS13867
    "nucleo_l053r8": (64, 8, 32),  # DS10152
    "nucleo_l073rz": (192, 20, 32),  # DS10685
    "nucleo_wb55rg": (768, 192, 64),  # DS11929, without what is of the second core
    "nucleo_wl55jc": (256, 64, 48),  # DS13293
    "nucleo_f334r8": (64, 12, 64),  # DS9994, without the CCM SRAM
    "nucleo_f411re": (512, 128, 100),  # DS10314
    "nucleo_f412zg": (1024, 256, 100),  # DS11139
    "nucleo_f413zh": (1536, 320, 100),  # DS11581
    "nucleo_f429zi": (2048, 192, 180),  # DS9405, without the CCM SRAM
    "nucleo_g0b1re": (512, 144, 64),  # DS13560
    "nucleo_l476rg": (1024, 96, 80),  # DS10198, without SRAM2
    "nucleo_f072rb": (128, 16, 48),  # DS9826
    "nucleo_f091rc": (256, 32, 48),  # DS10010
    "nucleo_u575zi_q": (2048, 768, 160),  # DS13737, without SRAM4
    "nucleo_h563zi": (2048, 640, 250),  # DS14258
    "nucleo_l552ze_q": (512, 256, 110),  # DS12737
    "bluepill_f103c8": (64, 20, 64),  # DS5319: 72 MHz, of HSE alone
    "nucleo_f103rb": (128, 20, 64),
    "stm32f103ze": (512, 64, 64),  # DS5792
    "nucleo_f302r8": (64, 16, 64),  # DS9896: 72 MHz, of HSE alone
    "nucleo_f303re": (512, 64, 72),  # DS10362, without the CCM SRAM
}
L4R5 = ("nucleo_l4r5zi", "nucleo_l4r5zi_dbank0")
L4 = ("nucleo_l412kb", "nucleo_l433rc_p", "nucleo_l452re", "nucleo_l476rg", "disco_l496ag")
G4 = ("nucleo_g431rb", "nucleo_g474re")
F7 = ("nucleo_f746zg", "nucleo_f767zi")
F4 = ("nucleo_f446re", "nucleo_f429zi")  # above 168 MHz
UM1724_BOARDS = "f446re f401re l452re l053r8 l073rz f334r8 f411re l476rg f072rb f091rc f103rb f302r8 f303re"
# Virtual COM port of the ST-LINK: ST's user manual of each board.
HOST_UARTS = {
    **dict.fromkeys((f"nucleo_{each}" for each in UM1724_BOARDS.split()), ("USART2", "PA2", "PA3")),
    "nucleo_h743zi": ("USART3", "PD8", "PD9"),  # UM2407
    "nucleo_h723zg": ("USART3", "PD8", "PD9"),  # UM2407
    "nucleo_f746zg": ("USART3", "PD8", "PD9"),  # UM1974
    "nucleo_f767zi": ("USART3", "PD8", "PD9"),  # UM1974
    "nucleo_l4r5zi": ("LPUART1", "PG7", "PG8"),  # UM2179
    "nucleo_l4r5zi_dbank0": ("LPUART1", "PG7", "PG8"),  # UM2179
    "nucleo_l433rc_p": ("LPUART1", "PA2", "PA3"),  # UM2206
    "nucleo_l412kb": ("USART2", "PA2", "PA15"),  # UM1956
    "nucleo_g071rb": ("USART2", "PA2", "PA3"),  # UM2324
    "nucleo_g431rb": ("LPUART1", "PA2", "PA3"),  # UM2505
    "nucleo_g474re": ("LPUART1", "PA2", "PA3"),  # UM2505
    "nucleo_c031c6": ("USART2", "PA2", "PA3"),  # UM2953
    "nucleo_wb55rg": ("USART1", "PB6", "PB7"),  # UM2435
    "nucleo_wl55jc": ("USART2", "PA2", "PA3"),  # UM2592
    "nucleo_f412zg": ("USART3", "PD8", "PD9"),  # UM1974
    "nucleo_f413zh": ("USART3", "PD8", "PD9"),  # UM1974
    "nucleo_f429zi": ("USART3", "PD8", "PD9"),  # UM1974
    "nucleo_g0b1re": ("USART2", "PA2", "PA3"),  # UM2324
    "nucleo_u575zi_q": ("USART1", "PA9", "PA10"),  # UM2861
    "nucleo_h563zi": ("USART3", "PD8", "PD9"),  # UM3115
    "nucleo_l552ze_q": ("LPUART1", "PG7", "PG8"),  # UM2581
    "disco_l496ag": ("USART2", "PA2", "PD6"),  # Zephyr's stm32l496g_disco
}
# Clocks set by ST's firmware for the boards: HCLK, PCLK1, PCLK2 in MHz and flash wait states.
BUSES = {
    "nucleo_h743zi": (240, 120, 120, 4),
    "nucleo_h723zg": (275, 137.5, 137.5, 3),
    "nucleo_f746zg": (216, 54, 108, 7),
    "nucleo_f767zi": (216, 54, 108, 7),
    "nucleo_f446re": (180, 45, 90, 5),
    "nucleo_f401re": (84, 42, 84, 2),
    "stm32f401rb": (84, 42, 84, 2),
    "nucleo_l4r5zi": (120, 120, 120, 5),
    "nucleo_l4r5zi_dbank0": (120, 120, 120, 5),
    **dict.fromkeys(L4, (80, 80, 80, 4)),
    "nucleo_g071rb": (64, 64, 64, 2),
    "nucleo_g431rb": (170, 170, 170, 4),
    "nucleo_g474re": (170, 170, 170, 4),
    "nucleo_c031c6": (48, 48, 48, 1),
    "nucleo_l053r8": (32, 32, 32, 1),
    "nucleo_l073rz": (32, 32, 32, 1),
    "nucleo_wb55rg": (64, 64, 64, 3),
    "nucleo_wl55jc": (48, 48, 48, 2),
    "nucleo_f334r8": (64, 32, 64, 2),
    "nucleo_f411re": (100, 50, 100, 3),
    **dict.fromkeys(("nucleo_f412zg", "nucleo_f413zh"), (100, 50, 100, 3)),
    "nucleo_f429zi": (180, 45, 90, 5),
    "nucleo_g0b1re": (64, 64, 64, 2),
    **dict.fromkeys(("nucleo_f072rb", "nucleo_f091rc"), (48, 48, 48, 1)),
    "nucleo_u575zi_q": (160, 160, 160, 4),
    "nucleo_h563zi": (250, 250, 250, 5),
    "nucleo_l552ze_q": (110, 110, 110, 5),
    **dict.fromkeys(("bluepill_f103c8", "nucleo_f103rb", "stm32f103ze"), (64, 32, 64, 2)),
    "nucleo_f302r8": (64, 32, 64, 2),
    "nucleo_f303re": (72, 36, 72, 2),
}
# Typical current in mA in Run and Sleep mode at full clock, peripherals off: tables of the datasheets.
CURRENTS = {
    "nucleo_h743zi": (110, 50.7),  # DS12110 tables 130, 134
    "nucleo_h723zg": (145, 36),  # DS13313 tables 21, 25
    "nucleo_f446re": (46, 11.36),  # DS10693 tables 24, 26
    "nucleo_f401re": (21.6, 5.3),  # DS10086 tables 25, 26
    "nucleo_f746zg": (90, 24),  # DS11853 tables 26, 30, of the F722
    "nucleo_f767zi": (90, 24),
}
LEVELS_H7 = {"dtcm": (1, 0, 8), "d1_sram": (2, 10, 8), "d2_sram": (2, 14, 4), "d3_sram": (2, 18, 4)}
# Level, additional core cycles compared with level 1, bytes per access: reference manuals, at the clocks above; the
# cycles of the buses of H7 and F7 are assumed.
LEVELS = {
    "nucleo_h743zi": LEVELS_H7,
    "nucleo_h723zg": LEVELS_H7,
    "nucleo_f746zg": {"dtcm": (1, 0, 8), "sram": (2, 7, 4)},
    "nucleo_f767zi": {"dtcm": (1, 0, 8), "sram": (2, 7, 4)},
}
FLASHES = {
    "nucleo_h743zi": (3, 18, 32),  # 4 wait states and 5 cycles of the bus, of 240 MHz at 480 MHz
    "nucleo_h723zg": (3, 16, 32),
    "nucleo_f746zg": (3, 12, 32),  # 7 wait states and 5 cycles of the bus
    "nucleo_f767zi": (3, 12, 32),
    "nucleo_f446re": (3, 5, 16),
    "nucleo_f401re": (3, 2, 16),
    "stm32f401rb": (3, 2, 16),
    "nucleo_l4r5zi": (3, 5, 8),
    "nucleo_l4r5zi_dbank0": (3, 5, 16),
    **dict.fromkeys(L4, (3, 4, 8)),
    "nucleo_g071rb": (3, 2, 8),
    "nucleo_g431rb": (3, 4, 8),
    "nucleo_g474re": (3, 4, 8),
    "nucleo_c031c6": (3, 1, 8),
    "nucleo_l053r8": (3, 1, 4),
    "nucleo_l073rz": (3, 1, 4),
    "nucleo_wb55rg": (3, 3, 8),
    "nucleo_wl55jc": (3, 2, 8),
    **dict.fromkeys(("nucleo_f334r8", "nucleo_g0b1re"), (3, 2, 8)),
    **dict.fromkeys(("nucleo_f411re", "nucleo_f412zg", "nucleo_f413zh"), (3, 3, 16)),
    "nucleo_f429zi": (3, 5, 16),
    **dict.fromkeys(("nucleo_f072rb", "nucleo_f091rc"), (3, 1, 4)),
    "nucleo_u575zi_q": (3, 5, 16),  # 4 wait states and a cycle to the ICACHE
    "nucleo_h563zi": (3, 6, 16),
    "nucleo_l552ze_q": (3, 6, 8),
    **dict.fromkeys(("bluepill_f103c8", "nucleo_f103rb", "stm32f103ze"), (3, 2, 8)),
    "nucleo_f302r8": (3, 2, 8),
    "nucleo_f303re": (3, 2, 8),
}
CACHES = {  # bytes of a line, for code and for data
    "nucleo_h743zi": (32, 16 * KB, 16 * KB),  # DS12110
    "nucleo_h723zg": (32, 32 * KB, 32 * KB),  # DS13313
    "nucleo_f746zg": (32, 4 * KB, 4 * KB),  # DS10916
    "nucleo_f767zi": (32, 16 * KB, 16 * KB),  # DS11532
    "stm32f4": (16, 64 * 16, 8 * 16),  # RM0368, RM0390
    "stm32l4": (32, 32 * 32, 8 * 32),  # RM0394, RM0432
    "stm32g0": (8, 2 * 8, 0),  # RM0444
    "stm32g4": (32, 32 * 32, 8 * 32),  # RM0440
    "stm32c0": (8, 2 * 8, 0),  # assumed, as RM0444
    "stm32wb": (32, 32 * 32, 8 * 32),  # RM0434
    "stm32wl": (32, 32 * 32, 8 * 32),  # assumed, as RM0434
    "stm32f0": (4, 3 * 4, 0),  # RM0091: prefetch buffer
    "stm32u5": (16, 4 * KB, 4 * KB),  # RM0456: the ICACHE, a half each
    "stm32h5": (16, 4 * KB, 4 * KB),  # RM0481: likewise
    "stm32l5": (16, 4 * KB, 4 * KB),  # RM0438: likewise
    "stm32f1": (8, 2 * 8, 0),  # PM0075: prefetch buffer
    "stm32f3": (8, 2 * 8, 0),  # RM0316: prefetch buffer
    "stm32l0": (4, 4 * 4, 2 * 4),  # RM0367: six buffers of a word
}
SETTINGS = {
    "stm32g0": {"vos"},
    "stm32g4": {"vos", "boost"},
    "stm32c0": set(),
    "stm32l0": {"vos"},
    "stm32f0": set(),
    "stm32f1": set(),
    "stm32f3": set(),
    "stm32wb": {"vos"},
    "stm32wl": {"vos"},
    "stm32u5": {"vos"},
    "stm32h5": {"vos"},
    "stm32l5": {"vos", "vddio2"},
    "stm32f4": {"vos", "overdrive"},
    "stm32f7": {"vos", "overdrive"},
    "stm32l4": {"vos", "boost", "vddio2"},
    "stm32h7": {"vos", "overdrive", "boost"},
}
# SWDIO, SWCLK, both crystals; the user LEDs and buttons of the boards; SWO.
TAKEN = {"PA13", "PA14", "PC14", "PC15", "PH0", "PH1", "PF0", "PF1"}
TAKEN |= {"PA5", "PB13", "PB0", "PE1", "PB14", "PC7", "PB7", "PC13", "PB3"}
NOT_TAKEN = {("nucleo_f401re", "PC7"), ("nucleo_f446re", "PC7"), ("stm32f401rb", "PC7")}  # LED of the L4R5ZI only
NOT_TAKEN |= {
    ("nucleo_c031c6", "PB7"),
    ("nucleo_wb55rg", "PB7"),
    ("nucleo_wl55jc", "PB7"),
}  # LED of boards with 144 pins
NOT_TAKEN |= {
    (name, "PC7") for name in ("nucleo_f411re", "nucleo_f412zg", "nucleo_f413zh", "nucleo_f429zi", *F7)
}  # LED of the L4R5ZI, or PB0 as delivered


@pytest.fixture(params=[*TABLE_3, *OTHERS])
def board(request: pytest.FixtureRequest) -> Board:
    return load_board(request.param)


def uarts(board: Board) -> tuple[Uart, ...]:
    return (board.host_uart, *board.link_uarts)


def test_all_boards_are_compared_here() -> None:
    assert set(board_names()) == {*TABLE_3, *OTHERS}


@pytest.mark.parametrize("name", OTHERS)
def test_boards_outside_of_table_3_are_those_of_the_datasheets(name: str) -> None:
    board = load_board(name)
    flash_kb, ram_kb, mhz = OTHERS[name]
    assert board.published is None
    assert (board.device.flash.size_bytes, board.clock.core_hz) == (flash_kb * KB, mhz * MHZ)
    assert board.clock.core_hz == board.device.max_hz
    assert sum(ram.size_bytes for ram in board.device.ram) == ram_kb * KB


@pytest.mark.parametrize("name", TABLE_3)
def test_the_boards_are_those_of_table_3(name: str) -> None:
    board = load_board(name)
    flash_kb, ram_kb, mhz, cpm = TABLE_3[board.name]
    assert board.published == Published(cpm, flash_kb * KB, ram_kb * KB, mhz * MHZ)
    assert board.clock.core_hz == board.device.max_hz == published_of(board).hz
    assert board.device.flash.size_bytes == published_of(board).flash_bytes


@pytest.mark.parametrize(
    ("name", "ram_kb"),
    # L4: SRAM2 is mapped behind SRAM1 as well (RM0394, RM0432, section Embedded SRAM); DS11912 gives the L452 160 KB.
    # G4: the CCM SRAM behind SRAM2 (RM0440, Memory organization).
    [
        ("nucleo_l412kb", 40),
        ("nucleo_l433rc_p", 64),
        ("nucleo_l452re", 160),
        ("nucleo_l4r5zi", 640),
        ("disco_l496ag", 320),
        ("nucleo_g431rb", 32),
        ("nucleo_g474re", 128),
    ],
)
def test_the_ram_of_l4_and_g4_is_one_block(name: str, ram_kb: int) -> None:
    (ram,) = load_board(name).device.ram
    assert (ram.name, ram.start, ram.size_bytes) == ("sram", 0x20000000, ram_kb * KB)


def test_clocks_keep_the_limits_of_buses_and_flash(board: Board) -> None:
    hclk, pclk1, pclk2, states = BUSES[board.name]
    clock = board.clock
    assert clock.oscillator_hz * clock.pll_n == clock.core_hz * clock.pll_m * clock.pll_r
    assert clock.core_hz // clock.ahb_divider == hclk * MHZ
    assert (clock.apb1_hz, clock.apb2_hz, clock.flash_wait_states) == (pclk1 * MHZ, pclk2 * MHZ, states)


def test_a_family_has_all_its_settings(board: Board) -> None:
    assert {name for name, _ in board.clock.settings} == SETTINGS[board.device.family]


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        (
            ("overdrive", 1),
            {*F4, *F7, "nucleo_h743zi"},
        ),  # RM0390, RM0385: from 168, 180 MHz; RM0433: VOS0
        (("boost", 1), {"nucleo_h723zg", *L4R5, *G4}),  # DS13313: above 520 MHz; RM0432: 80 MHz; RM0440: 150 MHz
        (("vddio2", 1), {*L4R5, "disco_l496ag", "nucleo_l552ze_q"}),  # RM0432, RM0351, RM0438: PG2..PG15
    ],
)
def test_settings_of_single_devices(setting: tuple[str, int], names: set[str]) -> None:
    assert {board.name for board in load_boards() if setting in board.clock.settings} == names


def test_h7_pll_values_are_those_of_sts_firmware_scaled_to_hsi() -> None:
    h743, h723 = load_board("nucleo_h743zi").clock, load_board("nucleo_h723zg").clock
    assert (h743.pll_m, h743.pll_n, h743.pll_r) == (4, 60, 2)  # 960 MHz / 2
    assert (h723.pll_m, h723.pll_n, h723.pll_r) == (32, 275, 1)  # 550 MHz / 1


@pytest.mark.parametrize("name", CURRENTS)
def test_power_is_the_datasheets_current_at_3_3_volts(name: str) -> None:
    power = load_board(name).power
    run_ma, sleep_ma = CURRENTS[name]
    assert power.run_w == pytest.approx(run_ma * 3.3e-3)
    assert power.transfer_w == power.run_w, "the firmware polls"
    assert power.idle_w == pytest.approx(sleep_ma * 3.3e-3)


def test_every_board_draws_less_in_sleep_mode(board: Board) -> None:
    """Cores of these families need 40 to 430 uA/MHz: other values are typing errors."""
    assert 0 < board.power.idle_w < board.power.run_w
    assert 40e-6 < board.power.run_w / 3.3 / (board.clock.core_hz / MHZ) < 430e-6


@pytest.mark.parametrize("name", HOST_UARTS)
def test_the_host_uart_is_the_st_links(name: str) -> None:
    uart = load_board(name).host_uart
    assert (uart.name, uart.tx.name, uart.rx.name) == HOST_UARTS[name]
    assert uart.connector == "ST-LINK"
    assert uart.is_low_power == uart.name.startswith("LPUART")


def test_pins_carry_their_signals_and_nothing_else(board: Board) -> None:
    used = []
    for uart in uarts(board):
        pins = uart_pins(board.device.name, uart.name)
        assert uart.tx in pins.tx
        assert uart.rx in pins.rx
        used += [uart.tx.name, uart.rx.name]
    assert len(set(used)) == len(used)
    assert not {pin for pin in used if pin in TAKEN and (board.name, pin) not in NOT_TAKEN}


def test_links_have_vectors_of_their_own(board: Board) -> None:
    positions = [uart.irq_position for uart in uarts(board)]
    assert len(set(positions)) == len(positions)
    by_position = {interrupt.position: interrupt.name for interrupt in board.device.interrupts}
    assert all(by_position[uart.irq_position] == uart.irq_name for uart in uarts(board))


def test_two_links_where_the_device_has_the_pins(board: Board) -> None:
    one = {"nucleo_l412kb", "disco_l496ag", "nucleo_c031c6", "nucleo_wb55rg"}
    assert len(board.link_uarts) >= (1 if board.name in one else 2)
    for uart in board.link_uarts:
        assert re.search(r"^\S+.* TX, \S+.* RX", uart.connector)


@pytest.mark.parametrize(
    ("name", "uart", "base", "clock_mhz", "enable_bit"),
    [
        # RM0444 (one APB), RM0368 (USART1 and USART6 on APB2), RM0394 and RM0432 (LPUART1 in APB1ENR2), RM0433
        ("nucleo_g071rb", "USART3", 0x40004800, 64, "RCC_APBENR1_USART3EN"),
        ("nucleo_g071rb", "USART1", 0x40013800, 64, "RCC_APBENR2_USART1EN"),
        ("nucleo_c031c6", "USART1", 0x40013800, 48, "RCC_APBENR2_USART1EN"),  # RM0490
        ("nucleo_l053r8", "LPUART1", 0x40004800, 32, "RCC_APB1ENR_LPUART1EN"),  # RM0367
        ("nucleo_l073rz", "USART4", 0x40004C00, 32, "RCC_APB1ENR_USART4EN"),
        ("nucleo_f401re", "USART2", 0x40004400, 42, "RCC_APB1ENR_USART2EN"),
        ("nucleo_f401re", "USART6", 0x40011400, 84, "RCC_APB2ENR_USART6EN"),
        ("nucleo_l4r5zi", "LPUART1", 0x40008000, 120, "RCC_APB1ENR2_LPUART1EN"),
        ("nucleo_l452re", "USART1", 0x40013800, 80, "RCC_APB2ENR_USART1EN"),
        ("nucleo_g474re", "USART1", 0x40013800, 170, "RCC_APB2ENR_USART1EN"),
        ("nucleo_g474re", "LPUART1", 0x40008000, 170, "RCC_APB1ENR2_LPUART1EN"),
        ("nucleo_h743zi", "USART3", 0x40004800, 120, "RCC_APB1LENR_USART3EN"),
        ("nucleo_h743zi", "UART7", 0x40007800, 120, "RCC_APB1LENR_UART7EN"),
        ("nucleo_f103rb", "USART3", 0x40004800, 32, "RCC_APB1ENR_USART3EN"),  # RM0008
        ("stm32f103ze", "UART4", 0x40004C00, 32, "RCC_APB1ENR_UART4EN"),
        ("nucleo_f746zg", "USART6", 0x40011400, 108, "RCC_APB2ENR_USART6EN"),  # RM0385
        ("nucleo_f767zi", "UART7", 0x40007800, 54, "RCC_APB1ENR_UART7EN"),  # RM0410
    ],
)
def test_uart_facts_are_those_of_the_reference_manual(
    name: str, uart: str, base: int, clock_mhz: int, enable_bit: str
) -> None:
    (found,) = (other for other in uarts(load_board(name)) if other.name == uart)
    assert (found.base_address, found.clock_hz, found.enable_bit) == (base, clock_mhz * MHZ, enable_bit)
    assert found.enable_bit == f"RCC_{found.enable_register}_{found.name}EN"
    assert found.name in found.irq_name


@pytest.mark.parametrize(
    ("name", "baud", "brr"),
    [
        ("nucleo_f401re", 115200, 0x16D),  # RM0368: 42 MHz / (16 * 115200) = 22.79, nearest 22 + 13/16
        ("nucleo_f401re", 9600, 0x1117),  # RM0368: 42 MHz / (16 * 9600) = 273.4375 = 273 + 7/16
        ("nucleo_g071rb", 115200, 556),  # RM0444: USARTDIV = 64 MHz / 115200 = 555.6
        ("nucleo_l4r5zi", 115200, 266667),  # RM0432: 256 * 120 MHz / 115200
        ("nucleo_g431rb", 115200, 377778),  # RM0440: 256 * 170 MHz / 115200
    ],
)
def test_dividers_are_what_the_reference_manual_computes(name: str, baud: int, brr: int) -> None:
    uart = load_board(name).host_uart
    assert uart.divider(baud) == brr
    assert uart.actual_baud(baud) == pytest.approx(baud, rel=0.005)


def test_every_uart_supports_the_usual_baud_rates(board: Board) -> None:
    for uart in uarts(board):
        for baud in (57600, 115200, 230400, 460800, 921600, 1_000_000):
            check_baud(board, uart, baud)


@pytest.mark.parametrize(
    ("name", "baud", "nearest"),
    [
        ("nucleo_f401re", 6_000_000, 5_250_000),  # at least 8 clocks a bit (OVER8)
        ("nucleo_f401re", 4_000_000, 3_818_182),  # 42 MHz / 10.5: between two dividers
        ("nucleo_f401re", 2_550_000, 2_625_000),  # 42 MHz / 16.47: between two dividers
        ("nucleo_g071rb", 300, 977),  # BRR <= 0xFFFF: at least 64 MHz / 65535
        ("nucleo_l4r5zi", 9600, 29297),  # LPUART: clock <= 4096 * baud
        ("nucleo_l4r5zi", 50_000_000, 40_000_000),  # LPUART: clock >= 3 * baud
    ],
)
def test_a_baud_rate_out_of_reach_is_refused_with_the_nearest(name: str, baud: int, nearest: int) -> None:
    board = load_board(name)
    uart = board.host_uart
    with pytest.raises(UsageError, match=rf"{name}: {uart.name} .* cannot make {baud} baud within 2%; .* {nearest}$"):
        check_baud(board, uart, baud)


@pytest.mark.parametrize("baud", [0, -9600])
def test_a_baud_rate_has_to_be_positive(baud: int) -> None:
    board = load_board("nucleo_g071rb")
    with pytest.raises(UsageError, match="has to be positive"):
        check_baud(board, board.host_uart, baud)


@pytest.mark.parametrize(
    ("name", "offer"),
    [
        ("nucleo_g071", "nearest: nucleo_g071rb"),
        ("arduino", "known: bluepill_f103c8, disco_l496ag, "),
    ],
)
def test_an_unknown_board_is_refused_with_the_nearest_names(name: str, offer: str) -> None:
    with pytest.raises(UsageError) as error:
        load_board(name)
    assert offer in str(error.value)


def test_the_hash_covers_every_fact() -> None:
    board = load_board("nucleo_g071rb")
    assert re.fullmatch("[0-9a-f]{64}", board.sha256)
    assert len({other.sha256 for other in load_boards()}) == len(board_names())
    faster = dataclasses.replace(board.host_uart, clock_hz=1)
    assert dataclasses.replace(board, host_uart=faster).sha256 != board.sha256
    assert dataclasses.replace(board).sha256 == board.sha256


def test_json_has_bytes_and_hertz() -> None:
    entries = {entry["name"]: entry for entry in json.loads(json.dumps(boards_to_json(load_boards())))}
    h743 = entries["nucleo_h743zi"]
    assert (h743["core_hz"], h743["flash_bytes"], h743["arena_memory_bytes"]) == (480 * MHZ, 2048 * KB, 512 * KB)
    assert h743["host_uart"]["name"] == "USART3"
    assert h743["published"] == {"cpm": 6, "flash_bytes": 2048 * KB, "ram_bytes": 1024 * KB, "hz": 480 * MHZ}


def test_memory_levels(board: Board) -> None:
    levels = {level.name: (level.level, level.wait_cycles, level.access_bytes) for level in board.memory_levels}
    flash = board.device.flash.name
    assert levels.pop(flash) == FLASHES[board.name]
    assert levels == LEVELS.get(board.name, {"sram": (1, 0, 4)})
    caches = board.caches
    expected = CACHES.get(board.name) or CACHES[board.device.family]
    assert (caches.line_bytes, caches.code_bytes, caches.data_bytes) == expected
    assert all(level.dma for level in board.memory_levels)


def test_arenas_are_in_level_1_if_they_fit() -> None:
    h7, l4 = load_board("nucleo_h743zi"), load_board("nucleo_l452re")
    assert h7.arena_memory(125 * KB - 8, 3 * KB).name == "dtcm"
    assert h7.arena_memory(125 * KB - 7, 3 * KB).name == "d1_sram"
    assert l4.arena_memory(1 << 20, 3 * KB).name == "sram"
    assert (h7.largest_arena_bytes(3 * KB), l4.largest_arena_bytes(3 * KB)) == (512 * KB - 8, 157 * KB)
