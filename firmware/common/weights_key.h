/* The key of an encrypted weights file: the board decrypts the arrays into RAM, and keeps the key no longer. Where RAM
 * does not hold them all, it keeps the key schedule, and decrypts the others in each inference. */
#ifndef WEIGHTS_KEY_H
#define WEIGHTS_KEY_H

#include <stdbool.h>
#include <stdint.h>

/* Of the generated src/weights.c: where the first arrays of the file are decrypted and kept. Their bytes are all, or
 * whole blocks of the cipher. */
extern uint32_t weights_plain[];
extern const uint32_t weights_plain_bytes;

/* Programs without encrypted weights have no_weights_key.c in place of weights_key.c. */

/* False if the arrays are not decrypted; `reason` says why, of weights_file.h. */
bool weights_key_check(uint32_t *reason);

/* Wipes the arrays that are kept decrypted, and the key schedule, as the file changes. */
void weights_key_forget(void);

/* From layers: decrypts an array of the file, in whole words, to `to`. */
void weights_key_decrypt(void *to, const void *from, uint32_t bytes);

#endif
