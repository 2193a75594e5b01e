/* Reads of flash whose programming or erasing may have been interrupted: by a supply that failed, or a reset.
 *
 * Flash of G0, L4 and H7 has an error correction, which may fail for the word that was being changed. Its read then
 * raises an NMI (G0, L4) or a bus fault (H7). Between the two functions here, that is noted and the program goes on;
 * anywhere else, or for words that are not read there, it is a fault like others. Flash of F4 and F7 has none: such
 * words have some value.
 */
#ifndef FLASH_ERRORS_H
#define FLASH_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

/* Which reads were under way: those of the program when an interrupt reads, too. */
typedef struct {
  uint32_t start;
  uint32_t bytes;
  bool has_failed;
} flash_errors_t;

/* Reads of these bytes begin. They must be few: on H7 no interrupt comes in between. */
flash_errors_t flash_errors_begin(const void *start, uint32_t bytes);

/* They are over, and those `before` go on. True if the error correction has failed: what was read is not what is there.
 */
bool flash_errors_end(flash_errors_t before);

#endif
