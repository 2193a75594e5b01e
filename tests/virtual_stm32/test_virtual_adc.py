"""ADC of virtual STM32L4: conversions at the rate of a timer, by DMA and by interrupts; refused uses."""

import re
from pathlib import Path

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import UsageError
from virtual_stm32 import BoardStoppedError, ResetCause, VirtualBoard, VirtualRig

MS_PS = 10**9
HZ = 4_000_000  # MSI, after reset
RATE_HZ = 16_000
BOARD = "nucleo_l452re"
RAM = 0x20000000

PROGRAM = """
#include "device.h"
#define WORD(address) (*(volatile uint32_t *)(address))
#define ADC(offset) WORD(0x50040000u + (offset))
#define TIM6(offset) WORD(0x40001000u + (offset))
#define OUT ((volatile uint32_t *)0x20000200u)
enum {{ DEEPPWD = 1 << 29, ADVREGEN = 1 << 28, ADEN = 1, ADSTART = 4, EOC = 4, OVR = 16, TRIGGER = 1 << 10 | 13 << 6 }};
static inline void wait(uint32_t count) {{ while (count--) __asm volatile("nop"); }}
static inline void begin(void) {{
  RCC->AHB2ENR |= 1u | 1u << 13;
  RCC->APB1ENR1 |= 1u << 4;
  RCC->AHB1ENR |= 1u;
  GPIOA->MODER = 3u; /* PA0: analog */
  ADC(0x308) = 1u << 16; /* CKMODE: HCLK */
  ADC(0x08) = 0;
  ADC(0x08) = ADVREGEN;
  wait(40);
  ADC(0x08) = ADVREGEN | 1u << 31;
  while (ADC(0x08) >> 31) {{}}
  ADC(0x08) = ADVREGEN | ADEN;
  while (!(ADC(0x00) & 1u)) {{}}
  ADC(0x14) = 2u << 15; /* 12.5 clocks of sampling */
  ADC(0x30) = 5u << 6;
  TIM6(0x2C) = {period} - 1; TIM6(0x04) = 2u << 4; TIM6(0x00) = 1;
}}
static inline void convert(uint32_t settings) {{
  ADC(0x0C) = TRIGGER | settings;
  ADC(0x08) = ADVREGEN | ADEN | ADSTART;
}}
void handler(void) {{
  OUT[0]++;
  OUT[1] = ADC(0x40);
}}
void ring_handler(void) {{
  OUT[2] = OUT[2] << 8 | (WORD(0x40020000) & 6);
  WORD(0x40020004) = 15;
}}
void reset(void) {{ for (int i = 0; i < 8; i++) OUT[i] = 0; begin(); {body} for (;;) __asm volatile("wfi"); }}
"""
RING = """WORD(0x40020010) = 0x50040040; WORD(0x40020014) = 0x20000000; WORD(0x4002000C) = 8;
  WORD(0x40020008) = 1 << 10 | 1 << 8 | 128 | 32 | 4 | 2 | 1; WORD(0xE000E100) = 1u << 11; convert({settings});"""
ENABLE_INTERRUPT = "ADC(0x04) = EOC; WORD(0xE000E100) = 1u << 18; convert(1u << 31);"


def start(folder: Path, body: str, board: str = BOARD) -> VirtualRig:
    text = PROGRAM.format(body=body, period=HZ // RATE_HZ)
    loaded = load_board(board)
    elf = build(folder, loaded, text, {16 + 11: "ring_handler", 16 + 18: "handler"})
    return VirtualRig([VirtualBoard(loaded, elf)])


def ring(rig: VirtualRig) -> list[int]:
    words = (rig.read_word(0, RAM + 4 * i) for i in range(4))
    return [half for word in words for half in (word & 0xFFFF, word >> 16)]


@pytest.mark.parametrize(("align", "factor"), [(0, 1), (1 << 5, 16)], ids=["right", "left"])
def test_a_file_is_played_into_a_ring_sample_by_sample(tmp_path: Path, align: int, factor: int) -> None:
    rig = start(tmp_path, RING.format(settings=f"1u << 31 | 3 | {align}"))
    samples = [100 + 7 * i for i in range(500)]
    rig.play(0, "PA0", samples, RATE_HZ)
    rig.run_until(20 * MS_PS)
    values = [value // factor for value in ring(rig)]
    last = samples.index(max(values))
    assert sorted(values) == samples[last - 7 : last + 1]
    assert last == pytest.approx(20e-3 * RATE_HZ, abs=3)
    half, full = 4, 2
    assert rig.read_word(0, RAM + 0x208) & 0xFFFF in (half << 8 | full, full << 8 | half)


def test_each_result_interrupts_and_the_source_goes_on_over_a_reset(tmp_path: Path) -> None:
    rig = start(tmp_path, ENABLE_INTERRUPT)
    rig.play(0, "PA0", range(1000, 1500), RATE_HZ)
    rig.run_until(10 * MS_PS)
    count, last = (rig.read_word(0, RAM + offset) for offset in (0x200, 0x204))
    assert count == pytest.approx(10e-3 * RATE_HZ, abs=3)
    assert last == 1000 + count - 1
    rig.reset_board(0, ResetCause.PIN)
    rig.run_until(20 * MS_PS)
    assert rig.read_word(0, RAM + 0x204) == pytest.approx(1000 + 20e-3 * RATE_HZ, abs=3)
    rig.reset()
    rig.run_until(10 * MS_PS)
    assert rig.read_word(0, RAM + 0x204) == last


def test_the_rate_of_the_file_is_that_of_the_file(tmp_path: Path) -> None:
    rig = start(tmp_path, ENABLE_INTERRUPT)
    rig.play(0, "PA0", range(1000, 1500), RATE_HZ // 2)
    rig.run_until(10 * MS_PS)
    assert rig.read_word(0, RAM + 0x204) == pytest.approx(1000 + 10e-3 * RATE_HZ / 2, abs=2)


def test_after_the_file_and_without_one_the_level_is_the_middle(tmp_path: Path) -> None:
    rig = start(tmp_path, ENABLE_INTERRUPT)
    rig.run_until(MS_PS)
    assert rig.read_word(0, RAM + 0x204) == 2048
    rig.play(0, "PA0", [5, 6], RATE_HZ)
    rig.run_until(3 * MS_PS)
    assert rig.read_word(0, RAM + 0x204) == 2048


def test_results_that_nobody_reads_are_overrun(tmp_path: Path) -> None:
    rig = start(tmp_path, "convert(1u << 31); while (!(ADC(0) & OVR)) {} OUT[1] = ADC(0x40);")
    rig.play(0, "PA0", range(1000, 1500), RATE_HZ)
    rig.run_until(MS_PS)
    assert rig.read_word(0, RAM + 0x204) == 1000


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("GPIOA->MODER = 0; convert(1u << 31);", "ADC1 converts PA0, which is not in analog mode"),
        ("ADC(0x0C) = 1u << 31; ADC(0x08) |= ADSTART;", "another trigger than the rising edge of TIM6_TRGO"),
        ("convert(1u << 31); ADC(0x14) = 0;", "is written while ADSTART is set"),
        ("ADC(0x0C) = 1u << 13;", "bits of ADC1 at offset 0xc = 0x2000 are not modelled"),
        ("ADC(0x308) = 0; convert(1u << 31); wait(5000);", "ADC1 without a clock from HCLK"),
        ("ADC(0x30) = 19u << 6; convert(1u << 31);", "channel 19 of ADC1 has no pin"),
        ("TIM6(0x2C) = 5;", "TIM6 is changed while it counts"),
        (RING.replace("1 << 10 | 1 << 8 | ", "").format(settings="0"), "transfers 1 bytes at a time, ADC1 2"),
    ],
)
def test_what_is_not_modelled_is_refused(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(BoardStoppedError, match=re.escape(message)):
        start(tmp_path, body).run_until(5 * MS_PS)


def test_a_pin_without_an_adc_is_refused(tmp_path: Path) -> None:
    rig = start(tmp_path, "")
    with pytest.raises(UsageError, match=r"board 1 \(nucleo_l452re\) has no analog input at PA9"):
        rig.play(0, "PA9", [], RATE_HZ)


def test_what_a_uart_sends_is_heard_with_its_times(tmp_path: Path) -> None:
    body = """RCC->APB1ENR1 |= 1u << 17; GPIOA->AFR[0] = 7u << 8; GPIOA->MODER = 2u << 4; USART2->BRR = 35;
      USART2->CR1 = 9; USART2->TDR = 'h'; while (!(USART2->ISR & 0x80)) {} USART2->TDR = 'i';"""
    rig = start(tmp_path, body)
    heard = rig.listen(0, "USART2")
    rig.run_until(2 * MS_PS)
    assert bytes(value for _, value in heard) == b"hi"
    assert heard[1][0] - heard[0][0] == pytest.approx(350 / HZ * 10**12, rel=1e-3)
    with pytest.raises(UsageError, match="has no USART9"):
        rig.listen(0, "USART9")
