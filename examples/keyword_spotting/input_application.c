/* The board with the microphone. Ten times a second it gives the network the features of the last second. */
#include <string.h>

#include "application.h"
#include "application_features.h"
#include "application_microphone.h"

enum { FRAMES = TINYSPLIT_INPUT_1_HEIGHT, COEFFICIENTS = FEATURES_COEFFICIENTS, STEP = 5, KEPT = 64, MOST_LATE = 10 };

_Static_assert(TINYSPLIT_INPUT_VALUES == FRAMES * COEFFICIENTS, "the network takes the features of a second");

/* Written in an interrupt. FRAMES of them are read while it goes on: there are enough others. */
static int16_t kept_frames[KEPT][COEFFICIENTS];
static volatile uint32_t frame_count;
static uint32_t next = FRAMES; /* the input ends before this frame */

void application_begin(void) {
  features_begin();
  microphone_begin();
}

void microphone_heard(const int16_t *samples) {
  static bool has_begun;
  features_next(samples, kept_frames[frame_count % KEPT]);
  if (has_begun) frame_count++; /* the first hop is no whole window */
  has_begun = true;
}

bool application_input(tinysplit_input_t *input) {
  static int16_t window[FRAMES][COEFFICIENTS];
  uint32_t count = frame_count;
  if ((int32_t)(count - next) < 0) return false;
  if (count - next >= MOST_LATE) next = count;
  for (uint32_t i = 0; i < FRAMES; i++) {
    memcpy(window[i], kept_frames[(next - FRAMES + i) % KEPT], sizeof window[i]);
  }
  tinysplit_input_1_from_int16(input, window[0], FEATURES_SCALE, 0);
  next += STEP;
  return true;
}
