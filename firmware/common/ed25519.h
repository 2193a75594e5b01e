/* Ed25519 (RFC 8032 section 5.1): verifies the signature of a stream of bytes. All of it is public: times and addresses
 * depend on key, signature and stream.
 *
 * Taken is what the equation [S]B = R + [k]A (without the cofactor) and the canonical encoding of R allow. S has to be
 * below the order of B, and A the canonical encoding of a point; a point of small order is one.
 */
#ifndef ED25519_H
#define ED25519_H

#include <stdbool.h>
#include <stdint.h>

#include "sha512.h"

enum { ED25519_KEY_BYTES = 32, ED25519_SIGNATURE_BYTES = 64, ED25519_LIMBS = 16 };

/* An integer modulo 2^255 - 19, below 2^256: limbs of 16 bits, whose products take one instruction also on a core
 * without a long multiplication. */
typedef struct {
  uint16_t limbs[ED25519_LIMBS];
} ed25519_field_t;

/* The point (x/z, y/z) of the curve; t = xy/z. */
typedef struct {
  ed25519_field_t x, y, z, t;
} ed25519_point_t;

/* A signature that is verified: 520 bytes, too many for small stacks. */
typedef struct {
  const uint8_t *signature;
  const uint8_t *key;
  union {
    sha512_t hash;
    ed25519_point_t points[4];
  } work;
} ed25519_t;

/* Begins; signature and public key have to stay until the end. */
void ed25519_begin(ed25519_t *check, const uint8_t *signature, const uint8_t *key);

/* Adds bytes that are signed. */
void ed25519_add(ed25519_t *check, const uint8_t *data, uint32_t bytes);

/* Whether the owner of the key has signed these bytes. */
bool ed25519_end(ed25519_t *check) __attribute__((warn_unused_result));

#endif
