/* The signature of a configuration file: that of its owner, by Ed25519, over all bytes before it. */
#ifndef WEIGHTS_SIGNATURE_H
#define WEIGHTS_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

/* Of the generated src/weights.c. */
extern const uint8_t weights_public_key[];

/* Programs that take files without a signature have no_weights_signature.c in place of weights_signature.c. */

/* Whether the owner has signed a file, whose first FLASH_UNIT_BYTES are in `first_unit`. */
bool weights_signature_is_good(const uint32_t *file, const uint32_t *first_unit);

#endif
