#include "host_diagnostics.h"

#include "cycle_counter.h"
#include "host_send.h"
#include "network.h"
#include "stack.h"
#include "times.h"
#include "transfers.h"

/* What READ_STAMPS asks for. */
enum { STAMPS_ENDS, STAMPS_SENDINGS, STAMPS_LINK_TICKS };

enum { RECORDS_PER_REPLY = FRAME_MAX_PAYLOAD / 8 };

static bool read_times(const frame_header_t *header, uint16_t first) {
  if (first > network_step_count) return false;
  uint32_t count = (uint32_t)network_step_count - first;
  if (count > RECORDS_PER_REPLY) count = RECORDS_PER_REPLY;
  host_send_reply(header, network_times + first, count * sizeof network_times[0]);
  return true;
}

static void read_clock(const frame_header_t *header, bool keeps_clock) {
  times_keep_clock = keeps_clock;
  uint64_t now = cycle_counter_now();
  host_frame_t outgoing =
      host_two_words(FRAME_READ_CLOCK | FRAME_REPLY, header->sequence, (uint32_t)now, (uint32_t)(now >> 32));
  host_send(&outgoing);
}

/* From the byte that is asked for. */
static bool read_stamps(const frame_header_t *header, uint8_t what, uint16_t first) {
  const void *stamps = network_ended;
  uint32_t bytes = network_step_count * (uint32_t)sizeof network_ended[0];
  if (what == STAMPS_SENDINGS) bytes = transfers_stamps(&stamps);
  if (what == STAMPS_LINK_TICKS) stamps = network_link_ticks;
  if (what > STAMPS_LINK_TICKS || first > bytes) return false;
  bytes -= first;
  host_send_reply(header, (const uint8_t *)stamps + first, bytes < FRAME_MAX_PAYLOAD ? bytes : FRAME_MAX_PAYLOAD);
  return true;
}

bool host_diagnostics_obey(const frame_header_t *header, const uint8_t *request) {
  switch (header->type) {
    case FRAME_READ_TIMES: return read_times(header, frame_u16(request));
    case FRAME_READ_STAMPS: return read_stamps(header, request[0], frame_u16(request + 1));
    default: read_clock(header, request[0]); return true;
  }
}

void host_diagnostics_send_stack(const frame_header_t *to) {
  host_frame_t outgoing = host_two_words(to->type | FRAME_REPLY, to->sequence, stack_bytes(), stack_used_bytes());
  host_send(&outgoing);
}
