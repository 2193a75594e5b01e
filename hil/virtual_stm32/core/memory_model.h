/* A memory that makes the core wait. The functions of each kind return the cycles for which the core stops. */
#ifndef MEMORY_MODEL_H
#define MEMORY_MODEL_H

#include <stddef.h>
#include <stdint.h>

enum { STATE_WORDS = 256 };

typedef enum { CODE, CONSTANTS, VALUES, STALL_KINDS } stall_kind_t;

typedef struct memory memory_t;

struct memory {
  uint32_t (*fetch)(memory_t *memory, uint32_t address, uint64_t cycle); /* of `fetch_bytes` */
  uint32_t (*read)(memory_t *memory, uint32_t address, uint64_t cycle);
  uint32_t (*write)(memory_t *memory, uint32_t address, uint64_t cycle);
  /* Writes what later accesses depend on, times relative to `cycle`; returns the number of words. */
  size_t (*state)(const memory_t *memory, uint64_t cycle, uint32_t words[STATE_WORDS]);
  uint32_t fetch_bytes;
  uint32_t longest_stall; /* of one access */
  uint64_t stalls[STALL_KINDS]; /* in cycles, since the start */
  size_t probed_words; /* of `probed`: the state when the search for a loop began */
  uint32_t probed[STATE_WORDS];
};

static inline uint32_t stalled(memory_t *memory, stall_kind_t kind, uint64_t ready, uint64_t cycle) {
  uint32_t cycles = ready > cycle ? (uint32_t)(ready - cycle) : 0;
  memory->stalls[kind] += cycles;
  return cycles;
}

static inline uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
