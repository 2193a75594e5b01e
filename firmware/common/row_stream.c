#include "row_stream.h"

#include <stddef.h>

#include "cycle_counter.h"
#include "error_codes.h"
#include "interrupts.h"
#include "link_ports.h"
#include "network_links.h"
#include "run.h"
#include "schedule.h"
#include "times.h"
#include "transfers.h"
#include "words.h"

enum { PIECE_BYTES = 512 }; /* copied while interrupts are masked */

static const row_stream_t *stream; /* of the layer that runs */

static const network_transfer_t *input; /* NULL: none is streamed */
static uint32_t input_run;              /* the run that it belongs to */
static volatile bool input_has_ended;   /* it is whole, checked, and in its place */
static volatile uint32_t taken;         /* bytes of it in their place */
static uint32_t wanted;                 /* bytes of it that are awaited */
static volatile uint64_t copying;       /* ticks of its copies */

static bool is_queued; /* the output is on its way */
static uint32_t given; /* bytes of it that may leave */

static uint32_t row_bytes(int32_t rows, uint32_t bytes_of_one, const network_tensor_t *tensor) {
  uint32_t bytes = rows < 0 ? 0 : (uint32_t)rows * bytes_of_one;
  return bytes < tensor->bytes ? bytes : tensor->bytes;
}

/* Waits, copies and drivers are no time of the layer; interrupts of links in them are excluded already (layer_clock.h).
 */
typedef struct {
  uint64_t cycles;
  uint32_t links;
} mark_t;

static mark_t mark(void) {
  uint32_t links = times_link_ticks;
  return (mark_t){cycle_counter_now(), links};
}

static void exclude_since(mark_t start) {
  mark_t end = mark();
  schedule_excluded_ticks += end.cycles - start.cycles - (uint32_t)(end.links - start.links);
}

/* Input. Interrupts are masked in functions whose names end with _locked: the end of the tensor comes from them. */

static uint32_t received_locked(void) {
  if (input_has_ended) return input->tensor.bytes;
  return link_received_prefix(&board_links[input->link], input->channel);
}

/* Copies up to `end`: whole words, as it is the end of a block or of the tensor. */
static void take_locked(uint32_t end) {
  const network_tensor_t *tensor = &input->tensor;
  uint64_t start = cycle_counter_now();
  if (network_is_staged(tensor) && end > taken) {
    words_copy(network_arena + tensor->offset + taken, network_arena + tensor->stage + taken, end - taken);
  }
  taken = end;
  copying += cycle_counter_now() - start;
}

/* The tensor is whole. Its last rows leave the buffer at once, so that the next tensor does not wait for the layer.
 * They are rows that no output has taken the place of: those are awaited before. Rows that were used before the check
 * of the whole tensor have been wrong if it ever failed.
 */
static void end_input_locked(void) {
  if (link_mismatches(&board_links[input->link], input->channel) > 0) run_fail(ERROR_LINK_CORRUPT, input->channel);
  take_locked(input->tensor.bytes);
  input_has_ended = true;
  if (network_is_staged(&input->tensor)) transfers_accept(input, run_inference + 1u);
}

void row_stream_on_event(link_t *link, link_event_t event, uint8_t channel, uint32_t detail) {
  bool is_input = event == LINK_EVENT_RECEIVED && input && input->channel == channel;
  if (is_input && run_number == input_run && !input_has_ended) end_input_locked();
  transfers_on_event(link, event, channel, detail);
}

static bool has_input_ended(const void *unused) {
  (void)unused;
  return input_has_ended;
}

/* A layer cannot wait for rows where it may not block: it has all of them. */
static bool is_enough(void) { return run_may_block() || run_wait(has_input_ended, 0); }

bool row_stream_receive(const network_transfer_t *transfer) {
  if (RUN_IS_STEPWISE && input == transfer && input_run == run_number) return is_enough();
  uint32_t lock = interrupts_lock();
  input = transfer;
  input_run = run_number;
  input_has_ended = false;
  taken = 0;
  copying = 0;
  if (!network_is_staged(&transfer->tensor)) {
    transfers_accept(transfer, run_inference);
  } else if (transfers_is_full(transfer)) {
    end_input_locked();
  }
  interrupts_unlock(lock);
  return is_enough();
}

static bool has_arrived(const void *unused) {
  (void)unused;
  uint32_t lock = interrupts_lock();
  uint32_t received = received_locked();
  interrupts_unlock(lock);
  return received >= wanted;
}

/* Copies all that has arrived. */
static void take(void) {
  for (bool is_left = true; is_left;) {
    uint32_t lock = interrupts_lock();
    uint32_t received = received_locked();
    is_left = received > taken + PIECE_BYTES;
    take_locked(is_left ? taken + PIECE_BYTES : received);
    interrupts_unlock(lock);
  }
}

static void await(uint32_t bytes) {
  if (bytes <= taken || run_has_ended()) return;
  mark_t start = mark();
  wanted = bytes;
  if (run_wait(has_arrived, 0)) take();
  exclude_since(start);
}

void row_stream_await(int32_t rows) { await(row_bytes(rows, stream->in_row_bytes, &input->tensor)); }

/* Also rows that no output row reads. */
static void end_input(void) {
  mark_t start = mark();
  if (run_wait(has_input_ended, 0) && network_is_staged(&input->tensor)) times_set(input->record, copying, 0);
  exclude_since(start);
  input = NULL;
}

/* Output */

static void extend(const network_transfer_t *output, uint32_t bytes) {
  uint32_t lock = interrupts_lock();
  if (!run_has_ended()) link_extend(&board_links[output->link], output->channel, bytes);
  interrupts_unlock(lock);
}

/* A tensor of the inference before may still be in the buffer: then rows stay where they are until it has left. */
static void give(uint32_t bytes) {
  const network_transfer_t *output = stream->output;
  const network_tensor_t *tensor = &output->tensor;
  if (!is_queued && transfers_is_free(output)) is_queued = transfers_queue(output, 0);
  if (!is_queued) return;
  if (network_is_staged(tensor)) {
    uint32_t first = given / (uint32_t)sizeof(uint32_t) * (uint32_t)sizeof(uint32_t); /* its word was not whole */
    words_copy(network_arena + tensor->stage + first, network_arena + tensor->offset + first, bytes - first);
  }
  given = bytes;
  extend(output, bytes);
}

void row_stream_done(int32_t rows) {
  mark_t start = mark();
  give(row_bytes(rows, stream->out_row_bytes, &stream->output->tensor));
  exclude_since(start);
}

bool row_stream_send(const network_transfer_t *transfer) {
  if (!is_queued) return transfers_send(transfer);
  return network_is_staged(&transfer->tensor) || run_wait(transfers_is_free, transfer);
}

/* Layers */

void row_stream_begin(const row_stream_t *of_layer) {
  stream = of_layer;
  is_queued = false;
  given = 0;
}

void row_stream_end(void) {
  if (stream->input) end_input();
}
