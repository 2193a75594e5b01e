/* A serial flash that the QUADSPI maps into the address space. Programs without weights in it have
 * no_external_memory.c in place of external_memory.c. */
#ifndef EXTERNAL_MEMORY_H
#define EXTERNAL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define EXTERNAL_MEMORY_STATUS_BYTES 3

/* The commands of the flash and its clock. `*_lines` are 1, 2 or 4. */
typedef struct {
  uint32_t jedec_id;
  uint8_t size_bits; /* binary logarithm of its bytes */
  uint8_t prescaler; /* cycles of AHB in a cycle of its clock */
  uint8_t select_high_cycles;
  uint8_t status_bytes;
  uint8_t status[EXTERNAL_MEMORY_STATUS_BYTES]; /* status register, then configuration registers */
  uint8_t read_command;
  uint8_t command_lines;
  uint8_t address_lines;
  uint8_t data_lines;
  uint8_t mode_byte;
  uint8_t dummy_cycles;
} external_memory_t;

extern const external_memory_t board_external_memory; /* in the generated src/board.c */

/* Maps the flash, unless it answers with another JEDEC id or does not take its status. */
void external_memory_begin(void);

/* False if it is not mapped; `found` is the JEDEC id that it has answered. */
bool external_memory_check(uint32_t *found);

#endif
