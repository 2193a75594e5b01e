/* Copies of tensors, word by word: the C library copies bytes. */
#ifndef WORDS_H
#define WORDS_H

#include <stdint.h>

/* Both are aligned to words; the last word may have bytes beyond the tensor. */
void words_copy(void *to, const void *from, uint32_t bytes);

#endif
