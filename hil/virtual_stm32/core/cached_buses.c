/* Memories of Cortex-M7 behind its caches: lines come over AXI; TCM is as fast as the core. Or the flash of a Cortex-M33
 * behind an ICACHE, which holds code and constants.
 *
 * A miss waits until the bus is free, for the first beat of its line if it reads data (critical word first), and for the
 * whole line if it fetches code. A write that misses fetches its line (write-allocate) while the core goes on, but the
 * bus has to be free. Lines are replaced in turn; in the ICACHE the one that was used last stays. A line that was written goes back over the bus when it is replaced.
 */
#include <stdbool.h>
#include <string.h>

#include "memory_model.h"

enum { SETS_MOST = 512, WAYS_MOST = 4, REGIONS_MOST = 8, FETCH_BYTES = 8 };

typedef struct {
  uint32_t sets;
  uint32_t ways;
  bool is_on;
  uint32_t lines[SETS_MOST][WAYS_MOST]; /* address / line_bytes + 1, 0 for none */
  bool is_dirty[SETS_MOST][WAYS_MOST];
  uint8_t next[SETS_MOST]; /* way to be replaced */
} sets_t;

/* Cycles of the core. */
typedef struct {
  uint32_t start;
  uint32_t size;
  uint32_t first_cycles; /* that the core waits for the first beat */
  uint32_t line_cycles; /* from the first beat to the last of a line */
  bool is_constant;
} region_t;

typedef struct {
  memory_t memory;
  sets_t code;
  sets_t data;
  uint32_t line_bytes;
  bool is_unified; /* `code` has constants, too */
  region_t regions[REGIONS_MOST];
  uint32_t region_count;
  uint64_t bus_free_at;
  uint32_t fills;
} buses_t;

/* The cache of what is read. */
static sets_t *data_of(buses_t *buses) { return buses->is_unified ? &buses->code : &buses->data; }

static const region_t *find_region(const buses_t *buses, uint32_t address) {
  for (uint32_t i = 0; i < buses->region_count; i++) {
    if (address - buses->regions[i].start < buses->regions[i].size) return &buses->regions[i];
  }
  return NULL;
}

/* Returns -1 for a line that is not in the cache; when it is off, none is (`forget`). */
static int find_way(const sets_t *cache, uint32_t line) {
  const uint32_t *ways = cache->lines[line % cache->sets];
  for (uint32_t way = 0; way < cache->ways; way++) {
    if (ways[way] == line + 1) return (int)way;
  }
  return -1;
}

/* Whether a line is in the cache, which is used. */
static bool holds(buses_t *buses, sets_t *cache, uint32_t line) {
  int way = find_way(cache, line);
  if (way >= 0 && buses->is_unified) cache->next[line % cache->sets] = (uint8_t)(1 - way);
  return way >= 0;
}

/* Puts a line into the cache; returns whether the line that it replaces has to be written. */
static bool replace(sets_t *cache, uint32_t line, bool is_dirty) {
  uint32_t set = line % cache->sets, way = cache->next[set];
  bool writes = cache->is_dirty[set][way];
  cache->lines[set][way] = line + 1;
  cache->is_dirty[set][way] = is_dirty;
  cache->next[set] = (uint8_t)((way + 1) % cache->ways);
  return writes;
}

/* Begins to fill a line; returns the cycle of its first beat. */
static uint64_t begin_fill(buses_t *buses, sets_t *cache, const region_t *region, uint32_t line, uint64_t cycle,
                           bool is_dirty) {
  uint64_t first = later_of(cycle, buses->bus_free_at) + region->first_cycles;
  buses->bus_free_at = first + region->line_cycles;
  if (replace(cache, line, is_dirty)) buses->bus_free_at += region->line_cycles;
  buses->fills++;
  return first;
}

static uint64_t access_directly(buses_t *buses, const region_t *region, uint64_t cycle) {
  uint64_t first = later_of(cycle, buses->bus_free_at) + region->first_cycles;
  buses->bus_free_at = first;
  buses->fills++;
  return first;
}

/* Returns the cycle of the first beat of a line that is not in the cache. */
static uint64_t reach(buses_t *buses, sets_t *cache, const region_t *region, uint32_t line, uint64_t cycle,
                      bool is_dirty) {
  if (cache->is_on) return begin_fill(buses, cache, region, line, cycle, is_dirty);
  return access_directly(buses, region, cycle);
}

static uint32_t fetch(memory_t *memory, uint32_t address, uint64_t cycle) {
  buses_t *buses = (buses_t *)memory;
  uint32_t line = address / buses->line_bytes;
  if (holds(buses, &buses->code, line)) return 0;
  const region_t *region = find_region(buses, address);
  if (!region) return 0;
  if (buses->code.is_on) {
    uint64_t first = begin_fill(buses, &buses->code, region, line, cycle, false);
    return stalled(memory, CODE, first + region->line_cycles, cycle);
  }
  uint64_t ready = cycle;
  for (uint32_t i = 0; i < buses->line_bytes / FETCH_BYTES; i++) ready = access_directly(buses, region, ready);
  return stalled(memory, CODE, ready, cycle);
}

static uint32_t read(memory_t *memory, uint32_t address, uint64_t cycle) {
  buses_t *buses = (buses_t *)memory;
  uint32_t line = address / buses->line_bytes;
  if (holds(buses, data_of(buses), line)) return 0;
  const region_t *region = find_region(buses, address);
  if (!region) return 0;
  uint64_t first = reach(buses, data_of(buses), region, line, cycle, false);
  return stalled(memory, region->is_constant ? CONSTANTS : VALUES, first, cycle);
}

static uint32_t write(memory_t *memory, uint32_t address, uint64_t cycle) {
  buses_t *buses = (buses_t *)memory;
  uint32_t line = address / buses->line_bytes;
  int way = find_way(&buses->data, line);
  if (way >= 0) {
    buses->data.is_dirty[line % buses->data.sets][way] = true;
    return 0;
  }
  const region_t *region = find_region(buses, address);
  if (!region) return 0;
  uint64_t free_at = buses->bus_free_at;
  reach(buses, &buses->data, region, line, cycle, true);
  return stalled(memory, VALUES, free_at, cycle);
}

/* While no line is filled and no access passes the caches, all hit. */
static size_t state(const memory_t *memory, uint64_t cycle, uint32_t words[STATE_WORDS]) {
  const buses_t *buses = (const buses_t *)memory;
  words[0] = buses->fills;
  words[1] = buses->bus_free_at > cycle ? (uint32_t)(buses->bus_free_at - cycle) : 0;
  return 2;
}

static void forget(sets_t *cache) {
  memset(cache->lines, 0, sizeof cache->lines);
  memset(cache->is_dirty, 0, sizeof cache->is_dirty);
}

/* Called from Python */

size_t buses_bytes(void) { return sizeof(buses_t); }

void buses_begin(buses_t *buses, uint32_t line_bytes, uint32_t code_sets, uint32_t code_ways, uint32_t data_sets,
                 uint32_t data_ways) {
  memset(buses, 0, sizeof *buses);
  buses->memory = (memory_t){.fetch = fetch, .read = read, .write = write, .state = state, .fetch_bytes = line_bytes};
  buses->line_bytes = line_bytes;
  buses->is_unified = !data_sets;
  buses->code.sets = code_sets;
  buses->code.ways = code_ways;
  buses->data.sets = data_sets;
  buses->data.ways = data_ways;
}

/* Sets how long a memory takes; the first call for its `start` adds it. */
void buses_set(buses_t *buses, uint32_t start, uint32_t size, uint32_t first_cycles, uint32_t line_cycles,
               bool is_constant) {
  uint32_t i = 0;
  while (i < buses->region_count && buses->regions[i].start != start) i++;
  buses->regions[i] = (region_t){start, size, first_cycles, line_cycles, is_constant};
  if (i == buses->region_count) buses->region_count++;
  uint32_t longest = 3 * line_cycles + first_cycles * (buses->line_bytes / FETCH_BYTES + 1);
  if (longest > buses->memory.longest_stall) buses->memory.longest_stall = longest;
}

/* CCR IC and DC; a cache that is off is empty when it is switched on again. */
void buses_switch(buses_t *buses, bool code_is_on, bool data_is_on) {
  if (!code_is_on) forget(&buses->code);
  if (!data_is_on) forget(&buses->data);
  buses->code.is_on = code_is_on;
  buses->data.is_on = data_is_on;
}

/* Cleans the line at an address of the data cache, or removes it. */
void buses_maintain(buses_t *buses, uint32_t address, bool cleans, bool invalidates) {
  uint32_t line = address / buses->line_bytes, set = line % buses->data.sets;
  int way = find_way(&buses->data, line);
  if (way < 0) return;
  if (cleans) buses->data.is_dirty[set][way] = false;
  if (invalidates) buses->data.lines[set][way] = 0;
}
