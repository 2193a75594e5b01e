/* The image of a board report (docs/do/contributing_a_board.md): a program whose only layer reads registers or counts the
 * cycles of a piece of code. Requests come as the network's input, answers leave as its output.
 */
#include "report.h"

#include <string.h>

#include "board.h"
#include "clock_source.h"
#include "cycle_counter.h"
#include "interrupts.h"
#include "network.h"
#include "ticker.h"
#include "watchdog.h"

enum { WORDS = 16 };

/* What is asked. */
enum {
  READ_WORDS,     /* at the addresses in `words` */
  RUN_PIECE,      /* number `piece`, with each memory setting in `words` */
  WAKE_UP,        /* from the interrupt of SysTick to the instruction behind WFI */
  SEND_BYTES,     /* of a UART */
  READ_TIME,      /* milliseconds, and cycles of the core beyond them */
  RUN_BEFORE_DMA, /* like RUN_PIECE, then DMA sends bytes by a UART */
  RUN_BESIDE_DMA, /* like RUN_PIECE, while DMA sends as many */
  COUNT_EVENTS    /* like RUN_PIECE, but CPI, LSU and FOLD of the DWT, in a byte each, modulo 256 */
};

typedef struct {
  uint32_t what;
  uint32_t piece;
  uint32_t loops;
  uint32_t count; /* of words */
  uint32_t words[WORDS];
} request_t;

typedef struct {
  uint32_t words[WORDS]; /* what was read, or cycles or events of all loops */
} answer_t;

uint8_t network_arena[sizeof(request_t) + sizeof(answer_t)] __attribute__((section(".arena"), aligned(32)));
const network_tensor_t network_input = {.offset = 0, .stage = 0, .bytes = sizeof(request_t)};
const network_tensor_t network_output = {
    .offset = sizeof(request_t), .stage = sizeof(request_t), .bytes = sizeof(answer_t)};
const uint16_t network_watchdog_ms = 4000;
const bool network_has_long_layers = true; /* keeps the ticker on */

#define FLASH_START 0x08000000u
#define NEAR_WORDS 64u
#define WAKE_PERIOD 1000u
#define NVIC_WORDS 8u

static uint32_t near[NEAR_WORDS] __attribute__((aligned(32)));

/* A memory setting: wait states, prefetch and caches, at the bits that FLASH_ACR of G0, F4 and L4 has for them. */
#define LATENCY 0x00Fu
#define CODE_CACHE 0x200u
#define DATA_CACHE 0x400u

#if __CORTEX_M == 7
#define ACR_MASK LATENCY

static uint32_t memory_setting(void) {
  uint32_t control = SCB->CCR;
  return (FLASH->ACR & LATENCY) | (control & SCB_CCR_IC_Msk ? CODE_CACHE : 0) |
         (control & SCB_CCR_DC_Msk ? DATA_CACHE : 0);
}

static void switch_caches(uint32_t setting) {
  uint32_t changed = setting ^ memory_setting();
  if (changed & CODE_CACHE) {
    if (setting & CODE_CACHE) {
      SCB_EnableICache();
    } else {
      SCB_DisableICache();
    }
  }
  if (changed & DATA_CACHE) {
    if (setting & DATA_CACHE) {
      SCB_EnableDCache();
    } else {
      SCB_DisableDCache();
    }
  }
}
#elif defined(ICACHE)
#define ACR_MASK LATENCY

static uint32_t memory_setting(void) {
  return (FLASH->ACR & LATENCY) | (ICACHE->CR & ICACHE_CR_EN ? CODE_CACHE : 0);
}

static void switch_caches(uint32_t setting) {
  ICACHE->CR = (ICACHE->CR & ~ICACHE_CR_EN) | (setting & CODE_CACHE ? ICACHE_CR_EN : 0);
}
#else
#ifdef FLASH_ACR_PRFTBE
#define ACR_MASK (FLASH_ACR_LATENCY | FLASH_ACR_PRFTBE)
#else
#define ACR_MASK 0x70Fu
#endif

static uint32_t memory_setting(void) { return FLASH->ACR & ACR_MASK; }

static void switch_caches(uint32_t setting) { (void)setting; /* bits of FLASH_ACR */ }
#endif

static void wait_until_sent(const uart_t *uart) {
  while (!(uart_status(uart->registers) & UART_SENT)) {
  }
}

/* The divider of the core's clock: by 16, it needs no wait state. From and to more than 80 MHz it is 2 for a microsecond
 * (RM0432, RM0440). Not for WB and WL, whose flash belongs to two cores, and F0, F1 and F3, whose wait states follow the
 * clock before it.
 */
#if defined(RCC_D1CFGR_D1CPRE_Pos)
#define DIVIDER RCC->D1CFGR
#define DIVIDER_POS RCC_D1CFGR_D1CPRE_Pos
#elif defined(RCC_CFGR2_HPRE_Pos)
#define DIVIDER RCC->CFGR2
#define DIVIDER_POS RCC_CFGR2_HPRE_Pos
#else
#define DIVIDER RCC->CFGR
#define DIVIDER_POS RCC_CFGR_HPRE_Pos
#endif
#define SWITCH_READS 500u /* longer than a microsecond, and than 16 cycles of the bus (RM0368, RCC_CFGR) */

static void set_divider(uint32_t value) {
  DIVIDER = value;
  for (uint32_t i = 0; i < SWITCH_READS; i++) (void)DIVIDER;
}

static uint32_t divided_by(uint32_t before, uint32_t divider) {
  return (before & ~(15u << DIVIDER_POS)) | clock_ahb_field(divider) << DIVIDER_POS;
}

/* What the UART of the host still has leaves first; what comes meanwhile is lost, and asked for again. */
static uint32_t divide_clock(void) {
  wait_until_sent(&board_host_uart.uart);
  uint32_t before = DIVIDER;
  set_divider(divided_by(before, 2u));
  set_divider(divided_by(before, 16u));
  return before;
}

static void restore_clock(uint32_t before) {
  set_divider(divided_by(before, 2u));
  DIVIDER = before;
}

static void set_memory(uint32_t setting) {
  FLASH->ACR = (FLASH->ACR & ~ACR_MASK) | (setting & ACR_MASK);
  while ((FLASH->ACR & ACR_MASK) != (setting & ACR_MASK)) {
  }
  switch_caches(setting);
  __DSB();
  __ISB();
}

/* Disables all interrupts but that of the pieces, some of which let interrupts in: the host goes on sending. */
static void disable_others(uint32_t enabled[]) {
  ticker_stop();
  for (uint32_t i = 0; i < NVIC_WORDS; i++) {
    enabled[i] = NVIC->ISER[i];
    NVIC->ICER[i] = enabled[i];
  }
  NVIC_EnableIRQ((IRQn_Type)report_interrupt);
}

static void enable_again(const uint32_t enabled[]) {
  for (uint32_t i = 0; i < NVIC_WORDS; i++) NVIC->ISER[i] = enabled[i];
  ticker_start();
}

static uint32_t cycles_of(report_piece_t piece, uint32_t loops) {
  uint32_t start = cycle_counter_low();
  piece(near, report_other, (const void *)FLASH_START, loops);
  return cycle_counter_low() - start;
}

static void begin_uart(uint32_t baud) {
  report_begin_uart();
  report_uart.baud = baud;
  uart_begin(&report_uart, report_uart.clock_hz, 0, 0);
}

/* With `requests` (USART_CR3_DMAT) DMA sends within the piece, which takes longer than the bytes, else behind it. */
static uint32_t cycles_with_dma(report_piece_t piece, uint32_t loops, uint32_t requests) {
  begin_uart(report_dma_baud);
  uint32_t to = uart_send_address(report_uart.registers);
  dma_send(&report_dma, to, (const uint8_t *)report_other, report_dma_bytes);
  uint32_t start = cycle_counter_low();
  report_uart.registers->CR3 |= requests;
  piece(near, report_other, (const void *)FLASH_START, loops);
  uint32_t cycles = cycle_counter_low() - start;
  report_uart.registers->CR3 |= USART_CR3_DMAT;
  while (!dma_take_complete(&report_dma)) {
  }
  wait_until_sent(&report_uart);
  report_uart.registers->CR1 = 0;
  return cycles;
}

#ifdef DWT
#define EVENTS (DWT_CTRL_CPIEVTENA_Msk | DWT_CTRL_LSUEVTENA_Msk | DWT_CTRL_FOLDEVTENA_Msk)
#define COUNT 0xFFu

/* The counters begin at 0 when they are enabled (Arm DDI 0403, C1.8: CPI Count register). */
static uint32_t events_of(report_piece_t piece, uint32_t loops) {
  DWT->CTRL &= ~EVENTS;
  DWT->CTRL |= EVENTS;
  piece(near, report_other, (const void *)FLASH_START, loops);
  return (DWT->CPICNT & COUNT) | (DWT->LSUCNT & COUNT) << 8 | (DWT->FOLDCNT & COUNT) << 16;
}
#else
static uint32_t events_of(report_piece_t piece, uint32_t loops) {
  (void)piece;
  (void)loops;
  return 0;
}
#endif

static uint32_t answer_of(report_piece_t piece, const request_t *request) {
  switch (request->what) {
    case RUN_BEFORE_DMA: return cycles_with_dma(piece, request->loops, 0);
    case RUN_BESIDE_DMA: return cycles_with_dma(piece, request->loops, USART_CR3_DMAT);
    case COUNT_EVENTS: return events_of(piece, request->loops);
    default: return cycles_of(piece, request->loops);
  }
}

/* The second of two runs counts. The pieces follow pointers at the beginning of both memories, which lead to themselves. */
static uint32_t measure(const request_t *request, uint32_t setting) {
  if (request->piece >= report_piece_count) return 0;
  report_piece_t piece = report_pieces[request->piece];
  uint32_t before = memory_setting();
  bool is_slow = (setting & LATENCY) < (before & LATENCY);
  uint32_t divider = is_slow ? divide_clock() : 0;
  set_memory(setting);
  near[0] = (uint32_t)(uintptr_t)near;
  report_other[0] = (uint32_t)(uintptr_t)report_other;
  uint32_t enabled[NVIC_WORDS];
  disable_others(enabled);
  (void)answer_of(piece, request);
  uint32_t found = answer_of(piece, request);
  enable_again(enabled);
  set_memory(before);
  if (is_slow) restore_clock(divider);
  return found;
}

/* SysTick goes on while the core sleeps; the first interrupt may be that of the ticker. */
static uint32_t wake_up(uint32_t loops) {
  uint32_t cycles = 0;
  ticker_stop();
  for (uint32_t i = 0; i <= loops; i++) {
    SCB->ICSR = SCB_ICSR_PENDSTCLR_Msk;
    SysTick->LOAD = WAKE_PERIOD - 1u;
    SysTick->VAL = 0;
    SysTick->CTRL = SysTick_CTRL_CLKSOURCE_Msk | SysTick_CTRL_TICKINT_Msk | SysTick_CTRL_ENABLE_Msk;
    __DSB();
    __WFI();
    uint32_t left = SysTick->VAL;
    SysTick->CTRL = 0;
    if (i && left) cycles += WAKE_PERIOD - left;
  }
  ticker_start();
  return cycles;
}

static uint32_t send_bytes(uint32_t loops) {
  begin_uart(report_baud);
  wait_until_sent(&report_uart);
  uint32_t start = cycle_counter_low();
  for (uint32_t i = 0; i < loops; i++) {
    uart_put(report_uart.registers, 0);
    wait_until_sent(&report_uart);
  }
  uint32_t cycles = cycle_counter_low() - start;
  report_uart.registers->CR1 = 0;
  return cycles;
}

/* Its interrupt follows each of its reloads at once. */
static void take_time(uint32_t time[]) {
  ticker_start();
  do {
    time[0] = ticker_ms;
    time[1] = SysTick->LOAD - SysTick->VAL;
  } while (time[0] != ticker_ms);
}

static uint32_t answer_to(const request_t *request, uint32_t word) {
  switch (request->what) {
    case READ_WORDS: return *(volatile uint32_t *)(uintptr_t)word;
    case RUN_PIECE:
    case RUN_BEFORE_DMA:
    case RUN_BESIDE_DMA:
    case COUNT_EVENTS: return measure(request, word);
    case WAKE_UP: return wake_up(request->loops);
    case SEND_BYTES: return send_bytes(request->loops);
    default: return 0;
  }
}

/* Pieces lie in RAM, too, where the MPU allows no code. */
static void begin_pieces(void) {
#ifdef MPU_TYPE_DREGION_Msk /* not in ST's headers of devices without one */
  MPU->CTRL = 0;
#endif
  __DSB();
  __ISB();
#ifdef RCC_APBENR1_DBGEN
  RCC->APBENR1 |= RCC_APBENR1_DBGEN; /* of DBGMCU */
#endif
#ifdef RCC_APB2ENR_DBGMCUEN
  RCC->APB2ENR |= RCC_APB2ENR_DBGMCUEN;
#endif
}

static void answer(void) {
  static request_t request;
  static answer_t found;
  memcpy(&request, network_arena, sizeof request);
  begin_pieces();
  if (request.what == READ_TIME) take_time(found.words);
  for (uint32_t i = 0; request.what != READ_TIME && i < request.count && i < WORDS; i++) {
    watchdog_refresh();
    uint32_t lock = interrupts_lock();
    found.words[i] = answer_to(&request, request.words[i]);
    interrupts_unlock(lock);
  }
  memcpy(network_arena + network_output.offset, &found, sizeof found);
}

void network_begin_run(void) {}
const network_step_t network_steps[] = {
    {.kind = NETWORK_INPUT},
    {.kind = NETWORK_RUN, .index = 1, .what.run = answer},
    {.kind = NETWORK_OUTPUT},
};
const uint16_t network_step_count = sizeof network_steps / sizeof network_steps[0];
network_time_t network_times[sizeof network_steps / sizeof network_steps[0]];
uint32_t network_ended[sizeof network_steps / sizeof network_steps[0]];
uint32_t network_link_ticks[sizeof network_steps / sizeof network_steps[0]];
