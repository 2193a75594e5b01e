/* Flash of G0, F4 and L4: wait states, prefetch, and caches of lines that LRU replaces (ART accelerator).
 *
 * One port serves fetches and data. An access reads `access_bytes`; a line is filled access by access. A read that the
 * port has begun ends before the next begins, also a prefetch that nobody needs any more.
 */
#include <stdbool.h>
#include <string.h>

#include "memory_model.h"

enum { LINES_MOST = 64, RING = LINES_MOST, NOWHERE = 0xFFFFFFFF };

#define FIRST_SYSTEM_ADDRESS 0x20000000u

/* Fully associative. The lines are in a ring in the order of their use, in which RING is before the oldest and after the
 * newest one.
 */
typedef struct {
  uint32_t lines; /* 0 without a cache */
  uint32_t accesses; /* in a line */
  bool is_on;
  uint32_t line[LINES_MOST];
  uint32_t parts[LINES_MOST]; /* bits of the accesses that are filled */
  uint32_t count; /* of the lines that are in use */
  uint8_t older[LINES_MOST + 1];
  uint8_t newer[LINES_MOST + 1];
  uint8_t *places; /* index + 1 of each line of the flash, 0 if it is not in the cache */
} lines_t;

typedef struct {
  memory_t memory;
  uint32_t start;
  uint32_t size;
  uint32_t access_bytes;
  uint32_t wait_states;
  bool prefetches;
  bool keeps_prefetched; /* in the cache, once they are used */
  uint32_t system_bus_cycles; /* of a word of code at the system addresses of SRAM */
  uint32_t new_line_cycles; /* more for a taken branch into another line that is in the cache */
  lines_t code;
  lines_t data;
  uint32_t current; /* number of the access that the last fetch took */
  uint32_t prefetched;
  uint64_t prefetched_at;
  uint64_t port_free_at;
  uint64_t system_bus_free_at;
} flash_t;

static bool is_held(const lines_t *cache, uint32_t access) {
  if (!cache->is_on) return false;
  uint32_t place = cache->places[access / cache->accesses];
  return place && cache->parts[place - 1] >> access % cache->accesses & 1u;
}

static void take_out(lines_t *cache, uint32_t place) {
  cache->newer[cache->older[place]] = cache->newer[place];
  cache->older[cache->newer[place]] = cache->older[place];
}

static void put_newest(lines_t *cache, uint32_t place) {
  cache->older[place] = cache->older[RING];
  cache->newer[place] = RING;
  cache->newer[cache->older[RING]] = (uint8_t)place;
  cache->older[RING] = (uint8_t)place;
}

static void use(lines_t *cache, uint32_t place) {
  take_out(cache, place);
  put_newest(cache, place);
}

/* As is_held, for an access that uses the line. */
static bool holds(lines_t *cache, uint32_t access) {
  if (!is_held(cache, access)) return false;
  use(cache, cache->places[access / cache->accesses] - 1u);
  return true;
}

/* Returns a place without a line, that of the oldest line where all are in use. */
static uint32_t free_place(lines_t *cache) {
  if (cache->count < cache->lines) return cache->count++;
  uint32_t oldest = cache->newer[RING];
  cache->places[cache->line[oldest]] = 0;
  take_out(cache, oldest);
  return oldest;
}

static void fill(lines_t *cache, uint32_t access) {
  if (!cache->is_on) return;
  uint32_t line = access / cache->accesses;
  if (cache->places[line]) {
    use(cache, cache->places[line] - 1u);
  } else {
    uint32_t place = free_place(cache);
    cache->line[place] = line;
    cache->parts[place] = 0;
    cache->places[line] = (uint8_t)(place + 1);
    put_newest(cache, place);
  }
  cache->parts[cache->places[line] - 1] |= 1u << access % cache->accesses;
}

/* Returns the cycle in which a read that begins at `cycle` or later gives its data. */
static uint64_t read_port(flash_t *flash, uint64_t cycle) {
  uint64_t ready = later_of(cycle, flash->port_free_at) + flash->wait_states;
  flash->port_free_at = ready + 1;
  return ready;
}

static void prefetch(flash_t *flash, uint64_t cycle) {
  uint32_t next = flash->current + 1;
  if (!flash->prefetches || flash->prefetched == next || is_held(&flash->code, next)) return;
  flash->prefetched = next;
  flash->prefetched_at = read_port(flash, cycle);
}

static bool is_other_line(const flash_t *flash, uint32_t access) {
  bool is_next = access == flash->current + 1;
  return !is_next && access / flash->code.accesses != flash->current / flash->code.accesses;
}

static uint64_t fetched_at(flash_t *flash, uint32_t access, uint64_t cycle) {
  if (holds(&flash->code, access)) return cycle + (is_other_line(flash, access) ? flash->new_line_cycles : 0);
  if (flash->prefetched == access) {
    if (flash->keeps_prefetched) fill(&flash->code, access);
    return flash->prefetched_at;
  }
  fill(&flash->code, access);
  return read_port(flash, cycle);
}

static uint32_t fetch_from_ram(flash_t *flash, uint32_t address, uint64_t cycle) {
  if (address < FIRST_SYSTEM_ADDRESS) return 0;
  uint64_t ready = later_of(cycle, flash->system_bus_free_at);
  flash->system_bus_free_at = ready + flash->system_bus_cycles * flash->access_bytes / 4;
  return stalled(&flash->memory, CODE, ready, cycle);
}

static uint32_t fetch(memory_t *memory, uint32_t address, uint64_t cycle) {
  flash_t *flash = (flash_t *)memory;
  if (address - flash->start >= flash->size) return fetch_from_ram(flash, address, cycle);
  uint32_t access = (address - flash->start) / flash->access_bytes;
  if (access == flash->current) return 0;
  uint64_t ready = fetched_at(flash, access, cycle);
  flash->current = access;
  prefetch(flash, later_of(cycle, ready));
  return stalled(memory, CODE, ready, cycle);
}

static uint32_t read(memory_t *memory, uint32_t address, uint64_t cycle) {
  flash_t *flash = (flash_t *)memory;
  if (address - flash->start >= flash->size) return 0;
  uint32_t access = (address - flash->start) / flash->access_bytes;
  if (holds(&flash->data, access)) return 0;
  fill(&flash->data, access);
  return stalled(memory, CONSTANTS, read_port(flash, cycle), cycle);
}

static uint32_t write(memory_t *memory, uint32_t address, uint64_t cycle) {
  (void)memory;
  (void)address;
  (void)cycle;
  return 0;
}

static uint32_t remaining(uint64_t at, uint64_t cycle) { return at > cycle ? (uint32_t)(at - cycle) : 0; }

/* The lines in the order of their use. */
static size_t order(const lines_t *cache, uint32_t *words) {
  size_t count = 0;
  for (uint32_t place = cache->older[RING]; place != RING; place = cache->older[place]) {
    words[count++] = cache->line[place] << 8 | cache->parts[place];
  }
  return count;
}

static size_t state(const memory_t *memory, uint64_t cycle, uint32_t words[STATE_WORDS]) {
  const flash_t *flash = (const flash_t *)memory;
  size_t count = 0;
  words[count++] = flash->current;
  words[count++] = flash->prefetched;
  words[count++] = remaining(flash->prefetched_at, cycle);
  words[count++] = remaining(flash->port_free_at, cycle);
  words[count++] = remaining(flash->system_bus_free_at, cycle);
  count += order(&flash->code, words + count);
  return count + order(&flash->data, words + count);
}

static void forget(lines_t *cache) {
  for (uint32_t place = 0; place < cache->count; place++) cache->places[cache->line[place]] = 0;
  cache->count = 0;
  cache->older[RING] = cache->newer[RING] = RING;
}

/* Called from Python */

size_t flash_bytes(void) { return sizeof(flash_t); }

/* `places` has a byte for each line of the flash, for code and then for data, all 0. */
void flash_begin(flash_t *flash, uint32_t start, uint32_t size, uint32_t access_bytes, uint32_t line_bytes,
                 uint32_t code_lines, uint32_t data_lines, bool keeps_prefetched, uint32_t system_bus_cycles,
                 uint32_t new_line_cycles, uint8_t *places) {
  memset(flash, 0, sizeof *flash);
  flash->memory = (memory_t){.fetch = fetch, .read = read, .write = write, .state = state, .fetch_bytes = access_bytes};
  flash->start = start;
  flash->size = size;
  flash->access_bytes = access_bytes;
  flash->keeps_prefetched = keeps_prefetched;
  flash->system_bus_cycles = system_bus_cycles;
  flash->new_line_cycles = new_line_cycles;
  flash->code.lines = code_lines;
  flash->data.lines = data_lines;
  flash->code.accesses = flash->data.accesses = line_bytes / access_bytes;
  flash->code.places = places;
  flash->data.places = places + size / line_bytes;
  flash->current = flash->prefetched = NOWHERE;
  forget(&flash->code);
  forget(&flash->data);
}

/* What FLASH_ACR sets. A cache that is off is empty when it is switched on again. */
void flash_set(flash_t *flash, uint32_t wait_states, bool prefetches, bool code_is_on, bool data_is_on) {
  flash->wait_states = wait_states;
  flash->memory.longest_stall = 2 * (wait_states + 1) + flash->new_line_cycles;
  flash->prefetches = prefetches;
  if (!code_is_on) forget(&flash->code);
  if (!data_is_on) forget(&flash->data);
  flash->code.is_on = code_is_on && flash->code.lines;
  flash->data.is_on = data_is_on && flash->data.lines;
}
