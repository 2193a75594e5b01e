"""USARTs of virtual boards beyond single bytes: IDLE, TC, FIFOs, OVER8, overruns and framing errors with DMA."""

from pathlib import Path

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, VirtualBoard, VirtualRig, Wire

G0, F4, L4, H7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_h743zi"
OUT = 0x20000000
MS_PS = 10**9
G0_HZ = 16_000_000
BRR = 139
FRAME = 10 * BRR  # cycles

# USART1 on PA9 and PA10 of G0 and F4, at the 16 MHz of reset; a 32-bit counter of cycles.
COMMON = """
#include "device.h"
#define WORD(address) (*(volatile uint32_t *)(address))
#define OUT ((volatile uint32_t *)0x20000000)
static inline void rest(void) { for (;;) __asm volatile("wfi"); }
"""
G0_PROGRAM = (
    COMMON
    + """
#define CR3 WORD(0x40013808)
#define NOW TIM2->CNT
static inline void begin(uint32_t divider, uint32_t bits, uint32_t cr3) {
  RCC->IOPENR |= 1; RCC->APBENR1 |= 1; RCC->APBENR2 |= RCC_APBENR2_USART1EN; WORD(0x40021038) |= 1;
  GPIOA->AFR[1] = 0x110; GPIOA->MODER = 2u << 18 | 2u << 20;
  TIM2->ARR = 0xFFFFFFFF; TIM2->EGR = 1; TIM2->CR1 = 1;
  USART1->BRR = divider; CR3 = cr3;
  USART1->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE | bits;
}
static inline void ring(void) {
  WORD(0x40020800) = 50; WORD(0x40020010) = 0x40013824; WORD(0x40020014) = 0x20000100; WORD(0x4002000C) = 16;
  WORD(0x40020008) = 1u << 7 | 1u << 5 | 1;
}
#define RING_LEFT WORD(0x4002000C)
"""
)
F4_PROGRAM = (
    COMMON
    + """
#define CR3 WORD(0x40011014)
static inline void begin(uint32_t divider, uint32_t bits, uint32_t cr3) {
  RCC->AHB1ENR |= 1 | 1u << 22; RCC->APB2ENR |= RCC_APB2ENR_USART1EN;
  GPIOA->AFR[1] = 0x770; GPIOA->MODER = 2u << 18 | 2u << 20;
  USART1->BRR = divider; CR3 = cr3;
  USART1->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE | bits;
}
"""
)
IDLE, FE, ORE, TC, TXE = 1 << 4, 1 << 1, 1 << 3, 1 << 6, 1 << 7


def rig_of(
    folder: Path, *programs: tuple[str, str], handlers: dict[int, str] | None = None, finds_loops: bool = True
) -> VirtualRig:
    """Boards with programs; the handlers are those of the last."""
    built = []
    for index, (name, source) in enumerate(programs):
        board = load_board(name)
        last = index == len(programs) - 1
        built.append(VirtualBoard(board, build(folder / str(index), board, source, handlers if last else None)))
    wires = [Wire((0, "USART1"), (1, "USART1"))] if len(built) > 1 else []
    return VirtualRig(built, wires, finds_loops=finds_loops, has_ideal_memory=True)


def outs(rig: VirtualRig, count: int, index: int = -1) -> list[int]:
    board = index % rig.board_count
    return [rig.read_word(board, OUT + 4 * position) for position in range(count)]


# Two bytes back to back, a pause of `pause` cycles, and another.
SENDER = (
    G0_PROGRAM
    + """void reset(void) {
  begin(139, 0, 0);
  uint32_t first = NOW;
  while (NOW - first < 5000) {}
  USART1->TDR = 0x11; USART1->TDR = 0x22;
  while (!(USART1->ISR & 64)) {}
  uint32_t sent = NOW;
  while (NOW - sent < %d) {}
  USART1->TDR = 0x33;
  rest();
}"""
)
IDLE_HANDLER = """
void usart1(void) {
  uint32_t now = NOW, status = USART1->ISR;
  if (status & 16) { OUT[1 + OUT[0]++] = now; USART1->ICR = 16; }
  if (status & USART_ISR_RXNE_RXFNE) { OUT[16] = now; OUT[17] = USART1->RDR; }
}
void reset(void) {
  OUT[0] = OUT[16] = 0;
  begin(139, 0x10 | USART_CR1_RXNEIE_RXFNEIE, 0);
  WORD(0xE000E100) = 1u << 27;
  rest();
}"""
ENTRY_AND_LATENESS = 60


@pytest.mark.parametrize(("pause", "idles"), [(FRAME // 2, 1), (3 * FRAME, 2)])
def test_idle_is_set_one_frame_after_the_last_byte(tmp_path: Path, pause: int, idles: int) -> None:
    receiver = (G0, G0_PROGRAM + IDLE_HANDLER)
    rig = rig_of(tmp_path, (G0, SENDER % pause), receiver, handlers={16 + 27: "usart1"})
    rig.run_until(10 * MS_PS)
    count, *times = outs(rig, 4)
    assert count == 1 + idles  # the first frame after the receiver is enabled is idle, too
    assert times[0] == pytest.approx(FRAME, abs=ENTRY_AND_LATENESS)
    last, value = (rig.read_word(1, OUT + 4 * position) for position in (16, 17))
    assert value == 0x33
    assert times[count - 1] - last == pytest.approx(FRAME, abs=ENTRY_AND_LATENESS)


def test_idle_is_the_same_whichever_board_goes_first(tmp_path: Path) -> None:
    results = []
    for index, swap in enumerate((False, True)):
        boards = [(G0, SENDER % (FRAME - 40)), (G0, G0_PROGRAM + IDLE_HANDLER)]
        handlers = {16 + 27: "usart1"}
        if swap:
            boards.reverse()
            board = load_board(G0)
            elfs = [
                build(tmp_path / f"swapped{position}", board, source, {} if position else handlers)
                for position, (_, source) in enumerate(boards)
            ]
            rig = VirtualRig(
                [VirtualBoard(board, elf) for elf in elfs], [Wire((0, "USART1"), (1, "USART1"))], has_ideal_memory=True
            )
        else:
            rig = rig_of(tmp_path / str(index), *boards, handlers=handlers)
        rig.run_until(10 * MS_PS)
        results.append(outs(rig, 3, index=0 if swap else 1))
    assert results[0] == results[1]
    assert results[0][0] == 2


def test_code_without_branches_for_longer_than_a_byte_sees_no_idle_between_bytes(tmp_path: Path) -> None:
    bytes_sent, over8 = 64, 1 << 15
    sender = f"""void reset(void) {{
      begin(16, {over8}, 0);
      for (int i = 0; i < {bytes_sent}; i++) {{ while (!(USART1->ISR & 128)) {{}} USART1->TDR = 0x55; }}
      rest();
    }}"""
    receiver = f"""
    void usart1(void) {{ OUT[0]++; USART1->ICR = 16; }}
    __attribute__((noinline)) static void compute(void) {{ __asm volatile(".rept 311; nop; .endr"); }}
    void reset(void) {{
      OUT[0] = 0;
      begin(16, {over8} | 0x10, 64); ring();
      WORD(0xE000E100) = 1u << 27;
      for (OUT[1] = 0; OUT[1] < 200; OUT[1]++) compute();
      rest();
    }}"""
    rig = rig_of(tmp_path, (G0, G0_PROGRAM + sender), (G0, G0_PROGRAM + receiver), handlers={16 + 27: "usart1"})
    rig.run_until(10 * MS_PS)
    assert outs(rig, 1) == [1]  # after the last byte
    assert rig.read_word(1, 0x4002000C) == 16 - bytes_sent % 16


@pytest.mark.parametrize("nops", [311, 1511])
@pytest.mark.parametrize("computes", ["sender", "receiver", "both"])
def test_code_without_branches_beside_dma_sees_no_idle_between_bytes(tmp_path: Path, nops: int, computes: str) -> None:
    over8, bytes_sent = 1 << 15, 64  # a byte takes 80 cycles
    computing = "for (OUT[64] = 0; OUT[64] < 20; OUT[64]++) compute();"
    sender = f"""void reset(void) {{
      begin(16, {over8}, 128);
      for (volatile int i = 0; i < 200; i++) {{}}
      WORD(0x40020800) = 51; WORD(0x40020010) = 0x40013828; WORD(0x40020014) = 0x20000100;
      WORD(0x4002000C) = {bytes_sent}; WORD(0x40020008) = 1u << 7 | 1u << 4 | 1;
      {computing if computes != "receiver" else ""}
      rest();
    }}"""
    receiver = f"""
    void usart1(void) {{ OUT[0]++; USART1->ICR = 16; }}
    void reset(void) {{
      OUT[0] = 0;
      begin(16, {over8} | 0x10, 64); ring();
      WORD(0xE000E100) = 1u << 27;
      {computing if computes != "sender" else ""}
      rest();
    }}"""
    compute = f'void compute(void) {{ __asm volatile(".rept {nops}; nop; .endr"); }}'
    program = f"{G0_PROGRAM} __attribute__((noinline, unused)) static {compute}"
    rig = rig_of(tmp_path, (G0, program + sender), (G0, program + receiver), handlers={16 + 27: "usart1"})
    rig.run_until(10 * MS_PS)
    assert rig.read_word(1, 0x4002000C) == 16 - bytes_sent % 16
    assert outs(rig, 1) == [2]  # after the receiver is enabled, and after the last byte


def test_the_f4_clears_idle_by_reading_sr_then_dr_and_tc_by_reading_sr_then_writing_dr(tmp_path: Path) -> None:
    body = """void reset(void) {
      begin(139, 0, 0);
      while (!(USART1->SR & 16)) {}
      uint32_t again = USART1->SR & 16;
      (void)USART1->DR;
      OUT[0] = again; OUT[1] = USART1->SR & 16;
      USART1->SR = 0; OUT[2] = USART1->SR & 64;
      USART1->DR = 1; while (!(USART1->SR & 64)) {}
      USART1->SR = 0; OUT[3] = USART1->SR & 64;
      rest();
    }"""
    rig = rig_of(tmp_path, (F4, F4_PROGRAM + body))
    rig.run_until(MS_PS)
    assert outs(rig, 4) == [IDLE, 0, 0, 0]


def test_tc_interrupts_when_the_last_bit_has_left(tmp_path: Path) -> None:
    body = """
    void usart1(void) { OUT[1] = NOW; USART1->ICR = 64; OUT[2]++; }
    void reset(void) {
      begin(139, 0, 0); OUT[2] = 0;
      USART1->ICR = 64;
      OUT[0] = NOW;
      USART1->TDR = 1; USART1->TDR = 2; USART1->CR1 |= 64;
      WORD(0xE000E100) = 1u << 27;
      rest();
    }"""
    rig = rig_of(tmp_path, (G0, G0_PROGRAM + body), handlers={16 + 27: "usart1"})
    rig.run_until(MS_PS)
    before, after, count = outs(rig, 3)
    assert count == 1
    assert after - before == pytest.approx(2 * FRAME, abs=ENTRY_AND_LATENESS)


FIFO = 1 << 29


def test_fifos_hold_eight_bytes_to_send_and_nine_received(tmp_path: Path) -> None:
    sender = f"""void reset(void) {{
      begin(139, {FIFO}, 4u << 29);
      uint32_t count = 0;
      OUT[1] = USART1->ISR >> 23 & 1;
      while (USART1->ISR & 128) {{ USART1->TDR = count++; }}
      OUT[0] = count; OUT[2] = USART1->ISR >> 27 & 1;
      while (!(USART1->ISR >> 27 & 1)) {{}}
      OUT[3] = NOW;
      while (!(USART1->ISR >> 23 & 1)) {{}}
      OUT[4] = NOW;
      USART1->TDR = count; rest();
    }}"""
    receiver = f"""void reset(void) {{
      begin(139, {FIFO}, 2u << 25);
      while (!(USART1->ISR >> 26 & 1)) {{}}
      OUT[0] = NOW;
      while (!(USART1->ISR >> 24 & 1)) {{}}
      OUT[1] = NOW; OUT[2] = USART1->ISR & 8;
      while (!(USART1->ISR & 8)) {{}}
      OUT[3] = 0; OUT[4] = 0;
      while (USART1->ISR & 32) {{ OUT[3]++; OUT[4] = OUT[4] * 10 + USART1->RDR; }}
      rest();
    }}"""
    rig = rig_of(tmp_path, (G0, G0_PROGRAM + sender), (G0, G0_PROGRAM + receiver))
    rig.run_until(10 * MS_PS)
    count, was_empty, is_over, seven_free, empty = outs(rig, 5, index=0)
    assert (count, was_empty, is_over) == (9, 1, 0)  # one of them in the shift register
    # TXFTCFG 7/8: seven places are free after seven bytes have moved on, all eight one frame later.
    assert empty - seven_free == pytest.approx(FRAME, abs=40)
    half, full, overrun, held, digits = outs(rig, 5)
    assert full - half == pytest.approx(5 * FRAME, abs=40)  # from four bytes to nine
    assert (overrun, held, digits) == (0, 9, 12345678)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        (L4, "RCC->APB2ENR |= RCC_APB2ENR_USART1EN; USART1->BRR = 35; USART1->CR1 = 1u << 29 | 1;"),
        (G0, "RCC->APBENR1 |= 1u << 18; WORD(0x4000480C) = 139; WORD(0x40004800) = 1u << 29 | 1;"),
    ],
)
def test_uarts_without_fifo_refuse_it(tmp_path: Path, name: str, source: str) -> None:
    rig = rig_of(tmp_path, (name, COMMON + f"void reset(void) {{ {source} rest(); }}"))
    with pytest.raises(BoardStoppedError, match="CR1 = 0x20000001 are not modelled"):
        rig.run_until(MS_PS)


OVER8 = 1 << 15


@pytest.mark.parametrize(
    ("brr", "clocks"),
    [(0x10, 8), (0x13, 11), (0x27, 23)],
)
def test_over8_counts_eighths_in_three_bits(tmp_path: Path, brr: int, clocks: int) -> None:
    body = f"""void reset(void) {{
      begin({brr}, {OVER8}, 0);
      USART1->TDR = 1; while (!(USART1->ISR & 128)) {{}}
      USART1->TDR = 2; USART1->ICR = 64;
      uint32_t first = NOW;
      while (!(USART1->ISR & 64)) {{}}
      OUT[0] = NOW - first;
      rest();
    }}"""
    rig = rig_of(tmp_path, (G0, G0_PROGRAM + body))
    rig.run_until(MS_PS)
    assert outs(rig, 1)[0] == pytest.approx(20 * clocks, abs=30)


@pytest.mark.parametrize("brr", [0x18, 0x07])
def test_over8_refuses_dividers_that_do_not_exist(tmp_path: Path, brr: int) -> None:
    rig = rig_of(tmp_path, (G0, G0_PROGRAM + f"void reset(void) {{ begin({brr}, {OVER8}, 0); rest(); }}"))
    with pytest.raises(BoardStoppedError, match="is enabled with OVER8 and a divider"):
        rig.run_until(MS_PS)


def test_eight_clocks_a_bit_reach_a_ring_between_g0_and_f4(tmp_path: Path) -> None:
    sender = f"""void reset(void) {{
      begin(0x10, {OVER8}, 1u << 7);
      for (uint32_t i = 0; i < 16; i++) ((volatile uint8_t *)0x20000100)[i] = (uint8_t)(i * 7 + 1);
      for (volatile int i = 0; i < 500; i++) {{}}
      WORD(0x40020804) = 51; WORD(0x40020024) = 0x40013828; WORD(0x40020028) = 0x20000100; WORD(0x40020020) = 16;
      WORD(0x4002001C) = 1u << 7 | 1u << 4 | 1;
      rest();
    }}"""
    receiver = f"""void reset(void) {{
      begin(0x10, {OVER8}, 1u << 6);
      WORD(0x40026448) = 0x40011004; WORD(0x4002644C) = 0x20000100; WORD(0x40026444) = 16;
      WORD(0x40026440) = 4u << 25 | 1u << 10 | 1;
      rest();
    }}"""
    rig = rig_of(tmp_path, (G0, G0_PROGRAM + sender), (F4, F4_PROGRAM + receiver))
    rig.run_until(MS_PS)
    for word in range(4):
        expected = bytes((4 * word + i) * 7 + 1 & 0xFF for i in range(4))
        assert rig.read_word(1, 0x20000100 + 4 * word) == int.from_bytes(expected, "little")


def test_a_receiver_whose_dma_has_ended_overruns_and_ovrdis_keeps_the_last_byte(tmp_path: Path) -> None:
    receiver = """void reset(void) {
      begin(139, 0, %s);
      while (NOW < 30000) {}
      uint32_t status = USART1->ISR;
      OUT[0] = status & 8; OUT[1] = USART1->RDR;
      rest();
    }"""
    for index, (cr3, expected) in enumerate((("1u << 6", [ORE, 0x11]), ("1u << 12", [0, 0x33]))):
        rig = rig_of(tmp_path / str(index), (G0, SENDER % FRAME), (G0, G0_PROGRAM + receiver % cr3))
        rig.run_until(10 * MS_PS)
        assert outs(rig, 2) == expected


@pytest.mark.parametrize(("cr3", "received", "flags"), [("1u << 6", 0, FE), ("1u << 6 | 1u << 13", 0, FE | 32)])
def test_dma_of_the_g0_does_not_transfer_bytes_with_framing_errors(
    tmp_path: Path, cr3: str, received: int, flags: int
) -> None:
    receiver = f"""void reset(void) {{
      begin(300, 0, {cr3} | 1); ring();
      while (!(USART1->ISR & 2)) {{}}
      OUT[0] = 16 - RING_LEFT; OUT[1] = USART1->ISR & (2 | 32);
      rest();
    }}"""
    rig = rig_of(tmp_path, (G0, SENDER % FRAME), (G0, G0_PROGRAM + receiver))
    rig.run_until(10 * MS_PS)
    assert outs(rig, 2) == [received, flags]


def test_error_interrupts_need_eie(tmp_path: Path) -> None:
    body = """
    void usart1(void) { OUT[0]++; USART1->ICR = 2; }
    void reset(void) {
      OUT[0] = 0;
      begin(300, 0, %s); ring();
      WORD(0xE000E100) = 1u << 27;
      rest();
    }"""
    for index, (cr3, expected) in enumerate((("1u << 6 | 1", 3), ("1u << 6", 0))):
        programs = (G0, SENDER % (2 * FRAME)), (G0, G0_PROGRAM + body % cr3)
        rig = rig_of(tmp_path / str(index), *programs, handlers={16 + 27: "usart1"})
        rig.run_until(10 * MS_PS)
        assert outs(rig, 1) == [expected]


def test_a_ring_and_idle_are_the_same_with_every_loop_executed(tmp_path: Path) -> None:
    body = """
    void usart1(void) { OUT[1 + OUT[0]++] = NOW << 8 | RING_LEFT; USART1->ICR = 16; }
    void reset(void) {
      OUT[0] = 0;
      begin(139, 16, 1u << 6); ring();
      WORD(0xE000E100) = 1u << 27;
      uint32_t left = 16;
      for (uint32_t i = 8; i < 11; i++) {
        while (RING_LEFT == left) {}
        left = RING_LEFT; OUT[i] = NOW;
      }
      rest();
    }"""
    results = []
    for finds_loops in (True, False):
        programs = (G0, SENDER % (2 * FRAME)), (G0, G0_PROGRAM + body)
        folder, handlers = tmp_path / str(finds_loops), {16 + 27: "usart1"}
        rig = rig_of(folder, *programs, handlers=handlers, finds_loops=finds_loops)
        rig.run_until(3 * MS_PS)
        results.append([rig.read_word(1, OUT + 4 * index) for index in (0, 1, 2, 3, 8, 9, 10)])
    assert results[0] == results[1]
    assert [entry & 0xFF for entry in results[0][:4]] == [3, 16, 14, 13]
