/* The wiring test (docs/wiring.md): a program whose only layer sends frames on all links at once, and counts those that
 * arrive. It stands in place of transfers.c, link.c and a network; everything else, drivers of the links included, is
 * what every project has. Requests come as the network's input, counts leave as its output.
 */
#include <string.h>

#include "clock.h"
#include "interrupts.h"
#include "link_ports.h"
#include "link_wire.h"
#include "network.h"
#include "run.h"
#include "ticker.h"
#include "transfers.h"
#include "watchdog.h"
#include "wiring.h"

enum { MOST_LINKS = 4, ADDRESS_MASK = 15 };

/* First the baud rates are set on all boards, by a request without frames, which clears the counts, too. */
typedef struct {
  uint32_t frames;      /* to send on each link, and to wait for */
  uint32_t frame_bytes; /* payload of a frame */
  uint32_t wait_ms;     /* at most */
  uint32_t bauds[MOST_LINKS]; /* 0: nothing is sent, nothing waited for */
  uint32_t at_tx;       /* bits of the links that listen on their TX pin, and send nothing */
  uint32_t keeps_time;  /* the time goes on until a request without it */
} request_t;

typedef struct {
  uint32_t good; /* frames */
  uint32_t damaged;
  uint32_t line_errors;
  uint32_t bit_errors; /* in the payloads of damaged frames */
  uint8_t board; /* index of the sender of the last good frame */
  uint8_t link;  /* and of its link */
  uint8_t unused[2];
} count_t;

typedef struct {
  uint32_t time_ms;     /* when the request was obeyed */
  uint32_t time_cycles; /* of the core, beyond time_ms */
  count_t counts[MOST_LINKS];
} report_t;

uint8_t network_arena[sizeof(request_t) + sizeof(report_t)] __attribute__((section(".arena"), aligned(4)));
const network_tensor_t network_input = {.offset = 0, .stage = 0, .bytes = sizeof(request_t)};
const network_tensor_t network_output = {
    .offset = sizeof(request_t), .stage = sizeof(request_t), .bytes = sizeof(report_t)};
const uint16_t network_watchdog_ms = 2000;
const bool network_has_long_layers = false;

static request_t request;
static count_t counts[MOST_LINKS]; /* by the interrupts of the links */
static volatile uint32_t frames_left[MOST_LINKS];
static volatile bool is_testing;
static uint32_t listening_at_tx; /* bits of links */
static uint32_t pattern[LINK_MAX_PAYLOAD / sizeof(uint32_t)];
static uint32_t arrived[MOST_LINKS][LINK_MAX_PAYLOAD / sizeof(uint32_t)];

static uint32_t index_of(const link_t *link) { return (uint32_t)(link - board_links); }

/* Frames, as link.c sends and receives them */

static bool begin_frame(link_t *link) {
  uint32_t index = index_of(link);
  if (frames_left[index] == 0) return false;
  link_header_t header = {.type = LINK_DATA,
                          .addresses = network_board_index,
                          .channel = (uint8_t)index,
                          .number = (uint8_t)frames_left[index],
                          .length = (uint16_t)request.frame_bytes};
  frames_left[index]--;
  link_write_data(&link->writer, &header, network_project_hash, (const uint8_t *)pattern);
  return true;
}

uint32_t link_fill(link_t *link, uint8_t *bytes, uint32_t room) {
  uint32_t filled = 0;
  while (filled < room && (!link_writer_is_idle(&link->writer) || begin_frame(link))) {
    link_written_t what;
    filled += link_write(&link->writer, bytes + filled, room - filled, &what);
    if (what == LINK_WRITTEN_DATA) link_writer_close(&link->writer, 0);
  }
  return filled;
}

/* Frames are checked as they arrive. */
bool link_work(link_t *link) {
  (void)link;
  return false;
}

static void take_header(link_t *link) {
  link_parser_t *parser = &link->parser;
  uint32_t bytes = parser->header.length;
  if (parser->header.type == LINK_DATA && bytes > 0 && bytes <= sizeof pattern) {
    link_parser_data(parser);
    link_parser_segment(parser, (uint8_t *)arrived[index_of(link)], bytes);
  } else {
    link_parser_reject(parser);
  }
}

static void count_good(const link_t *link) {
  count_t *count = &counts[index_of(link)];
  count->good++;
  count->board = link->parser.header.addresses & ADDRESS_MASK;
  count->link = link->parser.header.channel;
}

static void count_damaged(const link_t *link) {
  count_t *count = &counts[index_of(link)];
  const uint32_t *words = arrived[index_of(link)];
  count->damaged++;
  for (uint32_t i = 0; i < request.frame_bytes / sizeof(uint32_t); i++) {
    for (uint32_t bits = words[i] ^ pattern[i]; bits; bits &= bits - 1u) count->bit_errors++;
  }
}

void link_receive_bytes(link_t *link, const uint8_t *bytes, uint32_t count) {
  while (count) {
    link_parsed_t what;
    uint32_t taken = link_parse(&link->parser, bytes, count, &what);
    bytes += taken;
    count -= taken;
    if (what == LINK_PARSED_HEADER) take_header(link);
    if (what == LINK_PARSED_GOOD) count_good(link);
    if (what == LINK_PARSED_DAMAGED) count_damaged(link);
  }
}

/* What other modules ask of the links */

static uint32_t clock_of(const uart_link_t *port) { return clock_ok ? port->uart.clock_hz : clock_core_hz; }

void transfers_begin(void) {
  uint32_t random = 1;
  for (uint32_t i = 0; i < sizeof pattern / sizeof pattern[0]; i++) {
    random ^= random << 13; /* Marsaglia's xorshift */
    random ^= random >> 17;
    random ^= random << 5;
    pattern[i] = random;
  }
  for (uint32_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    link_parser_reset(&board_links[i].parser);
    link_writer_reset(&board_links[i].writer);
    board_links[i].parser.seed = network_project_hash;
    uart_link_begin(&board_link_uarts[i], clock_of(&board_link_uarts[i]), &board_links[i]);
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
  for (uint32_t i = 0; i < board_link_count; i++) {
    for (bool is_left = true; is_left;) {
      uint32_t lock = interrupts_lock();
      is_left = uart_link_poll(&board_link_uarts[i]);
      interrupts_unlock(lock);
    }
  }
  return board_link_uarts[0].settings->driver != UART_LINK_POLLING;
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
    tx->port->OTYPER |= 1u << tx->number;
    uart->CR3 |= USART_CR3_HDSEL;
  } else {
    uart->CR3 &= ~USART_CR3_HDSEL;
    tx->port->OTYPER &= ~(1u << tx->number);
  }
  uart->CR1 = control_1;
}

static void begin_round(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    uart_link_t *port = &board_link_uarts[i];
    uint32_t lock = interrupts_lock();
    if ((listening_at_tx ^ request.at_tx) >> i & 1u) listen_at(i, request.at_tx >> i & 1u);
    if (request.bauds[i]) uart_set_baud(&port->uart, clock_of(port), request.bauds[i]);
    port->uart.line_errors = 0;
    link_parser_reset(&board_links[i].parser);
    memset(&counts[i], 0, sizeof counts[i]);
    interrupts_unlock(lock);
  }
  listening_at_tx = request.at_tx;
}

static bool is_complete(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    if (request.bauds[i] == 0) continue;
    if (frames_left[i] || *(volatile uint32_t *)&counts[i].good < request.frames) return false;
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
    frames_left[i] = is_sending ? request.frames : 0;
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
  if (request.frame_bytes > sizeof pattern) request.frame_bytes = sizeof pattern;
  if (request.frames) {
    exchange_frames();
  } else {
    begin_round();
  }
  for (uint32_t i = 0; i < board_link_count; i++) {
    uint32_t lock = interrupts_lock();
    report.counts[i] = counts[i];
    report.counts[i].line_errors = board_link_uarts[i].uart.line_errors;
    interrupts_unlock(lock);
  }
  memcpy(network_arena + network_output.offset, &report, sizeof report);
}

const network_step_t network_steps[] = {
    {.kind = NETWORK_INPUT},
    {.kind = NETWORK_RUN, .index = 1, .what.run = test},
    {.kind = NETWORK_OUTPUT},
};
const uint16_t network_step_count = sizeof network_steps / sizeof network_steps[0];
network_time_t network_times[sizeof network_steps / sizeof network_steps[0]];
uint32_t network_ended[sizeof network_steps / sizeof network_steps[0]];
uint32_t network_link_ticks[sizeof network_steps / sizeof network_steps[0]];
