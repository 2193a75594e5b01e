/* The requests that only measuring needs: inferences of an input that stays on the board, times of the steps, the
 * clock, and how much of the stack was used.
 */
#include "cycle_counter.h"
#include "error_codes.h"
#include "exchange.h"
#include "host_events.h"
#include "host_send.h"
#include "network.h"
#include "requests.h"
#include "stack.h"
#include "times.h"
#include "transfers.h"

/* What READ_STAMPS asks for. */
enum { STAMPS_ENDS, STAMPS_SENDINGS, STAMPS_LINK_TICKS };

enum { RECORDS_PER_REPLY = FRAME_MAX_PAYLOAD / 8 };

static void repeat(const frame_header_t *header, const uint8_t *head) {
  uint8_t code = exchange_start(frame_u32(head), frame_u32(head + 4), frame_u32(head + 8));
  uint32_t detail = code == ERROR_WRONG_NUMBER ? exchange_inputs_taken : header->type;
  host_tell_obeyed(header->type, header->sequence, code, detail);
}

static void read_times(const frame_header_t *header, const uint8_t *head) {
  uint16_t first = frame_u16(head);
  if (first > network_step_count) {
    host_send_refusal(header, ERROR_BAD_RANGE);
    return;
  }
  uint32_t count = (uint32_t)network_step_count - first;
  if (count > RECORDS_PER_REPLY) count = RECORDS_PER_REPLY;
  host_send_reply(header, network_times + first, count * sizeof network_times[0]);
}

static void send_two_words(const frame_header_t *header, uint32_t first, uint32_t second) {
  host_frame_t outgoing = host_two_words(header->type | FRAME_REPLY, header->sequence, first, second);
  host_send(&outgoing);
}

static void read_clock(const frame_header_t *header, const uint8_t *head) {
  times_keep_clock = head[0];
  uint64_t now = cycle_counter_now();
  send_two_words(header, (uint32_t)now, (uint32_t)(now >> 32));
}

/* From the byte that is asked for. */
static void read_stamps(const frame_header_t *header, const uint8_t *head) {
  uint8_t what = head[0];
  uint16_t first = frame_u16(head + 1);
  const void *stamps = network_ended;
  uint32_t bytes = network_step_count * (uint32_t)sizeof network_ended[0];
  if (what == STAMPS_SENDINGS) bytes = transfers_stamps(&stamps);
  if (what == STAMPS_LINK_TICKS) stamps = network_link_ticks;
  if (what > STAMPS_LINK_TICKS || first > bytes) {
    host_send_refusal(header, ERROR_BAD_RANGE);
    return;
  }
  bytes -= first;
  host_send_reply(header, (const uint8_t *)stamps + first, bytes < FRAME_MAX_PAYLOAD ? bytes : FRAME_MAX_PAYLOAD);
}

static void identify_stack(const frame_header_t *header, const uint8_t *head) {
  (void)head;
  send_two_words(header, stack_bytes(), stack_used_bytes());
}

REQUESTS table[] = {{FRAME_REPEAT, 0, 12, 12, repeat, NULL},
                    {FRAME_READ_TIMES, 0, 2, 2, read_times, NULL},
                    {FRAME_READ_CLOCK, 0, 1, 1, read_clock, NULL},
                    {FRAME_READ_STAMPS, 0, 3, 3, read_stamps, NULL},
                    {FRAME_IDENTIFY, IDENTIFY_STACK, 0, 1, identify_stack, NULL}};
