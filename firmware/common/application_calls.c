#include "application_calls.h"

#include "error_codes.h"
#include "host_events.h"
#include "reset.h"
#include "run.h"
#include "standalone.h"
#include "transfers.h"

/* Nothing in this file runs for each byte: its size counts. */
#pragma GCC optimize("Os")

#define KEPT_KEY 0x7E57A991u

static uint32_t kept_call __attribute__((section(".noinit")));

void application_calls_enter(application_call_t call) { kept_call = KEPT_KEY ^ (uint32_t)call; }

void application_calls_leave(void) { kept_call = 0; }

/* Of the linker script: constructors of static objects, where the application is C++. */
extern void (*const __init_array_start[])(void);
extern void (*const __init_array_end[])(void);

bool application_calls_prepare(void) {
  for (void (*const *each)(void) = __init_array_start; each != __init_array_end; each++) (*each)();
  uint32_t call = kept_call ^ KEPT_KEY;
  application_calls_leave();
  if (reset_cause != RESET_WATCHDOG || call == 0 || call > APPLICATION_CALL_IDLE) return false;
  run_error = ERROR_APPLICATION_BLOCKED;
  run_error_detail = call;
  standalone_note_failure();
  host_tell_error(ERROR_APPLICATION_BLOCKED, call);
  if (call == APPLICATION_CALL_BEGIN) application_calls_failure(); /* it may never return */
  return call != APPLICATION_CALL_BEGIN && call != APPLICATION_CALL_FAILURE;
}

#if APPLICATION_FAILURE
/* Errors of links have the cut as their detail. */
static uint32_t board_of_failure(void) {
  uint8_t code = run_error;
  bool is_of_link = code == ERROR_LINK_NO_ANSWER || code == ERROR_LINK_OTHER_RUN ||
                    (code >= ERROR_LINK_PEER_STOPPED && code <= ERROR_LINK_CORRUPT);
  return is_of_link ? transfers_neighbour(run_error_detail) : network_board_index;
}

void application_calls_tell_failure(void) {
  application_calls_enter(APPLICATION_CALL_FAILURE);
  application_failure(run_error, (uint8_t)(board_of_failure() + 1u));
  application_calls_leave();
}
#endif

#if APPLICATION_IDLE
static bool idle(void) {
  application_calls_enter(APPLICATION_CALL_IDLE);
  application_idle();
  application_calls_leave();
  return true;
}

RUN_TASK task = idle;
#endif
