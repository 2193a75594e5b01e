#include "words.h"

typedef uint32_t __attribute__((may_alias)) word_t;

enum { BLOCK_BYTES = 32 };

#ifdef __arm__
/* GCC copies blocks on ARMv6-M by single words. It leaves inline assembler there in the divided syntax. */
static void copy_blocks(word_t **to, const word_t **from, uint32_t count) {
  __asm volatile(
      ".syntax unified\n"
      "1: ldmia %1!, {r3-r6}\n"
      "stmia %0!, {r3-r6}\n"
      "ldmia %1!, {r3-r6}\n"
      "stmia %0!, {r3-r6}\n"
      "subs %2, #1\n"
      "bne 1b\n"
#ifdef __ARM_ARCH_6M__
      ".syntax divided\n"
#endif
      : "+l"(*to), "+l"(*from), "+l"(count)
      :
      : "r3", "r4", "r5", "r6", "cc", "memory");
}
#else
static void copy_blocks(word_t **to, const word_t **from, uint32_t count) {
  for (count *= BLOCK_BYTES / sizeof(word_t); count; count--) *(*to)++ = *(*from)++;
}
#endif

/* GCC would make calls of memcpy out of the loop. */
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void words_copy(void *to, const void *from,
                                                                              uint32_t bytes) {
  word_t *target = to;
  const word_t *source = from;
  if (bytes >= BLOCK_BYTES) copy_blocks(&target, &source, bytes / BLOCK_BYTES);
  for (bytes %= BLOCK_BYTES; bytes; bytes -= bytes < sizeof(word_t) ? bytes : (uint32_t)sizeof(word_t)) {
    *target++ = *source++;
  }
}
