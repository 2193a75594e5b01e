/* The run that the board is in, what ends it (a command of the host, a neighbour's newer run, a failure), and the waits
 * inside it.
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>

enum {
  RUN_STOPPED, /* after a reset, STOP or a failure: until the next run */
  RUN_READY,   /* waits for the input or the tensor of its first step */
  RUN_RUNNING
};

extern volatile uint8_t run_state;
extern volatile uint32_t run_number; /* 0 before the first */
extern uint32_t run_inference;       /* number of the one under way, from 0 */

/* Why the last run has ended, or does not go on. */
extern volatile uint8_t run_error;
extern volatile uint32_t run_error_detail;
extern bool run_keeps_times; /* each step the last one: a host may look at any time */

/* A request of the host that is executed between two steps, or while waiting; `type` 0: none. */
typedef struct {
  uint8_t type;
  uint8_t sequence;
  uint32_t run;
} run_request_t;

/* From the host's interrupt. A new request takes the place of one that has not been executed. */
void run_request(const run_request_t *request);

/* From interrupts: a neighbour is in a newer run. */
void run_join(uint32_t number);

/* Ends the run. The first failure counts. */
void run_fail(uint8_t code, uint32_t detail);

/* From interrupts: the run does not go on for the time being; 0 when it does. */
void run_warn(uint8_t code, uint32_t detail);

/* Whether the present step is to be left. */
bool run_has_ended(void);

/* Whether the ticker is to stay on: while waiting, and while a layer runs during which the cycle counter may wrap. */
bool run_needs_ticker(void);

/* From interrupts: the tasks below are to be called again. */
void run_look_again(void);

/* Whether a step waits. */
bool run_is_waiting(void);

/* Take what has ended the run: false, and 0, if there was nothing. To be called with interrupts masked. */
bool run_take_request(run_request_t *request);
bool run_take_failure(void);
uint32_t run_take_join(void);

/* Begins run `number` with inference 0, or ends the run for 0. */
void run_begin(uint32_t number);
void run_stop(void);

/* Waits until `is_over`; false when the run has ended before. Calls all tasks again and again, and sleeps in between if
 * all of them allow it.
 */
bool run_wait(bool (*is_over)(const void *), const void *what);

/* What a module does while the board waits: returns whether the core may sleep until the next interrupt. The linker
 * joins the tasks of all modules to one list, in any order.
 */
typedef bool (*run_task_t)(void);

/* Waits of the firmware block. In a library (firmware/library/split) they may return false at once instead, and the
 * step that waits is taken again from its beginning, unless run_may_block; it does without tasks.
 */
#ifndef RUN_IS_STEPWISE
#define RUN_IS_STEPWISE 0
static inline bool run_may_block(void) { return true; }

extern const run_task_t __start_run_tasks[];
extern const run_task_t __stop_run_tasks[];

#define RUN_TASK static const __attribute__((section("run_tasks"), used)) run_task_t
#endif

#endif
