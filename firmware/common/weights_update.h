/* Takes a new configuration file over the host port, while no run is under way.
 *
 * The file goes to the staging slot, if the flash has one: the board comes back with the old file or with the new one,
 * whenever its supply fails. The first FLASH_UNIT_BYTES are programmed when all others are right; then the slot has a
 * good file, and the board copies it at its next start, from the begin if that is interrupted. Without a staging slot
 * the new file is written over the old one, and a board whose supply fails has none until the host sends it again.
 * Programs that take signed files only take none without a staging slot, and never an older one.
 */
#ifndef WEIGHTS_UPDATE_H
#define WEIGHTS_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "flash_memory.h"

enum { WEIGHTS_PART_BYTES = 512 }; /* of a WRITE_WEIGHTS, at most */

/* Of the generated src/weights.c: the sectors of the slots, and the bytes of a slot. The one in use begins with
 * weights_file; of the linker script: the staging slot, null if the program reaches into it. */
extern const flash_sizes_t weights_sizes;
extern const uint32_t weights_slot_bytes;
extern const uint32_t weights_staging[] __attribute__((weak));

/* In programs without such a file, these functions are absent. */

/* Copies the file of the staging slot, if there is a good one: to be called at the start, before the watchdog's. */
void weights_update_finish(void) __attribute__((weak));

/* From the host's interrupt: where the data of a request go; NULL while one is executed, or for too many bytes. */
uint8_t *weights_update_place(uint32_t bytes) __attribute__((weak));

/* From the host's interrupt: a request that has come. BEGIN_WEIGHTS: `value` is 1 if an older file may replace a newer
 * one, and the header of the file follows. WRITE_WEIGHTS: `value` is the offset of the data. False while another one
 * is executed. */
bool weights_update_request(uint8_t type, uint8_t sequence, uint32_t value, uint32_t bytes) __attribute__((weak));

/* Executes a request that waits. A run ends what was begun and not committed. */
void weights_update_obey(void) __attribute__((weak));

/* Defined by host.c: a request has been executed, with this result. */
void weights_update_on_done(uint8_t type, uint8_t sequence, uint8_t code, uint32_t detail);

/* The bytes of the staging slot, 0 without one. */
uint32_t weights_update_staging_bytes(void) __attribute__((weak));

#endif
