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

/* Of the generated src/weights.c: the sectors of the slots, and the bytes of a slot. The one in use begins with
 * weights_file; of the linker script: the staging slot, null (therefore weak) without one, or if the program reaches
 * into it. */
extern const flash_sizes_t weights_sizes;
extern const uint32_t weights_slot_bytes;
extern const uint32_t weights_staging[] __attribute__((weak));

/* Programs that take no new file have no_weights_update.c in place of weights_update.c. */

/* Copies the file of the staging slot, if there is a good one: to be called at the start, before the watchdog's. */
void weights_update_finish(void);

#endif
