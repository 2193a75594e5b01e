#include "words.h"

typedef struct {
  uint32_t words[4];
} __attribute__((may_alias)) quad_t;
typedef uint32_t __attribute__((may_alias)) word_t;

/* GCC would make calls of memcpy out of these loops. */
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void words_copy(void *to, const void *from,
                                                                              uint32_t bytes) {
  quad_t *target = to;
  const quad_t *source = from;
  for (; bytes >= sizeof(quad_t); bytes -= (uint32_t)sizeof(quad_t)) *target++ = *source++;
  word_t *target_word = (word_t *)target;
  const word_t *source_word = (const word_t *)source;
  for (; bytes; bytes -= bytes < sizeof(word_t) ? bytes : (uint32_t)sizeof(word_t)) *target_word++ = *source_word++;
}
