"""Device data against ST's datasheets (DS) and reference manuals (RM)."""

import pytest

from tinysplit.boards.board import Interrupt
from tinysplit.boards.devices import load_device, uart_pins, wait_state_limits
from tinysplit.boards.parts import Memory, Pin
from tinysplit.boards.schema import CorrectedHz, CorrectedMemory, CorrectedWaitStates, Corrections
from tinysplit.common.errors import InputError

KB = 1024

# Part: core, MHz, flash KB, RAM KB as (start, KB), vendor define; from the first page and the memory map of each DS.
DATASHEETS = {
    "stm32g071rbt6": ("cortex-m0plus", 64, 128, [(0x20000000, 36)], "STM32G071xx"),  # DS12232
    "stm32f401ret6": ("cortex-m4", 84, 512, [(0x20000000, 96)], "STM32F401xE"),  # DS10086
    "stm32f401rbt6": ("cortex-m4", 84, 128, [(0x20000000, 64)], "STM32F401xC"),  # DS9716
    "stm32f446ret6": ("cortex-m4", 180, 512, [(0x20000000, 128)], "STM32F446xx"),  # DS10693: SRAM1 112, SRAM2 16
    "stm32u575zit6q": ("cortex-m33", 160, 2048, [(0x20000000, 768)], "STM32U575xx"),  # DS13737: SRAM1 to SRAM3
    "stm32l552zet6q": ("cortex-m33", 110, 512, [(0x20000000, 256)], "STM32L552xx"),  # DS12737: SRAM1 and SRAM2
    "stm32wl55jci7": ("cortex-m4", 48, 256, [(0x20000000, 64)], "STM32WL55xx"),  # DS13293: SRAM1 and SRAM2
    "stm32h563zit6": ("cortex-m33", 250, 2048, [(0x20000000, 640)], "STM32H563xx"),  # DS14258: SRAM1 to SRAM3
    "stm32f746zgt6": (  # DS10916: DTCM, SRAM1 and SRAM2 of 240 and 16 KB; the flash is on the ITCM bus, too
        "cortex-m7",
        216,
        1024,
        [(0x20000000, 64), (0x20010000, 256)],
        "STM32F746xx",
    ),
    "stm32f767zit6": ("cortex-m7", 216, 2048, [(0x20000000, 128), (0x20020000, 384)], "STM32F767xx"),  # DS11532
    "stm32h743zit6": (  # DS12110: DTCM, AXI SRAM, SRAM1-3 of domain 2, SRAM4
        "cortex-m7",
        480,
        2048,
        [(0x20000000, 128), (0x24000000, 512), (0x30000000, 288), (0x38000000, 64)],
        "STM32H743xx",
    ),
    "stm32h723zgt6": (  # DS13313, with the factory setting of TCM_AXI_SHARED: 64 KB ITCM, 320 KB AXI SRAM
        "cortex-m7",
        550,
        1024,
        [(0x20000000, 128), (0x24000000, 320), (0x30000000, 32), (0x38000000, 16)],
        "STM32H723xx",
    ),
}


@pytest.mark.parametrize("part", DATASHEETS)
def test_core_clock_and_memories_are_those_of_the_datasheet(part: str) -> None:
    core, mhz, flash_kb, ram, define = DATASHEETS[part]
    device = load_device(part)
    assert (device.name, device.family) == (part, part[:7])
    assert (device.core, device.max_hz) == (core, mhz * 1_000_000)
    assert device.flash == Memory("flash", 0x08000000, flash_kb * KB)
    assert [(memory.start, memory.size_bytes // KB) for memory in device.ram] == ram
    assert device.vendor_define == define
    assert device.vendor_header == f"{part[:7]}xx.h"


def test_interrupts_of_a_part_with_a_second_core_are_those_of_the_main_one() -> None:
    """RM0453, vector table of CPU1; modm-devices lists that of CPU2."""
    found = {interrupt.name: interrupt.position for interrupt in load_device("stm32wl55jci7").interrupts}
    expected = {"RTC_WKUP": 3, "DMA1_Channel1": 11, "USART1": 36, "USART2": 37, "LPUART1": 38, "DMA2_Channel7": 60}
    assert {name: found.get(name) for name in expected} == expected


def test_the_largest_ram_of_an_h7_is_its_axi_sram() -> None:
    assert load_device("stm32h743zit6").largest_ram == Memory("d1_sram", 0x24000000, 512 * KB)


@pytest.mark.parametrize(
    ("part", "interrupt"),
    [
        ("stm32g071rbt6", Interrupt(29, "USART3_4_LPUART1")),  # RM0444 table Vector table
        ("stm32g071rbt6", Interrupt(15, "TIM2")),
        ("stm32f401ret6", Interrupt(38, "USART2")),  # RM0368 table Vector table
        ("stm32f401ret6", Interrupt(71, "USART6")),
        ("stm32l433rct6p", Interrupt(70, "LPUART1")),  # RM0394 table Vector table
        ("stm32f746zgt6", Interrupt(71, "USART6")),  # RM0385 table Vector table
        ("stm32f767zit6", Interrupt(82, "UART7")),  # RM0410 table Vector table
        ("stm32h743zit6", Interrupt(39, "USART3")),  # RM0433 table NVIC
        ("stm32h743zit6", Interrupt(82, "UART7")),
    ],
)
def test_vectors_are_those_of_the_reference_manual(part: str, interrupt: Interrupt) -> None:
    interrupts = load_device(part).interrupts
    assert interrupt in interrupts
    positions = [entry.position for entry in interrupts]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize(
    ("part", "limits_mhz"),
    [
        ("stm32g071rbt6", (24, 48, 64)),  # RM0444 table Number of wait states, range 1
        ("stm32f401ret6", (30, 60, 84)),  # RM0368 table Number of wait states, 2.7..3.6 V
        ("stm32f446ret6", (30, 60, 90, 120, 150, 180)),  # RM0390 the same, 2.7..3.6 V
        ("stm32l433rct6p", (16, 32, 48, 64, 80)),  # RM0394 the same, range 1
        ("stm32h743zit6", (70, 140, 210, 225, 240)),  # RM0433 the same, VOS0, of the AXI clock
        ("stm32h723zgt6", (70, 140, 210, 275)),  # RM0468 the same, VOS0, of the AXI clock
    ],
)
def test_wait_states_are_those_of_the_reference_manual(part: str, limits_mhz: tuple[int, ...]) -> None:
    assert wait_state_limits(part) == tuple(mhz * 1_000_000 for mhz in limits_mhz)


@pytest.mark.parametrize(
    ("part", "uart", "tx", "rx"),
    [
        ("stm32g071rbt6", "USART2", Pin("PA2", 1), Pin("PA3", 1)),  # DS12232 table Port A alternate function
        ("stm32g071rbt6", "LPUART1", Pin("PA2", 6), Pin("PA3", 6)),
        ("stm32f401ret6", "USART6", Pin("PC6", 8), Pin("PC7", 8)),  # DS10086 table Alternate function mapping
        ("stm32f446ret6", "UART4", Pin("PC10", 8), Pin("PC11", 8)),  # DS10693 table Alternate function
        ("stm32l412kbu6", "USART2", Pin("PA2", 7), Pin("PA15", 3)),  # DS12469 table Alternate function
        ("stm32l4r5zit6", "LPUART1", Pin("PG7", 8), Pin("PG8", 8)),  # DS12023 table Alternate function
        ("stm32h743zit6", "USART3", Pin("PD8", 7), Pin("PD9", 7)),  # DS12110 table Port D alternate functions
    ],
)
def test_uart_pins_carry_the_alternate_functions_of_the_datasheet(part: str, uart: str, tx: Pin, rx: Pin) -> None:
    pins = uart_pins(part, uart)
    assert tx in pins.tx
    assert rx in pins.rx


def test_only_pins_of_the_package_are_offered() -> None:
    # DS12469: UFQFPN32 has neither port C but PC14 and PC15, nor PB8 and above.
    assert {pin.name for pin in uart_pins("stm32l412kbu6", "LPUART1").tx} == {"PA2"}


def test_an_absent_uart_has_no_pins() -> None:
    assert uart_pins("stm32f401ret6", "UART4").tx == ()


def test_corrections_replace_what_modm_devices_says() -> None:
    corrections = Corrections(
        max_hz=CorrectedHz(value=120_000_000, source="a datasheet"),
        wait_states=CorrectedWaitStates(value=(60_000_000, 120_000_000), source="a reference manual"),
        memories={"ccm": CorrectedMemory(name="sram2", start=0x20030000, source="a reference manual")},
    )
    raw, corrected = load_device("stm32l4r5zit6"), load_device("stm32l4r5zit6", corrections)
    assert (raw.max_hz, corrected.max_hz) == (80_000_000, 120_000_000)
    assert wait_state_limits("stm32l4r5zit6", corrections) == (60_000_000, 120_000_000)
    assert [memory.size_bytes // KB for memory in raw.ram] == [384]  # without "ccm", 192 KB are apart
    assert corrected.ram == (Memory("sram", 0x20000000, 640 * KB),)


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(InputError, match="there is no part 'stm32g071rb'"):
        load_device("stm32g071rb")
