/* One end of a link (link*.c): frames of any contents with right checks, damaged bytes, and all that the board does.
 *
 * An input is a list of operations of a byte; those of frames (0x40 and later) have channel, number, offset, length of the
 * payload (two bytes each, but the first two) and the payload, which is damaged for types from 0xC0 on. Tensors and their bitmaps have the memory that the plan
 * says, guarded by AddressSanitizer.
 */
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "driver.h"
#include "link.h"

enum { CHANNELS = 4, FIRST_CHANNEL = 6, PLAN = 7, RUN = 5, ME = 2, PEER = 5, MOST_STEPS = 10000 };
enum { JOIN, LEAVE, ACCEPT, SEND, EXTEND, TICK, NOISE, OPERATIONS, FRAMES = 0x40, DAMAGED = 0x80, FRAME_HEAD = 6 };

static link_channel_plan_t plans[CHANNELS] = {{.channel = 6, .bytes = 56},
                                              {.channel = 7, .bytes = 1000},
                                              {.channel = 8, .is_out = true, .bytes = 777},
                                              {.channel = 9, .is_out = true, .bytes = 5000}};
static uint8_t *memory[CHANNELS];
static link_channel_t channels[CHANNELS];
static const link_identity_t identity = {.plan = PLAN, .boot_count = 3, .board = ME};
static link_t link_under_test;
static uint32_t run, wanted;

static void wake(void *port) { (void)port; }

static uint32_t left(const void *port) {
  (void)port;
  return 0;
}

static void event(link_t *link, link_event_t what, uint8_t channel, uint32_t detail) {
  (void)link;
  (void)channel;
  if (what == LINK_EVENT_HELLO) wanted = detail;
}

static const link_settings_t settings = {.identity = &identity,
                                         .plans = plans,
                                         .channels = channels,
                                         .channel_count = CHANNELS,
                                         .peer = PEER,
                                         .baud = 115200,
                                         .wake = wake,
                                         .left = left,
                                         .event = event};

static void work(void) {
  uint8_t out[7];
  uint32_t steps = 0;
  while (link_work(&link_under_test)) {
    if (++steps > MOST_STEPS) abort(); /* endless */
  }
  for (steps = 0; steps < 100 && link_fill(&link_under_test, out, sizeof out); steps++) {
  }
  if (wanted > run) {
    run = wanted;
    link_join(&link_under_test, run);
  }
}

static uint32_t seed(void) {
  uint8_t bytes[8];
  link_put_u32(bytes, PLAN);
  link_put_u32(bytes + 4, run);
  return crc32(0, bytes, sizeof bytes);
}

static void frame(uint8_t what, const uint8_t *head, const uint8_t *payload, uint32_t length) {
  static uint8_t bytes[LINK_HEADER_BYTES + FUZZ_LARGEST + LINK_CRC_BYTES];
  uint8_t type = what & (uint8_t)~DAMAGED;
  uint32_t begin = link_is_hello(type) ? 0 : seed();
  bytes[0] = LINK_SYNC;
  bytes[1] = type;
  bytes[2] = ME << 4 | PEER;
  memcpy(bytes + 3, head, 4); /* channel, number, offset */
  link_put_u16(bytes + 7, length);
  uint32_t crc = crc32(begin, bytes + 1, 8);
  link_put_u16(bytes + 9, crc);
  memcpy(bytes + LINK_HEADER_BYTES, payload, length);
  link_put_u32(bytes + LINK_HEADER_BYTES + length, crc32(crc, payload, length) ^ (what & DAMAGED));
  link_receive_bytes(&link_under_test, bytes, LINK_HEADER_BYTES + (length ? length + LINK_CRC_BYTES : 0));
}

/* What a board may do in the state of the channel, as link.h has it. */
static void on_channel(uint8_t what, uint8_t index, uint8_t number) {
  const link_channel_plan_t *plan = &plans[index];
  link_channel_t *channel = &channels[index];
  if (link_under_test.state == 0) return; /* stopped */
  if (what == ACCEPT && !plan->is_out && channel->state != LINK_GRANTED) {
    link_accept(&link_under_test, plan->channel, memory[index], number);
  } else if (what == SEND && plan->is_out && (channel->state == LINK_IDLE || channel->state == LINK_DONE)) {
    link_send(&link_under_test, plan->channel, memory[index], number, number % 2 ? plan->bytes : 0);
  } else if (what == EXTEND && (channel->state == LINK_QUEUED || channel->state == LINK_MOVING) && plan->is_out) {
    link_extend(&link_under_test, plan->channel, plan->bytes);
  }
}

static void operate(uint8_t what, uint8_t argument, const uint8_t *bytes, size_t left) {
  switch (what % OPERATIONS) {
    case JOIN: link_join(&link_under_test, ++run); break;
    case LEAVE: link_leave(&link_under_test); break;
    case TICK:
      for (int i = 0; i < argument && link_is_busy(&link_under_test); i++) link_tick(&link_under_test), work();
      break;
    case NOISE: link_receive_bytes(&link_under_test, bytes, (uint32_t)(argument < left ? argument : left)); break;
    default: on_channel(what % OPERATIONS, argument % CHANNELS, argument / CHANNELS);
  }
}

static void play(const uint8_t *input, size_t left) {
  wanted = run = RUN;
  link_begin(&link_under_test, &settings);
  link_join(&link_under_test, run);
  while (left > FRAME_HEAD) {
    uint8_t what = *input++;
    left--;
    if (what < FRAMES) {
      operate(what, input[0], input + 1, left - 1);
      input++;
      left--;
    } else {
      uint32_t length = link_get_u16(input + 4) % (LINK_MAX_PAYLOAD + 100);
      if (length > left - FRAME_HEAD) length = (uint32_t)(left - FRAME_HEAD);
      frame(what, input, input + FRAME_HEAD, length);
      input += FRAME_HEAD + length;
      left -= FRAME_HEAD + length;
    }
    work();
  }
}

int main(int argc, char **argv) {
  fuzz_begin(argc, argv);
  for (int i = 0; i < CHANNELS; i++) {
    memory[i] = calloc(plans[i].bytes, 1);
    plans[i].blocks = calloc(LINK_BITMAP_BYTES(plans[i].bytes), 1);
    if (!memory[i] || !plans[i].blocks) return 2;
  }
  size_t size;
  for (const uint8_t *input; (input = fuzz_next(&size));) play(input, size);
  for (int i = 0; i < CHANNELS; i++) {
    free(memory[i]);
    free(plans[i].blocks);
  }
  return 0;
}
