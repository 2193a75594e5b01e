/* Streamed hand-offs on the host, on links and waits that this program plays. */
#include "row_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "link_ports.h"
#include "error_codes.h"
#include "network_links.h"
#include "run.h"
#include "schedule.h"
#include "times.h"
#include "transfers.h"

enum { TENSOR = 300, ROW = 30, STAGE = 320, ARENA = 640, BLOCK = 64, UNTOUCHED = 0xEE };

uint8_t network_arena[ARENA] __attribute__((aligned(4)));
link_t board_links[1];
volatile uint32_t run_number = 7;
uint32_t run_inference = 3;
uint64_t schedule_excluded_ticks;
volatile uint32_t times_link_ticks;

static const network_transfer_t staged = {.take = row_stream_receive, .tensor = {0, STAGE, TENSOR}, .record = 5};
static const network_transfer_t direct = {.take = row_stream_receive, .tensor = {0, 0, TENSOR}};
static const row_stream_t takes = {.input = &staged, .in_row_bytes = ROW};
static const row_stream_t takes_directly = {.input = &direct, .in_row_bytes = ROW};
static const row_stream_t gives = {.output = &staged, .out_row_bytes = ROW};
static const row_stream_t gives_directly = {.output = &direct, .out_row_bytes = ROW};

/* What the link and the schedule do. */
static uint32_t received, mismatches, accepted, failed, ready, waits;
static int accepts, queued, sent_as_a_whole, records, passed_on;
static bool is_free, has_ended, is_full;
static const network_transfer_t *arriving;

static uint8_t value(uint32_t at) { return (uint8_t)(at * 7u + 1u); }

static void begin(void) {
  memset(network_arena, UNTOUCHED, sizeof network_arena);
  received = mismatches = accepted = failed = ready = waits = 0;
  accepts = queued = sent_as_a_whole = records = passed_on = 0;
  is_free = true;
  has_ended = is_full = false;
  arriving = NULL;
}

/* The next block arrives; the event of the last one comes from an interrupt. */
static void arrive(void) {
  uint32_t end = received + BLOCK < TENSOR ? received + BLOCK : TENSOR;
  for (; received < end; received++) network_arena[arriving->tensor.stage + received] = value(received);
  if (received < TENSOR) return;
  is_full = true;
  row_stream_on_event(&board_links[0], LINK_EVENT_RECEIVED, arriving->channel, 0);
}

uint32_t link_received_prefix(const link_t *link, uint8_t channel) {
  assert(link == &board_links[0] && channel == 0);
  return received;
}
uint32_t link_mismatches(const link_t *link, uint8_t channel) {
  (void)link;
  (void)channel;
  return mismatches;
}
void link_extend(link_t *link, uint8_t channel, uint32_t bytes) {
  (void)link;
  (void)channel;
  ready = bytes;
}
void transfers_accept(const network_transfer_t *transfer, uint32_t number) {
  (void)transfer;
  accepts++;
  accepted = number;
}
bool transfers_queue(const network_transfer_t *transfer, uint32_t bytes) {
  (void)transfer;
  assert(bytes == 0 && is_free);
  queued++;
  return true;
}
bool transfers_is_full(const void *transfer) {
  (void)transfer;
  return is_full;
}
bool transfers_is_free(const void *transfer) {
  (void)transfer;
  return is_free;
}
bool transfers_send(const network_transfer_t *transfer) {
  (void)transfer;
  sent_as_a_whole++;
  return true;
}
void transfers_on_event(link_t *link, link_event_t event, uint8_t channel, uint32_t detail) {
  (void)event;
  (void)channel;
  assert(link == &board_links[0] && detail == 0);
  passed_on++;
}
void times_set(uint32_t record, uint64_t ticks, uint32_t repeats) {
  (void)ticks;
  (void)repeats;
  assert(record == arriving->record);
  records++;
}
void run_fail(uint8_t code, uint32_t detail) {
  (void)detail;
  failed = code;
}
bool run_has_ended(void) { return has_ended; }
bool run_wait(bool (*is_over)(const void *), const void *what) {
  waits++;
  while (!has_ended) {
    if (is_over(what)) return true;
    if (arriving) arrive();
  }
  return false;
}
uint64_t cycle_counter_now(void) { return 0; }

static bool has_bytes(uint32_t offset, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    if (network_arena[offset + i] != value(i)) return false;
  }
  return true;
}

static void rows_arrive_as_they_are_awaited(void) {
  begin();
  arriving = &staged;
  assert(row_stream_receive(&staged) && accepts == 0);
  row_stream_begin(&takes);
  row_stream_await(-1);
  assert(waits == 0);
  row_stream_await(2); /* 60 bytes */
  assert(received == BLOCK && has_bytes(0, 0, BLOCK) && network_arena[BLOCK] == UNTOUCHED);
  row_stream_await(2);
  assert(waits == 1);
  row_stream_await(3);
  assert(received == 2 * BLOCK && has_bytes(0, 0, 2 * BLOCK));
  row_stream_await(1000); /* all that there are */
  assert(has_bytes(0, 0, TENSOR) && accepts == 1 && accepted == run_inference + 1);
  row_stream_end();
  assert(accepts == 1 && failed == 0 && records == 1);
}

static void the_end_of_a_tensor_does_not_wait_for_the_layer(void) {
  begin();
  arriving = &staged;
  row_stream_receive(&staged);
  row_stream_begin(&takes);
  row_stream_await(1);
  while (!is_full) arrive(); /* while the first row is computed */
  assert(has_bytes(0, 0, TENSOR) && accepts == 1);
  memset(network_arena + STAGE, 0, TENSOR); /* the next tensor */
  received = BLOCK;
  row_stream_await(10);
  assert(has_bytes(0, 0, TENSOR));
  row_stream_on_event(&board_links[0], LINK_EVENT_RECEIVED, staged.channel, 0); /* the next one: this layer still runs */
  assert(accepts == 1);
  row_stream_end();
}

static void other_events_are_those_of_transfers(void) {
  begin();
  arriving = &staged;
  row_stream_receive(&staged);
  row_stream_on_event(&board_links[0], LINK_EVENT_RECEIVED, staged.channel + 1, 0);
  row_stream_on_event(&board_links[0], LINK_EVENT_SENT, staged.channel, 0);
  assert(accepts == 0 && network_arena[0] == UNTOUCHED && passed_on == 2);
  row_stream_on_event(&board_links[0], LINK_EVENT_RECEIVED, staged.channel, 0);
  assert(accepts == 1 && passed_on == 3);
}

static void rows_that_no_output_needs_are_awaited_at_the_end(void) {
  begin();
  arriving = &staged;
  row_stream_receive(&staged);
  row_stream_begin(&takes);
  row_stream_await(1);
  row_stream_end();
  assert(is_full && has_bytes(0, 0, TENSOR) && accepts == 1);
}

static void a_tensor_may_be_there_already(void) {
  begin();
  arriving = &staged;
  while (!is_full) arrive();
  row_stream_receive(&staged);
  assert(accepts == 1 && has_bytes(0, 0, TENSOR));
  row_stream_begin(&takes);
  row_stream_await(10);
  row_stream_end();
  assert(waits == 1); /* at the end */
}

static void without_a_buffer_rows_arrive_in_the_arena(void) {
  begin();
  arriving = &direct;
  row_stream_receive(&direct);
  assert(accepts == 1 && accepted == run_inference);
  row_stream_begin(&takes_directly);
  row_stream_await(2);
  assert(received == BLOCK);
  row_stream_end();
  assert(accepts == 1 && has_bytes(0, 0, TENSOR) && records == 0);
}

static void rows_of_a_wrong_tensor_end_the_run(void) {
  begin();
  arriving = &staged;
  row_stream_receive(&staged);
  row_stream_begin(&takes);
  row_stream_await(1);
  mismatches = 1;
  row_stream_end();
  assert(failed == ERROR_LINK_CORRUPT);
}

static void a_run_that_ends_frees_the_layer(void) {
  begin();
  arriving = &staged;
  row_stream_receive(&staged);
  row_stream_begin(&takes);
  has_ended = true;
  row_stream_await(5);
  row_stream_end();
  assert(received == 0);
  begin();
  arriving = &staged;
  row_stream_receive(&staged);
  run_number++;
  while (!is_full) arrive(); /* in another run, before its RECEIVE */
  assert(accepts == 0 && network_arena[0] == UNTOUCHED);
}

static void compute_row(int32_t row) {
  for (uint32_t i = (uint32_t)row * ROW; i < ((uint32_t)row + 1) * ROW; i++) network_arena[i] = value(i);
}

static void rows_leave_when_they_are_complete(void) {
  begin();
  row_stream_begin(&gives);
  for (int32_t row = 0; row < TENSOR / ROW; row++) {
    compute_row(row);
    row_stream_done(row + 1);
    assert(queued == 1 && ready == ((uint32_t)row + 1) * ROW && has_bytes(STAGE, 0, ready));
  }
  row_stream_end();
  is_free = false;
  assert(row_stream_send(&staged) && sent_as_a_whole == 0);
}

static void rows_wait_for_the_tensor_before(void) {
  begin();
  is_free = false;
  row_stream_begin(&gives);
  for (int32_t row = 0; row < TENSOR / ROW; row++) {
    compute_row(row);
    if (row == 4) is_free = true;
    row_stream_done(row + 1);
    assert(queued == (row >= 4));
  }
  assert(ready == TENSOR && has_bytes(STAGE, 0, TENSOR));
  begin();
  is_free = false;
  row_stream_begin(&gives);
  row_stream_done(10);
  row_stream_end();
  assert(row_stream_send(&staged) && sent_as_a_whole == 1 && ready == 0);
}

static void without_a_buffer_rows_leave_the_arena(void) {
  begin();
  row_stream_begin(&gives_directly);
  row_stream_done(10);
  assert(ready == TENSOR && network_arena[STAGE] == UNTOUCHED);
  assert(row_stream_send(&direct) && waits == 1);
}

int main(void) {
  rows_arrive_as_they_are_awaited();
  the_end_of_a_tensor_does_not_wait_for_the_layer();
  other_events_are_those_of_transfers();
  rows_that_no_output_needs_are_awaited_at_the_end();
  a_tensor_may_be_there_already();
  without_a_buffer_rows_arrive_in_the_arena();
  rows_of_a_wrong_tensor_end_the_run();
  a_run_that_ends_frees_the_layer();
  rows_leave_when_they_are_complete();
  rows_wait_for_the_tensor_before();
  without_a_buffer_rows_leave_the_arena();
  return EXIT_SUCCESS;
}
