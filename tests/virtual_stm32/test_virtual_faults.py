"""Faults of virtual boards: on lines, of clocks, in flash, and of boards that do not start."""

from itertools import pairwise
from pathlib import Path

import pytest

from programs.virtual_firmware import address_of, build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import HOST, LineFaults, ResetCause, VirtualBoard, VirtualRig, Wire
from virtual_stm32.line_faults import FaultyLine, LineByte
from virtual_stm32.peripherals.usart import FE, ORE

G0 = "nucleo_g071rb"
OUT = 0x20000000
MS_PS = 10**9
BYTE_PS = 100
BAUD = 115108
COMMON = """
#include "device.h"
#define OUT ((volatile uint32_t *)0x20000000)
static inline void rest(void) { for (;;) __asm volatile("wfi"); }
static inline void begin(void) {
  RCC->IOPENR |= 1; RCC->APBENR1 |= 1 | RCC_APBENR1_USART2EN; RCC->APBENR2 |= RCC_APBENR2_USART1EN;
  GPIOA->AFR[0] = 0x1100; GPIOA->AFR[1] = 0x110; GPIOA->MODER = 2u << 4 | 2u << 6 | 2u << 18 | 2u << 20;
  TIM2->ARR = 0xFFFFFFFF; TIM2->EGR = 1; TIM2->CR1 = 1;
  USART1->BRR = USART2->BRR = 139;
  USART1->CR1 = USART2->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
}
"""
SENDER = (
    COMMON
    + """void reset(void) {
  begin();
  while (TIM2->CNT < 16000) {}
  for (uint32_t i = 0; i < 200; i++) { while (!(USART1->ISR & 128)) {} USART1->TDR = i; }
  rest();
}"""
)
# Stores what it receives, each byte with its errors.
RECEIVER = (
    COMMON
    + """void reset(void) {
  begin();
  OUT[0] = 0;
  for (;;) {
    uint32_t status = USART1->ISR;
    if (status & (32 | 10)) {
      if (status & 32) OUT[1 + OUT[0]++] = USART1->RDR | (status & 2) << 8;
      if (status & 8) OUT[1 + OUT[0]++] = 0x800;
      OUT[OUT[0] == 1 ? 500 : 501] = TIM2->CNT;
      USART1->ICR = 10;
    }
  }
}"""
)
SENT = list(range(200))


def pair(folder: Path, *, error_ppm: int = 0) -> VirtualRig:
    board = load_board(G0)
    sender, receiver = build(folder / "a", board, SENDER), build(folder / "b", board, RECEIVER)
    boards = [VirtualBoard(board, sender), VirtualBoard(board, receiver, clock_error_ppm=error_ppm)]
    return VirtualRig(boards, [Wire((0, "USART1"), (1, "USART1"))], has_ideal_memory=True)


def received(rig: VirtualRig) -> list[int]:
    rig.run_until(25 * MS_PS)
    return [rig.read_word(1, OUT + 4 + 4 * index) for index in range(rig.read_word(1, OUT))]


def with_faults(folder: Path, faults: LineFaults) -> list[int]:
    rig = pair(folder)
    rig.set_faults((1, "USART1"), faults)
    return received(rig)


def test_single_faults_hit_the_bytes_that_they_name(tmp_path: Path) -> None:
    faults = LineFaults(lost_bytes=frozenset({3}), flipped_bits=frozenset({(0, 7), (5, 0)}))
    assert with_faults(tmp_path, faults)[:6] == [0x80, 1, 2, 4, 5 ^ 1, 6]


def test_a_cut_wire_loses_the_bytes_that_overlap_it(tmp_path: Path) -> None:
    byte_ps = 10 * 139 * 10**12 // 16_000_000
    begin = MS_PS + 10 * byte_ps + byte_ps // 2
    values = with_faults(tmp_path, LineFaults(cuts_ps=((begin, begin + 2 * byte_ps),)))
    assert values in ([v for v in SENT if v not in missing] for missing in ((9, 10, 11, 12), (10, 11, 12), (9, 10, 11)))


def test_framing_errors_and_overruns_reach_the_flags(tmp_path: Path) -> None:
    assert with_faults(tmp_path / "fe", LineFaults(framing_error_rate=1.0)) == [v | 0x200 for v in SENT]
    assert with_faults(tmp_path / "ore", LineFaults(overrun_rate=1.0)) == [0x800] * 200


def test_doubled_and_inserted_bytes(tmp_path: Path) -> None:
    assert with_faults(tmp_path / "doubled", LineFaults(doubling_rate=1.0)) == [v for v in SENT for _ in range(2)]
    inserted = with_faults(tmp_path / "inserted", LineFaults(insertion_rate=1.0))
    assert inserted[::2] == SENT
    assert len(inserted) == 400


def test_the_same_seed_gives_the_same_faults_and_a_reset_of_the_rig_begins_anew(tmp_path: Path) -> None:
    faults = LineFaults(seed=7, bit_error_rate=2e-3, loss_rate=0.02, doubling_rate=0.02, insertion_rate=0.02)
    rig = pair(tmp_path / "one")
    rig.set_faults((1, "USART1"), faults)
    rig.reset_board(0, ResetCause.BROWN_OUT, at_ps=20 * MS_PS)
    first, cycles = received(rig), [rig.cycles(index) for index in (0, 1)]
    rig.reset()
    rig.reset_board(0, ResetCause.BROWN_OUT, at_ps=20 * MS_PS)
    assert received(rig) == first != SENT
    assert [rig.cycles(index) for index in (0, 1)] == cycles
    other = LineFaults(seed=8, bit_error_rate=2e-3, loss_rate=0.02, doubling_rate=0.02, insertion_rate=0.02)
    assert with_faults(tmp_path / "two", other) != first
    rig.set_faults((1, "USART1"), None)
    rig.reset()
    assert received(rig) == SENT


def test_rates_are_what_they_say() -> None:
    count = 100_000
    line = FaultyLine(LineFaults(bit_error_rate=1e-3), "line")
    arrived = [line.arriving(LineByte((i + 1) * BYTE_PS, BYTE_PS, 0)) for i in range(count)]
    lost = sum(not each for each in arrived)
    framing = sum(bool(byte.errors & FE) for each in arrived for byte in each)
    bits = sum(byte.value.bit_count() for each in arrived for byte in each)
    # One bit of ten each, and eight of ten: 100, 100 and 800 expected; five standard deviations.
    assert lost == pytest.approx(100, abs=50)
    assert framing == pytest.approx(100, abs=50)
    assert bits == pytest.approx(800, abs=142)
    for faults in (LineFaults(loss_rate=0.01), LineFaults(overrun_rate=0.01), LineFaults(framing_error_rate=0.01)):
        line = FaultyLine(faults, "line")
        hit = sum(not each or bool(each[0].errors & (FE | ORE)) for each in _pass(line, count))
        assert hit == pytest.approx(1000, abs=160)


def _pass(line: FaultyLine, count: int) -> list[list[LineByte]]:
    return [line.arriving(LineByte((i + 1) * BYTE_PS, BYTE_PS, 0)) for i in range(count)]


def test_a_burst_spoils_as_many_bytes_as_it_has() -> None:
    spoilt = [each[0].value != 0 for each in _pass(FaultyLine(LineFaults(burst_rate=2e-4, burst_bytes=8), "b"), 50_000)]
    edges = [later for earlier, later in pairwise(spoilt) if later and not earlier]
    assert 1 < len(edges) < 40  # ten bursts, which a random 0 may divide
    assert sum(spoilt) == pytest.approx(80, abs=60)


def test_faults_on_the_lines_of_the_host(tmp_path: Path) -> None:
    echo = (
        COMMON + "void reset(void) { begin(); for (;;) { while (!(USART2->ISR & 32)) {} USART2->TDR = USART2->RDR; } }"
    )
    board = load_board(G0)
    rig = VirtualRig([VirtualBoard(board, build(tmp_path, board, echo))], has_ideal_memory=True)
    rig.set_baud(0, BAUD)
    rig.run_until(MS_PS)
    rig.set_faults((0, "USART2"), LineFaults(lost_bytes=frozenset({1})))
    rig.set_faults((0, HOST), LineFaults(flipped_bits=frozenset({(2, 4)})))
    rig.write(0, b"abcd")
    rig.run_until(3 * MS_PS)
    assert rig.host_port(0).read(9) == bytes((ord("a"), ord("c"), ord("d") ^ 16))


@pytest.mark.parametrize(("ppm", "is_good"), [(30_000, True), (-30_000, True), (45_000, False)])
def test_a_clock_that_is_off_counts_its_own_cycles_and_still_receives_within_tolerance(
    tmp_path: Path, ppm: int, *, is_good: bool
) -> None:
    rig = pair(tmp_path, error_ppm=ppm)
    assert (received(rig) == SENT) == is_good
    first, last = (rig.read_word(1, OUT + 4 * position) for position in (500, 501))
    assert last - first == pytest.approx(199 * 1390 * (1 + ppm / 10**6), abs=60)


def test_a_board_that_never_starts_is_silent_and_a_reset_does_not_help(tmp_path: Path) -> None:
    board = load_board(G0)
    boards = [
        VirtualBoard(board, build(tmp_path / "a", board, SENDER), starts=False),
        VirtualBoard(board, build(tmp_path / "b", board, RECEIVER)),
    ]
    rig = VirtualRig(boards, [Wire((0, "USART1"), (1, "USART1"))], has_ideal_memory=True)
    rig.reset_board(0, ResetCause.PIN, at_ps=MS_PS)
    assert received(rig) == []
    assert rig.cycles(0) == 0


def test_a_reset_sender_leaves_the_rest_unsent_and_bytes_on_the_line_arrive(tmp_path: Path) -> None:
    rig = pair(tmp_path)
    rig.reset_board(0, ResetCause.BROWN_OUT, at_ps=3 * MS_PS, held_ps=100 * MS_PS)
    values = received(rig)
    assert values == SENT[: len(values)]
    assert len(values) == pytest.approx(2 * 11.5, abs=2)


def test_a_flipped_bit_in_flash_stays_over_resets(tmp_path: Path) -> None:
    source = (
        COMMON
        + "const uint32_t weight = 0x100; void reset(void) { begin(); OUT[0] = *(volatile uint32_t *)&weight; rest(); }"
    )
    board = load_board(G0)
    elf = build(tmp_path, board, source)
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=True)
    rig.flip_flash_bit(0, address_of("weight", elf), 3)
    for end in (1, 2):
        rig.run_until(end * MS_PS)
        assert rig.read_word(0, OUT) == 0x108
        rig.reset_board(0, ResetCause.BROWN_OUT)
    rig.reset()
    rig.run_until(MS_PS)
    assert rig.read_word(0, OUT) == 0x108
