/* The calls of the user's application, src/application.c of the project: of the functions that its
 * include/application.h names, and no others. Such programs define APPLICATION.
 *
 * A word that survives resets says which function runs, so that a board which one of them has blocked names it after
 * the reset by the watchdog.
 */
#ifndef APPLICATION_CALLS_H
#define APPLICATION_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "network.h"

#ifdef APPLICATION
#include "application.h"
#endif

#define APPLICATION_IS_CALLED \
  (APPLICATION_BEGIN || APPLICATION_INPUT || APPLICATION_OUTPUT || APPLICATION_FAILURE || APPLICATION_IDLE)

/* The detail of ERROR_APPLICATION_BLOCKED. */
typedef enum {
  APPLICATION_CALL_BEGIN = 1,
  APPLICATION_CALL_INPUT,
  APPLICATION_CALL_OUTPUT,
  APPLICATION_CALL_FAILURE,
  APPLICATION_CALL_IDLE
} application_call_t;

void application_calls_enter(application_call_t call);
void application_calls_leave(void);

/* Constructs static objects of C++, and says that the application has blocked the board until the watchdog reset it, if
 * it has. Returns whether the application is to be told, after it has begun: not where telling it has blocked the
 * board, which would go on for ever.
 */
bool application_calls_prepare(void);

/* Tells the application why a run has ended (run_error). */
void application_calls_tell_failure(void);

static inline void application_calls_failure(void) {
#if APPLICATION_FAILURE
  application_calls_tell_failure();
#endif
}

/* To be called once, after all of the firmware has begun. */
static inline void application_calls_begin(void) {
#if APPLICATION_IS_CALLED
  bool is_to_be_told = application_calls_prepare();
#endif
#if APPLICATION_BEGIN
  application_calls_enter(APPLICATION_CALL_BEGIN);
  application_begin();
  application_calls_leave();
#endif
#if APPLICATION_IS_CALLED
  if (is_to_be_told) application_calls_failure();
#endif
}

/* False without an application that has inputs, and while there is none. */
static inline bool application_calls_input(void *input) {
  bool is_there = false;
#if APPLICATION_INPUT
  application_calls_enter(APPLICATION_CALL_INPUT);
  is_there = application_input(input);
  application_calls_leave();
#else
  (void)input;
#endif
  return is_there;
}

static inline void application_calls_output(const void *output) {
#if APPLICATION_OUTPUT
  application_calls_enter(APPLICATION_CALL_OUTPUT);
  application_output(output);
  application_calls_leave();
#else
  (void)output;
#endif
}

#endif
