#include "row_stream.h"

#include "board.h"
#include "cycle_counter.h"
#include "error_codes.h"
#include "interrupts.h"
#include "network_links.h"
#include "run.h"
#include "schedule.h"
#include "times.h"
#include "transfers.h"
#include "words.h"

static const row_stream_t *stream; /* of the layer that runs */

static uint32_t wanted;  /* bytes of the input that are awaited */
static uint32_t taken;   /* bytes of the input that are in their place */
static uint64_t copying; /* ticks of the input's copies */

static bool is_queued; /* the output is on its way */
static uint32_t given; /* bytes of the output that may leave */

static uint32_t row_bytes(int32_t rows, uint32_t bytes_of_one, const network_tensor_t *tensor) {
  uint32_t bytes = rows < 0 ? 0 : (uint32_t)rows * bytes_of_one;
  return bytes < tensor->bytes ? bytes : tensor->bytes;
}

/* Input */

static uint32_t received_bytes(void) {
  const network_transfer_t *input = stream->input;
  uint32_t lock = interrupts_lock();
  uint32_t bytes = link_received_prefix(&board_links[input->link], input->channel);
  interrupts_unlock(lock);
  return bytes;
}

static bool has_arrived(const void *unused) {
  (void)unused;
  return received_bytes() >= wanted;
}

/* Copies all that has arrived: whole words, as it ends with a block or with the tensor. */
static void take(void) {
  const network_tensor_t *tensor = &stream->input->tensor;
  uint32_t received = received_bytes();
  uint64_t start = cycle_counter_now();
  if (network_is_staged(tensor) && received > taken) {
    words_copy(network_arena + tensor->offset + taken, network_arena + tensor->stage + taken, received - taken);
  }
  copying += cycle_counter_now() - start;
  taken = received;
}

static void await(uint32_t bytes) {
  if (bytes <= taken || run_has_ended()) return;
  uint64_t start = cycle_counter_now();
  wanted = bytes;
  if (run_wait(has_arrived, 0)) take();
  schedule_excluded_ticks += cycle_counter_now() - start;
}

void row_stream_await(int32_t rows) {
  await(row_bytes(rows, stream->in_row_bytes, &stream->input->tensor));
}

bool row_stream_receive(const network_transfer_t *transfer) {
  taken = 0;
  copying = 0;
  if (!network_is_staged(&transfer->tensor)) transfers_accept(transfer, run_inference);
  return true;
}

/* Rows that were used before the check of the whole tensor have been wrong if it failed. */
static void check_input(const network_transfer_t *input) {
  uint32_t lock = interrupts_lock();
  if (link_mismatches(&board_links[input->link], input->channel) > 0) run_fail(ERROR_LINK_CORRUPT, input->channel);
  interrupts_unlock(lock);
}

/* The rows that no output row reads, and the check. */
static void end_input(void) {
  const network_transfer_t *input = stream->input;
  await(input->tensor.bytes);
  uint64_t start = cycle_counter_now();
  if (run_wait(transfers_is_full, input)) {
    check_input(input);
    times_set(input->record, copying, 0);
    if (network_is_staged(&input->tensor)) transfers_accept(input, run_inference + 1u);
  }
  schedule_excluded_ticks += cycle_counter_now() - start;
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
  uint64_t start = cycle_counter_now();
  give(row_bytes(rows, stream->out_row_bytes, &stream->output->tensor));
  schedule_excluded_ticks += cycle_counter_now() - start;
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
