#include "host_queue.h"

#include "host_bytes.h"

enum { QUEUE_FRAMES = 6 }; /* replies to three requests, and events */

static frame_transmitter_t transmitter;

/* Frames that wait; the first one is on its way when `is_first_leaving`. */
static host_frame_t queue[QUEUE_FRAMES];
static uint8_t queue_first;
static uint8_t queue_count;
static bool is_first_leaving;

static bool begin_next_frame(void *owner) {
  (void)owner;
  if (is_first_leaving) {
    is_first_leaving = false;
    queue_first = (uint8_t)((queue_first + 1) % QUEUE_FRAMES);
    queue_count--;
  }
  if (queue_count == 0) return false;
  is_first_leaving = true;
  const host_frame_t *first = &queue[queue_first];
  frame_transmit(&transmitter, &first->header, first->payload ? first->payload : first->words);
  return true;
}

void host_queue_add(const host_frame_t *frame) {
  if (queue_count == QUEUE_FRAMES) return;
  queue[(queue_first + queue_count) % QUEUE_FRAMES] = *frame;
  queue_count++;
}

bool host_bytes_next(uint8_t *byte) { return frame_next_byte(&transmitter, byte); }

void host_queue_begin(void) { frame_transmitter_begin(&transmitter, NULL, begin_next_frame); }
