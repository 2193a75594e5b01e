#include "transfers.h"

#include "clock.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "interrupts.h"
#include "link_ports.h"
#include "markers.h"
#include "network_links.h"
#include "reset.h"
#include "run.h"
#include "standalone.h"
#include "ticker.h"
#include "times.h"
#include "weights_file.h"
#include "words.h"

#define PROBE_MS 1000u

link_identity_t transfers_identity;

void transfers_begin(void) {
  transfers_identity = (link_identity_t){.plan = network_project_hash ^ weights_file_network(),
                                         .boot_count = standalone_boot_count(),
                                         .board = network_board_index,
                                         .reset_cause = reset_cause};
  for (uint32_t i = 0; i < board_link_count; i++) {
    uart_link_t *port = &board_link_uarts[i];
    uint32_t lock = interrupts_lock();
    link_begin(&board_links[i], &network_link_settings[i]);
    uart_link_begin(port, uart_link_clock_hz(port), &board_links[i]);
    interrupts_unlock(lock);
  }
}

static bool is_in(const link_t *link, uint32_t run) { return link->run == run && link->failure == LINK_NO_FAILURE; }

/* To be called with interrupts masked. */
static void join_links(uint32_t run) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    if (!is_in(&board_links[i], run)) link_join(&board_links[i], run);
  }
}

static void accept(const network_transfer_t *transfer, uint32_t number) {
  uint8_t *to = network_arena + transfer->tensor.stage;
  link_accept(&board_links[transfer->link], transfer->channel, to, (uint8_t)number);
}

void transfers_accept(const network_transfer_t *transfer, uint32_t number) {
  uint32_t lock = interrupts_lock();
  if (!run_has_ended()) accept(transfer, number);
  interrupts_unlock(lock);
}

static bool is_sent(const network_transfer_t *transfer) {
  const link_channel_plan_t *plan = network_link_settings[transfer->link].plans;
  while (plan->channel != transfer->channel) plan++;
  return plan->is_out;
}

/* A request of the host that waits may be for this very run: its buffers are granted. */
void transfers_join(uint32_t run) {
  join_links(run);
  for (uint32_t i = 0; i < network_transfer_count; i++) {
    const network_transfer_t *transfer = &network_transfers[i];
    if (!is_sent(transfer) && network_is_staged(&transfer->tensor)) accept(transfer, 0);
  }
}

void transfers_leave(void) {
  uint32_t lock = interrupts_lock();
  for (uint32_t i = 0; i < board_link_count; i++) link_leave(&board_links[i]);
  interrupts_unlock(lock);
}

void transfers_announce(void) {
  uint32_t lock = interrupts_lock();
  for (uint32_t i = 0; i < board_link_count; i++) link_announce(&board_links[i]);
  interrupts_unlock(lock);
}

bool transfers_are_joined(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    if (!link_is_running(&board_links[i])) return false;
  }
  return true;
}

bool transfers_are_busy(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    if (link_is_busy(&board_links[i])) return true;
  }
  return false;
}

/* The interrupts of links do not interrupt each other. Behind one that every byte raises, no frame ends for which a
 * board stays awake: it sleeps again at once.
 */
void transfers_interrupt(uint32_t link) {
  uint32_t start = cycle_counter_low();
  bool is_polled = uart_link_is_polled(&board_link_uarts[link]); /* in waits: they stay waits */
  uart_link_interrupt(&board_link_uarts[link]);
  if (link_is_busy(&board_links[link])) ticker_start();
  if (!uart_link_hears_bytes(&board_link_uarts[link])) run_look_again();
  if (!is_polled) times_link_ticks += cycle_counter_low() - start;
}

/* A link without a tensor to send asks nothing by itself: the neighbour that a board waits for may be gone. */
void transfers_tick(void) {
  bool is_probing = run_is_waiting() && ticker_ms % PROBE_MS == 0;
  for (uint32_t i = 0; i < board_link_count; i++) {
    uart_link_poll(&board_link_uarts[i]);
    uint32_t lock = interrupts_lock();
    if (is_probing) link_probe(&board_links[i]);
    link_tick(&board_links[i]);
    interrupts_unlock(lock);
  }
}

/* Whether `bytes` cross the line before the ticker ends a sleep. */
static bool is_soon(const link_t *link, uint32_t bytes) {
  return bytes * LINK_BITS_PER_BYTE * (clock_core_hz / link->settings->baud) < ticker_left();
}

/* Bytes until the end of a frame that the board needs at once: any that comes, as it may need its rows, and the answer
 * to a tensor that has left, which may begin now; 0: none.
 */
static uint32_t left_of_needed_frame(uint32_t i) {
  const link_t *link = &board_links[i];
  uint32_t left = link_parser_left(&link->parser);
  bool is_answered = link_awaits_answer(link) && uart_link_left(&board_link_uarts[i]) == 0;
  return left == 0 && is_answered ? LINK_HEADER_BYTES : left;
}

/* The end of a frame interrupts when the line is idle behind it, or when more has come: to see it at once, a board
 * stays awake before it, unless every byte interrupts.
 */
static bool is_frame_ending(uint32_t i) {
  if (uart_link_hears_bytes(&board_link_uarts[i])) return false;
  uint32_t left = left_of_needed_frame(i);
  return left > 0 && is_soon(&board_links[i], left);
}

bool transfers_poll(void) {
  bool may_sleep = !uart_link_is_polled(&board_link_uarts[0]);
  for (uint32_t i = 0; i < board_link_count; i++) may_sleep = may_sleep && !is_frame_ending(i);
  for (uint32_t i = 0; !may_sleep && i < board_link_count; i++) uart_link_poll(&board_link_uarts[i]);
  return may_sleep;
}

RUN_TASK task = transfers_poll;

#ifdef STOP_MODE
bool transfers_are_sending(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    if (uart_link_left(&board_link_uarts[i]) || uart_is_sending(&board_link_uarts[i].uart)) return true;
  }
  return false;
}

void transfers_listen(bool does) {
  for (uint32_t i = 0; i < board_link_count; i++) uart_listen(&board_link_uarts[i].uart, does);
}

void transfers_probe(void) {
  for (uint32_t i = 0; i < board_link_count; i++) link_probe(&board_links[i]);
}

void transfers_stay_awake(void) {
  for (uint32_t i = 0; i < board_link_count; i++) link_stay_awake(&board_links[i]);
}
#endif

uint32_t transfers_neighbour(uint32_t cut) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    const link_settings_t *settings = &network_link_settings[i];
    for (uint32_t k = 0; k < settings->channel_count; k++) {
      if (settings->plans[k].channel == cut) return settings->peer;
    }
  }
  return network_board_index;
}

uint32_t transfers_repeats(void) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < board_link_count; i++) sum += board_links[i].counters.repeated;
  return sum;
}

uint32_t transfers_stamps(const void **stamps) {
  *stamps = network_sendings;
  return network_transfer_count * (uint32_t)sizeof network_sendings[0];
}

/* Events of the links */

static network_sending_t *sending_of(const network_transfer_t *transfer) {
  return &network_sendings[transfer - network_transfers];
}

static const network_transfer_t *transfer_of(uint8_t channel) {
  const network_transfer_t *transfer = network_transfers;
  while (transfer->channel != channel) transfer++;
  return transfer;
}

/* Of so many bytes on a link. */
__attribute__((noinline)) static uint64_t ticks_of(uint32_t link, uint32_t bytes) {
  uint64_t bits = (uint64_t)bytes * LINK_BITS_PER_BYTE;
  return bits * cycle_counter_hz(clock_core_hz) / board_links[link].settings->baud;
}

/* The tensor's first byte leaves behind those that the driver still has, and behind `bytes_before` of the present
 * link_fill. */
static void note_started(const network_transfer_t *transfer, uint32_t bytes_before) {
  markers_begin_transfer();
  const uart_link_t *port = &board_link_uarts[transfer->link];
  uint64_t ticks = ticks_of(transfer->link, uart_link_left(port) + bytes_before);
  sending_of(transfer)->started = cycle_counter_now() + ticks;
}

/* The receiver has had the tensor since before the `late_bytes` left it, behind which its acknowledgement came. */
static void note_sent(const network_transfer_t *transfer, uint32_t repeats, uint32_t late_bytes) {
  const network_sending_t *sending = sending_of(transfer);
  markers_end_transfer();
  uint64_t taken = cycle_counter_now() - sending->started;
  uint64_t late = ticks_of(transfer->link, late_bytes);
  times_set(transfer->record, (taken > late ? taken - late : 0) + sending->copied, repeats);
}

static void note_failed(const link_t *link, uint8_t channel, uint32_t failure) {
  static const uint8_t codes[] = {[LINK_NO_ANSWER] = ERROR_LINK_NO_ANSWER,
                                  [LINK_PEER_STOPPED] = ERROR_LINK_PEER_STOPPED,
                                  [LINK_PEER_RESTARTED] = ERROR_LINK_PEER_RESTARTED,
                                  [LINK_OTHER_RUN] = ERROR_LINK_OTHER_RUN,
                                  [LINK_OTHER_PLAN] = ERROR_LINK_OTHER_PLAN,
                                  [LINK_OTHER_VERSION] = ERROR_LINK_OTHER_VERSION,
                                  [LINK_WRONG_BOARD] = ERROR_LINK_WRONG_BOARD,
                                  [LINK_CORRUPT] = ERROR_LINK_CORRUPT};
  uint32_t cut = channel == LINK_NO_CHANNEL ? link->settings->plans[0].channel : channel;
  if (failure == LINK_NO_ANSWER && !standalone_is_own()) {
    run_warn(codes[failure], cut);
  } else {
    run_fail(codes[failure], cut);
  }
}

/* From the interrupts of the links; waits look at the states of channels. */
void transfers_on_event(link_t *link, link_event_t event, uint8_t channel, uint32_t detail) {
  switch (event) {
    case LINK_EVENT_STARTED: note_started(transfer_of(channel), detail); break;
    case LINK_EVENT_SENT: note_sent(transfer_of(channel), detail % 256u, detail / 256u); break;
    case LINK_EVENT_FAILED: note_failed(link, channel, detail); break;
    case LINK_EVENT_ANSWERED: run_warn(ERROR_NONE, 0); break;
    case LINK_EVENT_HELLO:
      run_join(detail);
      join_links(detail);
      break;
    default: break;
  }
}

/* Steps */

static link_channel_state_t state_of(const network_transfer_t *transfer) {
  return link_channel_state(&board_links[transfer->link], transfer->channel);
}

bool transfers_is_full(const void *transfer) { return state_of(transfer) == LINK_FULL; }

bool transfers_is_free(const void *transfer) {
  link_channel_state_t state = state_of(transfer);
  return state == LINK_IDLE || state == LINK_DONE;
}

/* Whether a step that did not end (RUN_IS_STEPWISE) has granted or queued its tensor, and only waits. */
static bool has_begun(const network_transfer_t *transfer) {
  return RUN_IS_STEPWISE && link_has(&board_links[transfer->link], transfer->channel, (uint8_t)run_inference);
}

bool transfers_receive(const network_transfer_t *transfer) {
  const network_tensor_t *tensor = &transfer->tensor;
  if (!network_is_staged(tensor)) {
    if (!has_begun(transfer)) transfers_accept(transfer, run_inference);
    return run_wait(transfers_is_full, transfer);
  }
  if (!run_wait(transfers_is_full, transfer)) return false;
  uint64_t start = cycle_counter_now();
  markers_begin_transfer();
  words_copy(network_arena + tensor->offset, network_arena + tensor->stage, tensor->bytes);
  markers_end_transfer();
  times_set(transfer->record, cycle_counter_now() - start, 0);
  transfers_accept(transfer, run_inference + 1u);
  return true;
}

bool transfers_queue(const network_transfer_t *transfer, uint32_t ready) {
  const uint8_t *from = network_arena + transfer->tensor.stage;
  uint32_t lock = interrupts_lock();
  bool may_go_on = !run_has_ended();
  if (may_go_on) {
    link_t *link = &board_links[transfer->link];
    link_send(link, transfer->channel, from, (uint8_t)run_inference, ready);
    ticker_start();
  }
  interrupts_unlock(lock);
  return may_go_on;
}

bool transfers_grant(const network_transfer_t *transfer) {
  transfers_accept(transfer, run_inference);
  return true;
}

bool transfers_await(const network_transfer_t *transfer) { return run_wait(transfers_is_full, transfer); }

bool transfers_begin_send(const network_transfer_t *transfer) {
  if (!run_wait(transfers_is_free, transfer)) return false;
  sending_of(transfer)->copied = 0;
  return transfers_queue(transfer, transfer->tensor.bytes);
}

bool transfers_await_sent(const network_transfer_t *transfer) { return run_wait(transfers_is_free, transfer); }

bool transfers_send(const network_transfer_t *transfer) {
  const network_tensor_t *tensor = &transfer->tensor;
  bool is_staged = network_is_staged(tensor);
  if (!is_staged && has_begun(transfer)) return transfers_await_sent(transfer);
  if (!run_wait(transfers_is_free, transfer)) return false;
  uint64_t start = cycle_counter_now();
  if (is_staged) {
    markers_begin_transfer();
    words_copy(network_arena + tensor->stage, network_arena + tensor->offset, tensor->bytes);
    markers_end_transfer();
  }
  sending_of(transfer)->copied = (uint32_t)(cycle_counter_now() - start);
  if (!transfers_queue(transfer, tensor->bytes)) return false;
  return is_staged || run_wait(transfers_is_free, transfer);
}
