#include "tinysplit.h"

#include <string.h>

#include "link_ports.h"
#include "error_codes.h"
#include "port.h"
#include "run.h"
#include "steps.h"
#include "transfers.h"

_Static_assert((int)TINYSPLIT_NO_ANSWER == ERROR_LINK_NO_ANSWER && (int)TINYSPLIT_CORRUPT == ERROR_LINK_CORRUPT &&
                   (int)TINYSPLIT_OTHER_RUN == ERROR_LINK_OTHER_RUN,
               "tinysplit.h has the codes of the protocol");

uart_link_t board_link_uarts[TINYSPLIT_LINKS];
link_t board_links[TINYSPLIT_LINKS];
const uint8_t board_link_count = TINYSPLIT_LINKS;

const tinysplit_calls_t tinysplit_calls = {.received = port_received, .sent = port_sent, .tick = port_tick};

static const tinysplit_application_t *application;
static const void *given; /* of tinysplit_infer: the input, */
static void *wanted;      /* and where the output goes */
static uint8_t failure;

static bool take_input(void *to) {
#ifdef TINYSPLIT_INPUTS
  if (given) {
    memcpy(to, given, TINYSPLIT_INPUT_BYTES);
    return true;
  }
  return application && application->input && application->input(application->context, to);
#else
  (void)to;
  return false;
#endif
}

static void give_output(const void *from) {
#ifdef TINYSPLIT_OUTPUTS
  if (wanted) {
    memcpy(wanted, from, TINYSPLIT_OUTPUT_BYTES);
  } else if (application && application->output) {
    application->output(application->context, from);
  }
#else
  (void)from;
#endif
}

/* Errors of links have the cut as their detail. */
static void tell_failure(uint8_t code, uint32_t cut) {
  failure = code;
  if (!application || !application->failure) return;
  application->failure(application->context, (tinysplit_failure_t)code, (uint8_t)(transfers_neighbour(cut) + 1u));
}

static const steps_events_t events = {.input = take_input, .output = give_output, .failure = tell_failure};

void tinysplit_begin(const tinysplit_port_t *port, const tinysplit_application_t *own, uint32_t seed) {
  application = own;
  port_begin(port);
  steps_begin(&events, seed);
}

bool tinysplit_poll(void) {
  steps_progress_t progress;
  port_tick();
  do {
    progress = steps_go_on();
  } while (progress == STEPS_GO_ON);
  return progress == STEPS_HAVE_RUN;
}

tinysplit_failure_t tinysplit_run_one(const void *input, void *output) {
  uint32_t before = steps_inferences;
  given = input;
  wanted = output;
  failure = TINYSPLIT_NO_FAILURE;
  run_blocks = true;
  while (steps_inferences == before && failure == TINYSPLIT_NO_FAILURE) {
    if (steps_go_on() != STEPS_WAIT) continue;
    port_sleep();
    port_tick();
  }
  run_blocks = false;
  given = NULL;
  wanted = NULL;
  return (tinysplit_failure_t)failure;
}

bool tinysplit_is_running(void) { return run_state != RUN_STOPPED && transfers_are_joined(); }
