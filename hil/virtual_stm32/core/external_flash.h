/* A serial flash that the QUADSPI maps: it reads ahead into a FIFO, and a jump begins a new command. By the registers of
 * the QUADSPI; the Python part sets the fields.
 *
 * RM0351, section QUADSPI memory-mapped mode: while the FIFO has room, the bytes behind the last access are read; an
 * access that continues takes them from the FIFO. Chip select goes high when the FIFO was full for the time of LPTR. Not
 * in the manual, taken as what costs most: any other address than the next one ends the command, also one that is in the
 * FIFO, and the FIFO is lost when chip select goes high.
 */
#ifndef EXTERNAL_FLASH_H
#define EXTERNAL_FLASH_H

#include <stdbool.h>
#include <stdint.h>

enum { EXTERNAL_STATE_WORDS = 4 };

typedef struct {
  uint32_t start;
  uint32_t size;
  uint32_t is_mapped;
  uint32_t fifo_bytes;
  uint32_t burst_cycles; /* of the core, from an access that jumps to the begin of its first byte */
  uint32_t byte_cycles;
  uint32_t idle_cycles; /* after which a full FIFO ends the command, 0: never */
  uint32_t is_reading; /* a command is under way */
  uint32_t next; /* address of the first byte in the FIFO */
  uint32_t level; /* bytes in the FIFO at `since` */
  uint64_t since; /* cycle: the FIFO is full since then, or the next byte begins */
  uint64_t read_cycles; /* in which the flash was read, since the start */
} external_t;

/* Lets the flash read ahead until `cycle`. */
static inline void external_advance(external_t *flash, uint64_t cycle) {
  if (!flash->is_reading || cycle <= flash->since) return;
  uint64_t passed = cycle - flash->since, room = flash->fifo_bytes - flash->level;
  uint64_t bytes = passed / flash->byte_cycles < room ? passed / flash->byte_cycles : room;
  flash->level += (uint32_t)bytes;
  flash->since += bytes * flash->byte_cycles;
  flash->read_cycles += bytes * flash->byte_cycles;
  bool is_idle = flash->level == flash->fifo_bytes && cycle - flash->since > flash->idle_cycles;
  if (is_idle && flash->idle_cycles) flash->is_reading = false;
}

/* Returns the cycle in which `size` bytes at `address` have been read, for an access at `cycle`. */
static inline uint64_t external_ready(external_t *flash, uint32_t address, uint32_t size, uint64_t cycle) {
  external_advance(flash, cycle);
  if (!flash->is_reading || address != flash->next) {
    flash->is_reading = true;
    flash->level = 0;
    flash->since = cycle + flash->burst_cycles;
    flash->read_cycles += flash->burst_cycles;
  }
  if (flash->level == flash->fifo_bytes) flash->since = cycle; /* there is room again */
  uint64_t ready = cycle;
  if (flash->level < size) {
    uint64_t cycles = (uint64_t)(size - flash->level) * flash->byte_cycles;
    flash->read_cycles += cycles;
    flash->since += cycles;
    flash->level = size;
    ready = flash->since;
  }
  flash->level -= size;
  flash->next = address + size;
  return ready;
}

/* Writes what later accesses depend on, relative to `cycle`. */
static inline void external_state(external_t *flash, uint64_t cycle, uint32_t words[EXTERNAL_STATE_WORDS]) {
  external_advance(flash, cycle);
  words[0] = flash->is_reading;
  words[1] = flash->next;
  words[2] = flash->level;
  words[3] = flash->level == flash->fifo_bytes ? 0 : (uint32_t)(flash->since - cycle);
}

#endif
