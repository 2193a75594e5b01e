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

static inline bool weights_key_has_length(uint32_t bytes) { return bytes == 16u || bytes == 32u; }

/* In programs without encrypted weights, these functions are absent. */

/* Why the arrays are not decrypted, of weights_file.h. */
uint32_t weights_key_reason(void) __attribute__((weak));

/* From the host's interrupt: where a key of so many bytes goes; NULL while one is in use or for another length. */
uint8_t *weights_key_place(uint32_t bytes) __attribute__((weak));

/* From the host's interrupt: a key has come. */
void weights_key_request(uint8_t sequence, uint32_t bytes) __attribute__((weak));

/* From the host's interrupt: what has come was damaged. */
void weights_key_drop(void) __attribute__((weak));

/* Wipes the arrays that are kept decrypted, and the key schedule, as the file changes. */
void weights_key_forget(void) __attribute__((weak));

/* Decrypts with a key that has come, if there is one. */
void weights_key_obey(void) __attribute__((weak));

/* From layers: decrypts an array of the file, in whole words, to `to`. */
void weights_key_decrypt(void *to, const void *from, uint32_t bytes);

/* Defined by host.c: the arrays are decrypted, or not for this reason. */
void weights_key_on_done(uint8_t sequence, uint8_t code, uint32_t detail);

#endif
