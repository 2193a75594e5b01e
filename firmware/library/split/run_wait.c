#include "port.h"
#include "run.h"
#include "ticker.h"

bool run_blocks;

static bool is_waiting;

bool run_is_waiting(void) { return is_waiting; }

void run_look_again(void) {}

bool run_wait(bool (*is_over)(const void *), const void *what) {
  is_waiting = true;
  while (!run_has_ended() && !is_over(what)) {
    if (!run_blocks) return false;
    port_sleep();
    port_tick();
  }
  is_waiting = false;
  if (run_has_ended()) return false;
  if (run_state == RUN_READY) run_state = RUN_RUNNING;
  return true;
}
