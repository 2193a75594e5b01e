/* The wiring test (docs/do/wiring.md): its only layer sends frames on all links at once, and counts those that
 * arrive. It stands in place of transfers.c and a network, and wiring_frames.c in place of link.c; everything else,
 * drivers of the links included, is what every project has. Requests come as the network's input, counts leave as its
 * output.
 */
#include <string.h>

#include "board.h"
#include "clock.h"
#include "interrupts.h"
#include "link_ports.h"
#include "network.h"
#include "run.h"
#include "ticker.h"
#include "transfers.h"
#include "watchdog.h"
#include "wiring.h"
#include "wiring_frames.h"

/* First the baud rates are set on all boards, by a request without frames, which clears the counts, too. */
typedef struct {
  uint32_t frames;      /* to send on each link, and to wait for */
  uint32_t frame_bytes; /* payload of a frame */
  uint32_t wait_ms;     /* at most */
  uint32_t bauds[WIRING_MOST_LINKS]; /* 0: nothing is sent, nothing waited for */
  uint32_t at_tx;       /* bits of the links that listen on their TX pin, and send nothing */
  uint32_t keeps_time;  /* the time goes on until a request without it */
} request_t;

typedef struct {
  uint32_t time_ms;     /* when the request was obeyed */
  uint32_t time_cycles; /* of the core, beyond time_ms */
  wiring_count_t counts[WIRING_MOST_LINKS];
} report_t;

uint8_t network_arena[sizeof(request_t) + sizeof(report_t)] __attribute__((section(".arena"), aligned(4)));
const network_tensor_t network_input = {.offset = 0, .stage = 0, .bytes = sizeof(request_t)};
const network_tensor_t network_output = {
    .offset = sizeof(request_t), .stage = sizeof(request_t), .bytes = sizeof(report_t)};
const uint16_t network_watchdog_ms = 2000;
const bool network_has_long_layers = false;

static request_t request;
static volatile bool is_testing;
static uint32_t listening_at_tx; /* bits of links */

/* What other modules ask of the links */

void transfers_begin(void) {
  wiring_frames_begin();
  for (uint32_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    link_parser_reset(&board_links[i].parser);
    link_writer_reset(&board_links[i].writer);
    board_links[i].parser.seed = network_project_hash;
    uart_link_begin(&board_link_uarts[i], uart_link_clock_hz(&board_link_uarts[i]), &board_links[i]);
    interrupts_unlock(lock);
  }
}

void transfers_join(uint32_t run) { (void)run; }

void transfers_leave(void) {}

void transfers_interrupt(uint32_t link) { uart_link_interrupt(&board_link_uarts[link]); }

bool transfers_are_busy(void) { return is_testing || request.keeps_time; }

uint32_t transfers_stamps(const void **stamps) {
  *stamps = NULL;
  return 0;
}

void transfers_tick(void) { (void)transfers_poll(); }

bool transfers_poll(void) {
  for (uint32_t i = 0; i < board_link_count; i++) uart_link_poll(&board_link_uarts[i]);
  return !uart_link_is_polled(&board_link_uarts[0]);
}

RUN_TASK task = transfers_poll;

uint32_t transfers_repeats(void) { return 0; }

/* The test */

/* In half-duplex mode a UART listens on its TX pin, which it releases as long as it sends nothing; the manuals ask for
 * an open drain (RM0444, RM0394, RM0432, RM0433, RM0468, RM0368 and RM0390, section Single-wire half-duplex
 * communication).
 */
static void listen_at(uint32_t index, bool is_at_tx) {
  USART_TypeDef *uart = board_link_uarts[index].uart.registers;
  const wiring_pin_t *tx = &wiring_tx_pins[index];
  uint32_t control_1 = uart->CR1;
  uart->CR1 = control_1 & ~USART_CR1_UE;
  if (is_at_tx) {
    board_open_drain(tx->port, tx->number, true);
    uart->CR3 |= USART_CR3_HDSEL;
  } else {
    uart->CR3 &= ~USART_CR3_HDSEL;
    board_open_drain(tx->port, tx->number, false);
  }
  uart->CR1 = control_1;
}

static void begin_round(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    uart_link_t *port = &board_link_uarts[i];
    uint32_t lock = interrupts_lock();
    if ((listening_at_tx ^ request.at_tx) >> i & 1u) listen_at(i, request.at_tx >> i & 1u);
    if (request.bauds[i]) uart_set_baud(&port->uart, uart_link_clock_hz(port), request.bauds[i]);
    port->uart.line_errors = 0;
    link_parser_reset(&board_links[i].parser);
    wiring_counts[i] = (wiring_count_t){0};
    interrupts_unlock(lock);
  }
  listening_at_tx = request.at_tx;
}

static bool is_complete(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    if (request.bauds[i] == 0) continue;
    if (wiring_frames_left[i] || *(volatile uint32_t *)&wiring_counts[i].good < request.frames) return false;
  }
  return true;
}

/* Sleeps where it need not poll. An interrupt that comes right before WFI is seen a millisecond later. */
static void wait_for_frames(void) {
  uint32_t start_ms = ticker_ms;
  while (!run_has_ended() && !is_complete() && ticker_ms - start_ms < request.wait_ms) {
    watchdog_refresh();
    if (!transfers_poll()) continue;
    __DSB();
    __WFI();
  }
}

static void exchange_frames(void) {
  is_testing = true;
  ticker_start();
  for (uint32_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    bool is_sending = request.bauds[i] && !(request.at_tx >> i & 1u);
    wiring_frames_left[i] = is_sending ? request.frames : 0;
    uart_link_wake(&board_link_uarts[i]);
    interrupts_unlock(lock);
  }
  wait_for_frames();
  is_testing = false;
}

/* SysTick counts down, and goes on while the core sleeps. Its interrupt follows each of its reloads at once. */
static void take_time(report_t *report) {
  ticker_start();
  do {
    report->time_ms = ticker_ms;
    report->time_cycles = SysTick->LOAD - SysTick->VAL;
  } while (report->time_ms != ticker_ms);
}

static void test(void) {
  static report_t report;
  memcpy(&request, network_arena, sizeof request);
  take_time(&report);
  wiring_frame_bytes = request.frame_bytes < LINK_MAX_PAYLOAD ? request.frame_bytes : LINK_MAX_PAYLOAD;
  if (request.frames) {
    exchange_frames();
  } else {
    begin_round();
  }
  for (uint32_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    report.counts[i] = wiring_counts[i];
    report.counts[i].line_errors = board_link_uarts[i].uart.line_errors;
    interrupts_unlock(lock);
  }
  memcpy(network_arena + network_output.offset, &report, sizeof report);
}

void network_begin_run(void) {}
const network_step_t network_steps[] = {
    {.kind = NETWORK_INPUT},
    {.kind = NETWORK_RUN, .index = 1, .what.run = test},
    {.kind = NETWORK_OUTPUT},
};
const uint16_t network_step_count = sizeof network_steps / sizeof network_steps[0];
network_time_t network_times[sizeof network_steps / sizeof network_steps[0]];
uint32_t network_ended[sizeof network_steps / sizeof network_steps[0]];
uint32_t network_link_ticks[sizeof network_steps / sizeof network_steps[0]];
