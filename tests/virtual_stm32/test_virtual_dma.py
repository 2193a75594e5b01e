"""DMA controllers of virtual boards: rings and chunks of bytes between UARTs and memory, interrupts, refused uses."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from programs.virtual_firmware import build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, VirtualBoard, VirtualRig

MS_PS = 10**9
BAUD = 115108  # 16 MHz / 139


@dataclass(frozen=True)
class Family:
    """How a program reaches the host UART of a board, at the clock of reset, and its two DMA channels."""

    board: str
    begin: str  # clocks, pins, request selection; UART is the host UART
    uart: str
    divider: int
    baud: int
    is_stream: bool
    receive: tuple[int, int, int]  # address of the channel, address of its flags, position in them
    send: tuple[int, int, int]
    receive_select: int = 0  # bits of CR that select the request
    receive_vector: int = 0
    ram: int = 0x20000000


G0 = Family(
    board="nucleo_g071rb",
    begin="""RCC->IOPENR |= 1; RCC->APBENR1 |= RCC_APBENR1_USART2EN; WORD(0x40021038) |= 1;
      GPIOA->AFR[0] = 0x1100; GPIOA->MODER = 2u << 4 | 2u << 6; WORD(0x40020800) = 52; WORD(0x40020804) = 53;""",
    uart="USART2",
    divider=139,
    baud=BAUD,
    is_stream=False,
    receive=(0x40020008, 0x40020000, 0),
    send=(0x4002001C, 0x40020000, 4),
    receive_vector=16 + 9,
)
L4 = Family(
    board="nucleo_l452re",
    begin="""RCC->AHB2ENR |= 1; RCC->APB1ENR1 |= RCC_APB1ENR1_USART2EN; WORD(0x40021048) |= 1;
      GPIOA->AFR[0] = 0x7700; GPIOA->MODER = 2u << 4 | 2u << 6; WORD(0x400200A8) = 0x2200000;""",
    uart="USART2",
    divider=35,
    baud=4_000_000 // 35,
    is_stream=False,
    receive=(0x4002006C, 0x40020000, 20),
    send=(0x40020080, 0x40020000, 24),
    receive_vector=16 + 16,
)
L4_PLUS = Family(
    board="nucleo_l4r5zi",
    begin="""RCC->APB1ENR1 |= RCC_APB1ENR1_PWREN; RCC->APB1ENR2 |= RCC_APB1ENR2_LPUART1EN; PWR->CR2 |= PWR_CR2_IOSV;
      RCC->AHB2ENR |= RCC_AHB2ENR_GPIOGEN; WORD(0x40021048) |= 6;
      GPIOG->AFR[0] = 8u << 28; GPIOG->AFR[1] = 8; GPIOG->MODER = 2u << 14 | 2u << 16;
      WORD(0x4002081C) = 34; WORD(0x40020820) = 35;""",
    uart="LPUART1",
    divider=8889,
    baud=115200,
    is_stream=False,
    receive=(0x40020408, 0x40020400, 0),
    send=(0x4002041C, 0x40020400, 4),
    receive_vector=16 + 56,
)
F4 = Family(
    board="nucleo_f401re",
    begin="""RCC->AHB1ENR |= 1 | 1u << 21; RCC->APB1ENR |= RCC_APB1ENR_USART2EN;
      GPIOA->AFR[0] = 0x7700; GPIOA->MODER = 2u << 4 | 2u << 6;""",
    uart="USART2",
    divider=139,
    baud=BAUD,
    is_stream=True,
    receive=(0x40026088, 0x40026004, 6),
    send=(0x400260A0, 0x40026004, 16),
    receive_select=4 << 25,
    receive_vector=16 + 16,
)
H7 = Family(
    board="nucleo_h743zi",
    begin="""RCC->AHB4ENR |= 8; RCC->APB1LENR |= RCC_APB1LENR_USART3EN; WORD(0x580244D8) |= 1;
      GPIOD->AFR[1] = 0x77; GPIOD->MODER = 2u << 16 | 2u << 18; WORD(0x40020800) = 45; WORD(0x40020804) = 46;""",
    uart="USART3",
    divider=556,
    baud=64_000_000 // 556,
    is_stream=True,
    receive=(0x40020010, 0x40020000, 0),
    send=(0x40020028, 0x40020000, 6),
    receive_select=1 << 20,
    receive_vector=16 + 11,
    ram=0x24000000,
)
F7 = Family(
    board="nucleo_f746zg",
    begin="""RCC->AHB1ENR |= 8 | 1u << 21; RCC->APB1ENR |= RCC_APB1ENR_USART3EN;
      GPIOD->AFR[1] = 0x77; GPIOD->MODER = 2u << 16 | 2u << 18;""",
    uart="USART3",
    divider=139,
    baud=BAUD,
    is_stream=True,
    receive=(0x40026028, 0x40026000, 6),
    send=(0x40026058, 0x40026000, 22),
    receive_select=4 << 25,
    receive_vector=16 + 12,
)
F3 = Family(
    board="nucleo_f303re",
    begin="""RCC->AHBENR |= 1 | 1u << 17; RCC->APB1ENR |= RCC_APB1ENR_USART2EN;
      GPIOA->AFR[0] = 0x7700; GPIOA->MODER = 2u << 4 | 2u << 6;""",
    uart="USART2",
    divider=69,
    baud=8_000_000 // 69,
    is_stream=False,
    receive=(0x4002006C, 0x40020000, 20),
    send=(0x40020080, 0x40020000, 24),
    receive_vector=16 + 16,
)
F1 = Family(
    board="nucleo_f103rb",
    begin="""RCC->AHBENR |= 1; RCC->APB2ENR |= 5; RCC->APB1ENR |= RCC_APB1ENR_USART2EN;
      GPIOA->BSRR = 8; GPIOA->CRL = 0x8B44;""",
    uart="USART2",
    divider=69,
    baud=8_000_000 // 69,
    is_stream=False,
    receive=(0x4002006C, 0x40020000, 20),
    send=(0x40020080, 0x40020000, 24),
    receive_vector=16 + 16,
)
FAMILIES = (G0, L4, L4_PLUS, F1, F3, F4, F7, H7)

# Bits of CCR: EN, TCIE, HTIE, DIR, CIRC, MINC; of SxCR: EN, HTIE, TCIE, DIR, CIRC, MINC.
CHANNEL = """
enum { ON = 1, TCIE = 2, HTIE = 4, SEND = 16, CIRC = 32, MINC = 128, HALF = 4, FULL = 2, ALL = 15, STREAM = 0 };
typedef struct { volatile uint32_t CR, NDTR, PAR, MAR; } channel_t;
"""
STREAM = """
enum { ON = 1, TCIE = 16, HTIE = 8, SEND = 64, CIRC = 256, MINC = 1024, HALF = 16, FULL = 32, ALL = 61, STREAM = 1 };
typedef struct { volatile uint32_t CR, NDTR, PAR, MAR, M1AR, FCR; } channel_t;
"""
COMMON = """
#include "device.h"
#define WORD(address) (*(volatile uint32_t *)(address))
{layout}
#define UART {uart}
#define RX ((channel_t *){rx}u)
#define TX ((channel_t *){tx}u)
#define RX_FLAGS (WORD({rx_flags}u) >> {rx_position})
#define TX_FLAGS (WORD({tx_flags}u) >> {tx_position})
#define CLEAR_RX(flags) (WORD({rx_flags}u + (STREAM ? 8 : 4)) = (uint32_t)(flags) << {rx_position})
#define CLEAR_TX(flags) (WORD({tx_flags}u + (STREAM ? 8 : 4)) = (uint32_t)(flags) << {tx_position})
#define SELECT {select}u
#define RAM ((volatile uint8_t *){ram}u)
#define OUT ((volatile uint32_t *)({ram}u + 0x200))
{data}
static inline void begin(void) {{
  {begin}
  UART->BRR = {divider};
  UART->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
  UART_CR3 = 1u << 6 | 1u << 7;
}}
static inline void receive(uint32_t count, uint32_t bits) {{
  RX->PAR = (uint32_t)&RECEIVED; RX->MAR = (uint32_t)RAM; RX->NDTR = count; RX->CR = SELECT | MINC | bits;
  RX->CR |= ON;
}}
static inline void send(uint32_t count) {{
  TX->PAR = (uint32_t)&SENT; TX->MAR = (uint32_t)RAM; TX->NDTR = count; TX->CR = SELECT | MINC | SEND;
  TX->CR |= ON;
}}
static inline void rest(void) {{ for (;;) __asm volatile("wfi"); }}
"""


def program(family: Family, body: str) -> str:
    one_register = "#define RECEIVED UART->DR\n#define SENT UART->DR\n#define UART_CR3 WORD((uint32_t)UART + 0x14)"
    two_registers = "#define RECEIVED UART->RDR\n#define SENT UART->TDR\n#define UART_CR3 WORD((uint32_t)UART + 8)"
    common = COMMON.format(
        layout=STREAM if family.is_stream else CHANNEL,
        uart=family.uart,
        rx=family.receive[0],
        rx_flags=family.receive[1],
        rx_position=family.receive[2],
        tx=family.send[0],
        tx_flags=family.send[1],
        tx_position=family.send[2],
        select=family.receive_select,
        ram=family.ram,
        data=one_register if family in (F1, F4) else two_registers,
        begin=family.begin,
        divider=family.divider,
    )
    return common + body


def start(folder: Path, family: Family, body: str, handlers: dict[int, str] | None = None) -> VirtualRig:
    board = load_board(family.board)
    rig = VirtualRig(
        [VirtualBoard(board, build(folder, board, program(family, body), handlers))], has_ideal_memory=True
    )
    rig.set_baud(0, family.baud)
    return rig


def outs(family: Family, rig: VirtualRig, count: int) -> list[int]:
    return [rig.read_word(0, family.ram + 0x200 + 4 * index) for index in range(count)]


def each_family(function: object) -> object:
    return pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.board)(function)


RING = """void reset(void) {
  begin(); receive(8, CIRC);
  while (RX->NDTR != 8 - 3) {}
  OUT[0] = RX_FLAGS & ALL;
  while (!(RX_FLAGS & HALF)) {}
  OUT[1] = RX->NDTR;
  while (!(RX_FLAGS & FULL)) {}
  OUT[2] = RX->NDTR;
  CLEAR_RX(HALF | FULL);
  OUT[3] = RX_FLAGS & ALL;
  while (RX->NDTR != 8 - 2) {}
  OUT[4] = RX_FLAGS & ALL;
  rest();
}"""


@each_family
def test_a_ring_fills_counts_down_and_begins_anew(tmp_path: Path, family: Family) -> None:
    rig = start(tmp_path, family, RING)
    rig.run_until(MS_PS)
    rig.write(0, bytes(range(1, 11)))
    rig.run_until(3 * MS_PS)
    assert outs(family, rig, 5) == [0, 4, 8, 0, 0]
    ring = rig.read_word(0, family.ram), rig.read_word(0, family.ram + 4)
    assert ring == (0x04030A09, 0x08070605)


@each_family
def test_a_chunk_goes_out_without_gaps_and_ends_with_the_flags(tmp_path: Path, family: Family) -> None:
    body = """void reset(void) {
      begin();
      for (int i = 0; i < 20; i++) RAM[i] = (uint8_t)(i + 1);
      send(20);
      while (!(TX_FLAGS & FULL)) {}
      OUT[0] = TX->NDTR; OUT[1] = TX->CR & 1;
      CLEAR_TX(ALL);
      OUT[2] = TX_FLAGS & ALL;
      rest();
    }"""
    rig = start(tmp_path, family, body)
    port = rig.host_port(0)
    assert rig.run_until(10 * MS_PS, lambda: len(port.received) == 1)
    first_ps = rig.time_ps
    assert rig.run_until(10 * MS_PS, lambda: len(port.received) == 20)
    assert rig.time_ps - first_ps == pytest.approx(19 * 10 * 10**12 / family.baud, rel=0.002)
    assert port.read(30) == bytes(range(1, 21))
    # A stream switches itself off, a channel stays on.
    assert outs(family, rig, 3) == [0, 0 if family.is_stream else 1, 0]


@each_family
def test_half_and_end_interrupt_sleep(tmp_path: Path, family: Family) -> None:
    position = family.receive_vector - 16
    body = f"""void handler(void) {{
      OUT[0] = OUT[0] << 8 | (RX_FLAGS & (HALF | FULL));
      CLEAR_RX(HALF | FULL);
    }}
    void reset(void) {{
      OUT[0] = 0;
      begin(); receive(6, CIRC | HTIE | TCIE);
      WORD(0xE000E100 + 4 * {position // 32}) = 1u << {position % 32};
      rest();
    }}"""
    rig = start(tmp_path, family, body, {family.receive_vector: "handler"})
    rig.run_until(MS_PS)
    rig.write(0, bytes(9))
    rig.run_until(3 * MS_PS)
    half, full = (0x10, 0x20) if family.is_stream else (4, 2)
    assert outs(family, rig, 1) == [half << 16 | full << 8 | half]


@each_family
def test_without_request_or_channel_nothing_is_transferred(tmp_path: Path, family: Family) -> None:
    for index, spoilt in enumerate(("UART_CR3 = 1u << 7", "RX->CR = 0")):
        body = f"void reset(void) {{ RAM[0] = 7; begin(); receive(8, CIRC); {spoilt}; rest(); }}"
        rig = start(tmp_path / str(index), family, body)
        rig.run_until(MS_PS)
        rig.write(0, b"\x55\x66")
        rig.run_until(2 * MS_PS)
        assert rig.read_word(0, family.ram) & 0xFF == 7


def test_a_stream_that_software_ends_is_on_for_some_cycles_and_flags_its_end(tmp_path: Path) -> None:
    body = """void reset(void) {
      begin(); receive(8, 0);
      while (RX->NDTR != 5) {}
      RX->CR &= ~1u;
      uint32_t at_once = RX->CR & 1;
      while (RX->CR & 1) {}
      OUT[0] = at_once; OUT[1] = RX->NDTR; OUT[2] = RX_FLAGS & (HALF | FULL);
      rest();
    }"""
    rig = start(tmp_path, F4, body)
    rig.run_until(MS_PS)
    rig.write(0, bytes(5))
    rig.run_until(3 * MS_PS)
    assert outs(F4, rig, 3) == [1, 5, 0x20]


REFUSED = [
    (G0, "begin(); receive(8, CIRC); RX->MAR = 0;", "DMA1 channel 1 is written while EN is set"),
    (F4, "begin(); receive(8, CIRC); RX->NDTR = 4;", "DMA1 stream 5 is written while EN is set"),
    (G0, "begin(); receive(8, CIRC); RX->CR |= SEND;", "CCR of DMA1 channel 1 is changed while EN is set"),
    (G0, "begin(); RX->NDTR = 8; RX->CR = MINC | 1 << 8 | ON;", "only bytes and half-words with MINC are modelled"),
    (F4, "begin(); RX->FCR = 4;", "only direct mode is modelled"),
    (F4, "begin(); receive(0, 0);", "DMA1 stream 5 is enabled with NDTR = 0"),
    (H7, "begin(); RX->PAR = (uint32_t)&UART->RDR; RX->MAR = 0x24000000; RX->NDTR = 1; RX->CR = MINC | ON;", "TRBUFF"),
    (
        H7,
        "begin(); RX->PAR = (uint32_t)&UART->RDR; RX->MAR = 0x20000000; RX->NDTR = 1; RX->CR = SELECT | MINC | ON;",
        "DMA1 stream 0 cannot reach 0x20000000: DMA1 has no bus to dtcm",
    ),
    (G0, "begin(); receive(36 * 1024 + 1, 0);", "36865 bytes at 0x20000000 are not in one memory"),
    (
        G0,
        "begin(); RX->PAR = (uint32_t)&UART->RDR; RX->MAR = 0x08000000; RX->NDTR = 1; RX->CR = MINC | ON;",
        "DMA1 channel 1 writes to 0x08000000, which is flash",
    ),
    (
        G0,
        "begin(); WORD(0x40020800) = 50; receive(8, CIRC);",
        "DMA1 channel 1 serves USART1_RX with the peripheral address 0x40004424, which should be 0x40013824",
    ),
    (
        G0,
        "begin(); WORD(0x40020804) = 52; receive(8, 0); TX->PAR = RX->PAR; TX->MAR = RX->MAR; TX->CR = MINC | ON;",
        "DMA1 channel 1 and DMA1 channel 2 both serve USART2_RX",
    ),
    (G0, "begin(); WORD(0x40020800) = 5; receive(8, 0);", "the request 5 of DMA1 is not modelled"),
]


@pytest.mark.parametrize(("family", "statements", "expected"), REFUSED, ids=lambda value: str(value)[:60])
def test_a_wrong_use_stops_the_board(tmp_path: Path, family: Family, statements: str, expected: str) -> None:
    with pytest.raises(BoardStoppedError, match=expected):
        start(tmp_path, family, f"void reset(void) {{ {statements} rest(); }}").run_until(MS_PS)


def test_a_transfer_costs_the_m0plus_one_cycle_a_byte(tmp_path: Path) -> None:
    body = """void reset(void) {
      begin(); receive(64, CIRC); UART_CR3 = %s;
      RCC->APBENR1 |= 1; TIM2->ARR = 0xFFFFFFFF; TIM2->EGR = 1; TIM2->CR1 = 1;
      uint32_t first = TIM2->CNT;
      for (volatile uint32_t i = 0; i < 4000; i++) {}
      OUT[0] = TIM2->CNT - first;
      rest();
    }"""
    spent = []
    for index, requests in enumerate(("1u << 6", "1u << 7")):
        rig = start(tmp_path / str(index), G0, body % requests)
        rig.run_until(MS_PS // 10)  # a byte that begins before the UART is on is lost
        rig.write(0, bytes(20))
        rig.run_until(20 * MS_PS)
        spent.append(outs(G0, rig, 1)[0])
    assert spent[0] == spent[1] + 20


DCIMVAC, DCCMVAC, CCR = "WORD(0xE000EF5C)", "WORD(0xE000EF68)", "WORD(0xE000ED14)"


@pytest.mark.parametrize("maintains", [True, False])
def test_dma_of_the_h7_and_the_core_see_each_other_through_the_data_cache(tmp_path: Path, *, maintains: bool) -> None:
    clean, invalidate = (f"{register} = (uint32_t)RAM;" if maintains else "" for register in (DCCMVAC, DCIMVAC))
    body = f"""void reset(void) {{
      RAM[0] = 1;
      begin(); {CCR} |= 1u << 16;
      RAM[0] = 2; {clean}
      send(1);
      while (!(TX_FLAGS & FULL)) {{}}
      receive(1, 0);
      while (!(RX_FLAGS & FULL)) {{}}
      {invalidate}
      OUT[0] = RAM[0];
      rest();
    }}"""
    rig = start(tmp_path, H7, body)
    rig.run_until(MS_PS)
    rig.write(0, b"\x03")
    rig.run_until(2 * MS_PS)
    assert rig.host_port(0).read(2) == (b"\x02" if maintains else b"\x01")
    assert outs(H7, rig, 1) == [3 if maintains else 2]


@pytest.mark.parametrize("family", [F4, G0], ids=lambda family: family.board)
def test_other_cores_have_no_data_cache(tmp_path: Path, family: Family) -> None:
    body = f"void reset(void) {{ begin(); {CCR} |= 1u << 16; RAM[0] = 2; send(1); rest(); }}"
    rig = start(tmp_path, family, body)
    rig.run_until(MS_PS)
    assert rig.host_port(0).read(2) == b"\x02"
