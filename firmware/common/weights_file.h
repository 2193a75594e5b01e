/* The configuration file of a board: weights.bin with the constants of its layers, in sectors of their own. It is
 * written without the program, too, so that it may be damaged, or that of another program.
 */
#ifndef WEIGHTS_FILE_H
#define WEIGHTS_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* Why a file is refused: the detail of ERROR_WEIGHTS. */
enum {
  WEIGHTS_GOOD = 0,
  WEIGHTS_MISSING = 1,
  WEIGHTS_OTHER_VERSION = 2,
  WEIGHTS_OTHER_BOARD = 3,
  WEIGHTS_OTHER_STRUCTURE = 4,
  WEIGHTS_WRONG_LENGTH = 5,
  WEIGHTS_CORRUPT = 6,
  WEIGHTS_OLDER = 7,
  WEIGHTS_NO_KEY = 8,
  WEIGHTS_WRONG_KEY = 9,
  WEIGHTS_NOT_SIGNED = 10,
  WEIGHTS_NO_STAGING = 11,
  WEIGHTS_REPLACED = 12
};

/* The flags of a header, and the bytes of a signature, which stands before the CRC-32. */
enum { WEIGHTS_ARE_ENCRYPTED = 1, WEIGHTS_ARE_SIGNED = 2, WEIGHTS_SIGNATURE_BYTES = 64 };

/* The begin of the file; its last word is the CRC-32 of all words before. */
typedef struct {
  uint32_t magic;
  uint8_t version;
  uint8_t board_index;
  uint16_t first_array; /* offset in bytes */
  uint32_t bytes;       /* of the whole file */
  uint32_t structure;   /* hash of the programs that it is for: network_project_hash */
  uint32_t counter;     /* of the files for this structure */
  uint32_t model;       /* first bytes of the SHA-256 of the network */
  uint16_t layers;      /* in the layer graph that follows */
  uint16_t flags;       /* as above */
} weights_header_t;

/* Of the generated src/weights.c: the file, which begins with its header, and the bytes that it has there. */
extern const uint32_t weights_file[];
extern const uint32_t weights_file_bytes;

/* What its header has to say besides. */
extern const uint32_t weights_first_array;
extern const uint16_t weights_layers;
extern const uint16_t weights_flags;

/* The bytes of the arrays, from the first one. */
static inline uint32_t weights_arrays_bytes(void) {
  uint32_t behind = (uint32_t)sizeof(uint32_t) + (weights_flags & WEIGHTS_ARE_SIGNED ? WEIGHTS_SIGNATURE_BYTES : 0u);
  return weights_file_bytes - weights_first_array - behind;
}

/* Copies words of a file; false if some cannot be read, as their programming was interrupted. */
bool weights_read(uint32_t *to, const volatile uint32_t *from, uint32_t count);

/* Copies the header of a file; false if words of it cannot be read, as their programming was interrupted. */
bool weights_header(const uint32_t *file, weights_header_t *header);

/* What is wrong with a header. */
uint32_t weights_header_reason(const weights_header_t *header);

/* What is wrong with a file, its CRC included. */
uint32_t weights_reason(const uint32_t *file);

/* Lets the CRC unit go on over words of a file; false if some cannot be read. */
bool weights_add_crc(const uint32_t *words, uint32_t count, uint32_t *crc);

/* The CRC-32 that a file has as its last word; 0 if that cannot be read. */
uint32_t weights_crc(const uint32_t *file);

/* Programs without such a file have no_weights_file.c in place of weights_file.c. */

/* False if the file in flash cannot be used; `reason` says why. */
bool weights_file_check(uint32_t *reason);

/* By which links tell networks of a structure apart, from the start on: model and counter are those of the files of all
 * boards. A file that replaces this one is refused until the next start. */
uint32_t weights_file_network(void);

/* Which file is in flash, good or not; 0 if there is none. */
void weights_file_identify(uint32_t *crc, uint32_t *counter);

#endif
