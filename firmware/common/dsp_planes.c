#include "dsp_planes.h"

void dsp_planes_set(int16_t *plane, int32_t size, int32_t count, int32_t value) {
  dsp_fill_halves(plane, value, count);
  dsp_fill_halves(plane + size, value, count);
}

void dsp_planes_move_up(int16_t *plane, int32_t size, int32_t count, int32_t distance) {
  for (int32_t i = 0; i < 2; i++) {
    dsp_copy_halves(plane + i * size + distance, plane + i * size, count);
  }
}
