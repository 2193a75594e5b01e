"""UARTs of virtual boards: timing on the receiver's own clock, overrun, wrong baud rates, pins, clocks."""

from pathlib import Path

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig, Wire

G0, F4, L4 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l4r5zi"
LINK = Wire((0, "USART1"), (1, "USART1"))
OUT = 0x20000000
BYTES = 2048
G0_HZ = 16_000_000
BRR = 139  # 16 MHz / 115200, rounded

# USART1 on PA9 and PA10, and TIM2, all at the 16 MHz of reset.
G0_PROGRAM = """
#include "device.h"
#define OUT ((volatile uint32_t *)0x20000000)
static inline void begin(uint32_t divider) {
  RCC->IOPENR |= 1; RCC->APBENR1 |= 1; RCC->APBENR2 |= RCC_APBENR2_USART1EN;
  GPIOA->AFR[1] = 0x110; GPIOA->MODER = 2u << 18 | 2u << 20;
  TIM2->ARR = 0xFFFFFFFF; TIM2->EGR = 1; TIM2->CR1 = 1;
  USART1->BRR = divider;
  USART1->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
}
static inline void put(uint8_t byte) { while (!(USART1->ISR & USART_ISR_TXE_TXFNF)) {} USART1->TDR = byte; }
static inline uint8_t get(void) { while (!(USART1->ISR & USART_ISR_RXNE_RXFNE)) {} return USART1->RDR; }
static inline void rest(void) { for (;;) __asm volatile("wfi"); }
"""
SENDER = G0_PROGRAM + "void reset(void) { begin(%d); for (int i = 0; i < %d; i++) put((uint8_t)i); rest(); }"


def rig_of(folder: Path, first: str, second: str, names: tuple[str, str] = (G0, G0), **options: bool) -> VirtualRig:
    boards = [load_board(name) for name in names]
    sources = (first, second)
    built = [
        VirtualBoard(b, build(folder / str(i), b, s)) for i, (b, s) in enumerate(zip(boards, sources, strict=True))
    ]
    return VirtualRig(built, [LINK], **options, has_ideal_memory=True)


def test_2_kib_take_as_long_as_computed_on_the_receivers_clock(tmp_path: Path) -> None:
    receiver = (
        G0_PROGRAM
        + f"""void reset(void) {{
      begin({BRR});
      uint32_t good = get() == 0, start = TIM2->CNT;
      for (int i = 1; i < {BYTES}; i++) good += get() == (uint8_t)i;
      OUT[0] = TIM2->CNT - start; OUT[1] = good;
      rest();
    }}"""
    )
    rig = rig_of(tmp_path, SENDER % (BRR, BYTES), receiver)
    rig.run_until(10**12)
    assert rig.read_word(1, OUT + 4) == BYTES
    polling_cycles = 30
    assert rig.read_word(1, OUT) == pytest.approx((BYTES - 1) * 10 * BRR, abs=polling_cycles)


PING = (
    G0_PROGRAM
    + """void reset(void) {
  begin(139);
  for (volatile int i = 0; i < 1000; i++) {}
  uint32_t start = TIM2->CNT;
  uint8_t byte = 0;
  for (int i = 0; i < 50; i++) { put(byte); byte = get(); }
  OUT[0] = TIM2->CNT - start; OUT[1] = byte;
  rest();
}"""
)
PONG = G0_PROGRAM + "void reset(void) { begin(139); for (;;) put((uint8_t)(get() + 1)); }"


def test_ping_pong_is_the_same_in_every_run_and_with_every_loop_executed(tmp_path: Path) -> None:
    results = []
    for run, finds_loops in enumerate((True, True, False)):
        rig = rig_of(tmp_path / str(run), PING, PONG, finds_loops=finds_loops)
        rig.run_until(10**11)
        results.append((rig.read_word(0, OUT), rig.read_word(0, OUT + 4)))
    assert results[0] == results[1] == results[2]
    spent, byte = results[0]
    assert byte == 50
    assert 100 * 10 * BRR < spent < 100 * (10 * BRR + 60)


def test_a_byte_that_is_not_read_in_time_is_lost_with_an_overrun(tmp_path: Path) -> None:
    receiver = (
        G0_PROGRAM
        + """void reset(void) {
      begin(139);
      TIM2->CNT = 0;
      while (TIM2->CNT < 160000) {}
      uint32_t status = USART1->ISR;
      OUT[0] = USART1->RDR; OUT[1] = (status & USART_ISR_ORE) != 0;
      OUT[2] = (USART1->ISR & USART_ISR_RXNE_RXFNE) != 0;
      USART1->ICR = USART_ICR_ORECF; OUT[3] = (USART1->ISR & USART_ISR_ORE) != 0;
      rest();
    }"""
    )
    rig = rig_of(tmp_path, SENDER % (BRR, 3), receiver)
    rig.run_until(10**11)
    assert [rig.read_word(1, OUT + 4 * i) for i in range(4)] == [0, 1, 0, 0]


@pytest.mark.parametrize(("divider", "is_good"), [(BRR, True), (143, True), (148, False), (278, False)])
def test_baud_rates_that_differ_too_much_give_framing_errors(tmp_path: Path, divider: int, *, is_good: bool) -> None:
    receiver = (
        G0_PROGRAM
        + f"""void reset(void) {{
      begin({divider});
      while (!(USART1->ISR & USART_ISR_RXNE_RXFNE)) {{}}
      OUT[0] = (USART1->ISR & USART_ISR_FE) == 0; OUT[1] = USART1->RDR;
      rest();
    }}"""
    )
    rig = rig_of(tmp_path, SENDER % (BRR, 1), receiver)
    rig.run_until(10**11)
    assert rig.read_word(1, OUT) == is_good
    assert (rig.read_word(1, OUT + 4) == 0) == is_good


@pytest.mark.parametrize("spoilt", ["GPIOA->MODER = 2u << 18", "GPIOA->AFR[1] = 0x010", "RCC->APBENR2 = 0"])
def test_without_pin_or_clock_nothing_arrives(tmp_path: Path, spoilt: str) -> None:
    receiver = (
        G0_PROGRAM
        + f"""void reset(void) {{
      begin({BRR}); {spoilt};
      OUT[1] = 0;
      TIM2->CNT = 0;
      while (TIM2->CNT < 160000) OUT[1] |= USART1->ISR & USART_ISR_RXNE_RXFNE;
      OUT[0] = 1;
      rest();
    }}"""
    )
    rig = rig_of(tmp_path, SENDER % (BRR, 3), receiver)
    rig.run_until(10**11)
    assert (rig.read_word(1, OUT), rig.read_word(1, OUT + 4)) == (1, 0)


F4_INTERRUPTS = """
#include "device.h"
#define OUT ((volatile uint32_t *)0x20000000)
void usart1(void) {
  uint32_t status = USART1->SR;
  if (status & USART_SR_RXNE) { OUT[1 + OUT[0]++] = USART1->DR; }
}
void reset(void) {
  OUT[0] = 0;
  RCC->AHB1ENR |= 1; RCC->APB2ENR |= RCC_APB2ENR_USART1EN;
  GPIOA->AFR[1] = 0x770; GPIOA->MODER = 2u << 18 | 2u << 20;
  USART1->BRR = 139;
  USART1->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE | USART_CR1_RXNEIE;
  *(volatile uint32_t *)0xE000E104 = 1u << (37 - 32);
  for (;;) __asm volatile("wfi");
}
"""


def test_the_usart_of_the_f4_receives_by_interrupt_from_that_of_the_g0(tmp_path: Path) -> None:
    boards = [load_board(G0), load_board(F4)]
    first = build(tmp_path / "g0", boards[0], SENDER % (BRR, 5))
    second = build(tmp_path / "f4", boards[1], F4_INTERRUPTS, {16 + 37: "usart1"})
    rig = VirtualRig([VirtualBoard(boards[0], first), VirtualBoard(boards[1], second)], [LINK], has_ideal_memory=True)
    rig.run_until(10**11)
    assert [rig.read_word(1, OUT + 4 * i) for i in range(6)] == [5, 0, 1, 2, 3, 4]


def test_a_low_power_uart_counts_256ths_and_port_g_needs_its_supply(tmp_path: Path) -> None:
    source = """
    #include "device.h"
    void reset(void) {
      RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN; RCC->APB1ENR2 |= RCC_APB1ENR2_LPUART1EN;
      RCC->AHB2ENR |= RCC_AHB2ENR_GPIOGEN;
      %s
      GPIOG->AFR[0] = 8u << 28; GPIOG->AFR[1] = 8; GPIOG->MODER = 2u << 14 | 2u << 16;
      LPUART1->BRR = 8889; /* 256 * 4 MHz / 115200 */
      LPUART1->CR1 = USART_CR1_TE | USART_CR1_UE;
      LPUART1->TDR = 0x5A;
      for (;;) __asm volatile("wfi");
    }"""
    board = load_board(L4)
    for supply, expected in (("PWR->CR2 |= PWR_CR2_IOSV;", b"\x5a"), ("", b"")):
        rig = VirtualRig(
            [VirtualBoard(board, build(tmp_path / str(len(supply)), board, source % supply))], has_ideal_memory=True
        )
        rig.run_until(10**10)
        assert rig.host_port(0).read(2) == expected
