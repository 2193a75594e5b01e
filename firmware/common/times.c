#include "times.h"

#include "cycle_counter.h"
#include "interrupts.h"
#include "network.h"

volatile uint32_t times_link_ticks;
volatile bool times_keep_clock;

void times_clear(void) {
  for (uint32_t i = 0; i < network_step_count; i++) {
    network_times[i] = (network_time_t){.kind = network_steps[i].kind, .index = network_steps[i].index};
  }
}

void times_set(uint32_t record, uint64_t ticks, uint32_t repeats) {
  network_time_t *time = &network_times[record];
  uint32_t shift = 0;
  for (; ticks >> 32; ticks >>= 1) shift++;
  time->kind = (uint8_t)(network_steps[record].kind | shift << NETWORK_SHIFT_POS);
  time->repeats = (uint8_t)(repeats < UINT8_MAX ? repeats : UINT8_MAX);
  time->ticks = (uint32_t)ticks;
}

void times_note_end(uint32_t step) {
  static uint32_t noted;
  uint32_t lock = interrupts_lock();
  if (times_keep_clock) {
    network_ended[step] = (uint32_t)cycle_counter_now();
    network_link_ticks[step] = times_link_ticks - noted;
  }
  noted = times_link_ticks;
  interrupts_unlock(lock);
}
