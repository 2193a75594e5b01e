/* Inputs for a parser under test: those of a corpus, then mutated ones, the same for the same seed. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_LARGEST = 4096 };

/* Arguments of the program: SEED COUNT CORPUS. */
void fuzz_begin(int argc, char **argv);

/* Returns the next input; NULL after COUNT of them. */
const uint8_t *fuzz_next(size_t *size);

#endif
