/* Cycles of the core that depend on values: branch prediction, divisions, unaligned accesses. */
#ifndef CORE_TIMING_H
#define CORE_TIMING_H

#include <stdbool.h>
#include <stdint.h>

enum { PREDICTED_BRANCHES = 64, WEAKLY_NOT_TAKEN = 1, WEAKLY_TAKEN = 2, STRONGLY_TAKEN = 3 };

enum { ALIGNMENTS = 4 };

/* Loads from one address: the sum of a register, a shifted one (0 for none) and an offset. Registers by Unicorn. */
typedef struct {
  uint32_t base;
  uint32_t index;
  uint32_t shift;
  uint32_t offset;
  uint32_t cycles[ALIGNMENTS]; /* additional ones, by the address modulo 4 */
} access_t;

/* An entry of the branch target address cache of Cortex-M7, 0 for none. */
typedef struct {
  uint32_t branch;
  uint32_t target;
  uint32_t counter;
} prediction_t;

/* Predicts the branch that ends at `end`, learns where it went, and returns whether that was predicted.
 *
 * Arm DDI 0489: 64 entries. Assumed, since no manual says: one entry for every word of code, by its address modulo 256
 * (other branches in the same place replace it); two-bit counters; a branch without entry is predicted as not taken,
 * and gets one when it is taken; no return stack.
 */
static inline bool predict(prediction_t entries[PREDICTED_BRANCHES], uint32_t branch, uint32_t end, uint32_t next) {
  prediction_t *entry = &entries[branch / 4 % PREDICTED_BRANCHES];
  bool is_taken = next != end;
  bool is_known = entry->branch == branch;
  uint32_t predicted = is_known && entry->counter >= WEAKLY_TAKEN ? entry->target : end;
  if (is_known && is_taken) {
    entry->counter += entry->counter < STRONGLY_TAKEN;
    entry->target = next;
  } else if (is_known) {
    entry->counter -= entry->counter > 0;
  } else if (is_taken) {
    *entry = (prediction_t){branch, next, WEAKLY_TAKEN};
  }
  return predicted == next;
}

static inline uint32_t significant_bits(uint32_t value) { return value ? 32u - (uint32_t)__builtin_clz(value) : 0u; }

/* Cycles of UDIV and SDIV beyond the shortest, 2. Arm DDI 0439: 2 to 12, by the leading zeros and ones of the operands.
 * The formula is measured on a Cortex-M4: compendium.i-0.nl, Division timing. Cortex-M7: assumed to be the same.
 */
static inline uint32_t division_cycles(uint32_t dividend, uint32_t divisor, bool is_signed) {
  if (is_signed && dividend >> 31) dividend = -dividend;
  if (is_signed && divisor >> 31) divisor = -divisor;
  uint32_t of_dividend = significant_bits(dividend), of_divisor = significant_bits(divisor);
  if (!of_dividend || !of_divisor) return 0;
  return of_dividend < of_divisor ? 1 : 3 + (of_dividend - of_divisor) / 4;
}

#endif
