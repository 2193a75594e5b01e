#include "tinysplit.h"

#include <string.h>

#include "network.h"
#include "schedule.h"

uint64_t schedule_excluded_ticks;

void tinysplit_init(void) {
  memset(network_arena, 0, TINYSPLIT_ARENA_BYTES);
  network_begin_run();
}

void tinysplit_run(const tinysplit_input_t *input, tinysplit_output_t *output) {
  memcpy(network_arena + network_input.offset, input, TINYSPLIT_INPUT_BYTES);
  for (uint32_t i = 0; i < network_step_count; i++) {
    if (network_steps[i].kind == NETWORK_RUN) network_steps[i].what.run();
  }
  memcpy(output, network_arena + network_output.offset, TINYSPLIT_OUTPUT_BYTES);
}
