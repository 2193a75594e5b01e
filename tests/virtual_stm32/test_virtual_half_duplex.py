"""USARTs of virtual boards in half-duplex mode: they listen on their TX pin, to a transmitter that is wired to it."""

from pathlib import Path

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, VirtualBoard, VirtualRig, Wire

BOARD = "nucleo_g071rb"
OUT = 0x2000_0000
MS_PS = 10**9
COMMON = """
#include "device.h"
#define WORD(address) (*(volatile uint32_t *)(address))
#define OUT ((volatile uint32_t *)0x20000000)
static inline void begin(uint32_t open_drain, uint32_t cr3) {
  RCC->IOPENR |= 1; RCC->APBENR2 |= RCC_APBENR2_USART1EN;
  GPIOA->OTYPER = open_drain; GPIOA->AFR[1] = 0x110; GPIOA->MODER = 2u << 18 | 2u << 20;
  USART1->BRR = 139; USART1->CR3 = cr3;
  USART1->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
}
"""
SENDER = (
    COMMON
    + """void reset(void) {
  begin(0, 0);
  for (uint32_t i = 0; i < 20000; i++) __asm volatile("nop");
  USART1->TDR = 0x5A;
  for (;;) __asm volatile("wfi");
}"""
)
LISTENER = (
    COMMON
    + """void reset(void) {
  OUT[0] = 0;
  begin(%s, %s);
  while (!(USART1->ISR & USART_ISR_RXNE_RXFNE)) {}
  OUT[0] = USART1->RDR;
  for (;;) __asm volatile("wfi");
}"""
)
OPEN_DRAIN, HDSEL = "1u << 9", "USART_CR3_HDSEL"


def heard(folder: Path, listener: str, *, is_straight: bool) -> int:
    """Return the byte that has arrived, 0 for none."""
    board = load_board(BOARD)
    boards = [VirtualBoard(board, build(folder / str(i), board, text)) for i, text in enumerate((SENDER, listener))]
    wire = Wire((0, "USART1"), (1, "USART1"), is_straight=is_straight)
    rig = VirtualRig(boards, [wire], has_ideal_memory=True)
    rig.run_until(20 * MS_PS)
    return rig.read_word(1, OUT)


@pytest.mark.parametrize(
    ("open_drain", "cr3", "is_straight", "byte"),
    [
        (OPEN_DRAIN, HDSEL, True, 0x5A),
        ("0", "0", False, 0x5A),
        ("0", "0", True, 0),  # TX to TX, as a rule nobody listens there
        (OPEN_DRAIN, HDSEL, False, 0),  # the RX pin is left alone
        ("0", HDSEL, True, 0),  # a pin that is driven high
    ],
)
def test_who_hears_a_transmitter(tmp_path: Path, open_drain: str, cr3: str, is_straight: bool, byte: int) -> None:
    assert heard(tmp_path, LISTENER % (open_drain, cr3), is_straight=is_straight) == byte


def test_sending_in_half_duplex_mode_is_not_modelled(tmp_path: Path) -> None:
    program = COMMON + f"void reset(void) {{ begin({OPEN_DRAIN}, {HDSEL}); USART1->TDR = 1; for (;;); }}"
    with pytest.raises(BoardStoppedError, match="USART1 sends in half-duplex mode"):
        heard(tmp_path, program, is_straight=True)
