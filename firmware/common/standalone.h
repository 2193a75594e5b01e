/* Runs without a host: `generate --standalone`, which defines STANDALONE and writes standalone_settings.h. The board
 * that reads the input begins them by itself, the others join. Otherwise nothing of this is in the program.
 *
 * A host may begin a run of its own at any time. It has the boards until it has asked nothing for STANDALONE_HOST_MS. A
 * run that comes from a neighbour is a host's, too, if it asks for it here within STANDALONE_JOIN_MS.
 */
#ifndef STANDALONE_H
#define STANDALONE_H

#include <stdbool.h>
#include <stdint.h>

#include "reset.h"

#ifdef STANDALONE
#include "standalone_settings.h"
#endif

enum { STANDALONE_HOST_MS = 30000, STANDALONE_JOIN_MS = 1000, STANDALONE_RESTART_MS = 10, STANDALONE_WATCH_MS = 2000 };

/* Since the reset; IDENTIFY tells them. */
typedef struct {
  uint32_t runs;
  uint32_t failures;
  uint32_t failure; /* error code of the last one */
  uint32_t failure_detail;
  uint32_t dropped; /* inputs that were due while the board was busy, and not taken */
  uint32_t inputs;
  uint32_t outputs;
} standalone_counters_t;

#ifdef STANDALONE

extern standalone_counters_t standalone_counters;

enum { STANDALONE_IS_BUILT = 1 };

/* To be called before anything writes to the arena. */
void standalone_begin(void);

/* Other than that of all starts before, also over power cuts; by it neighbours notice that the board was away. */
uint32_t standalone_boot_count(void);

/* Whether the run is the boards' own, and not the host's. */
bool standalone_is_own(void);

#ifdef STOP_MODE
/* Whether the host has asked nothing for STANDALONE_WATCH_MS, and the board may stop. */
bool standalone_host_is_quiet(void);
#endif

/* Whether a run is to be begun, for run_wait, and its number. */
bool standalone_is_due(const void *unused);
uint32_t standalone_next_run(void);

/* What happens: a run begins, it has failed (run_error), an output is there, the board is in no run; the host begins or
 * stops a run, or asks anything. */
void standalone_note_run(uint32_t run);
void standalone_note_failure(void);
void standalone_note_output(void);
void standalone_note_stop(void);
void standalone_yield(void);
void standalone_note_host(void);

#else

enum { STANDALONE_IS_BUILT = 0 };

static inline void standalone_begin(void) {}
static inline uint32_t standalone_boot_count(void) { return reset_count; }
static inline bool standalone_is_own(void) { return false; }
static inline bool standalone_is_due(const void *unused) {
  (void)unused;
  return false;
}
static inline uint32_t standalone_next_run(void) { return 0; }
static inline void standalone_note_run(uint32_t run) { (void)run; }
static inline void standalone_note_failure(void) {}
static inline void standalone_note_output(void) {}
static inline void standalone_note_stop(void) {}
static inline void standalone_yield(void) {}
static inline void standalone_note_host(void) {}

#endif

#endif
