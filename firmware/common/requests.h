/* The requests of the host (docs/understand/protocol.md). A module lists those that it obeys; the linker joins them to
 * one table, in which host.c finds them. So a program has the requests of the modules that it is made of.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "frames.h"

/* What IDENTIFY asks for. */
enum { IDENTIFY_STATE, IDENTIFY_NOTE, IDENTIFY_STACK, IDENTIFY_WEIGHTS, IDENTIFY_STAGING, IDENTIFY_STANDALONE };

/* All functions are called from the host's interrupt. `head` is the payload, of a request with data its first
 * FRAME_HEAD_BYTES.
 */
typedef struct {
  /* Where the data go, which follow the head; or an error code. They are written there before the CRC of their frame
   * is known. */
  uint8_t (*place)(const uint8_t *head, uint32_t bytes, uint8_t **to);
  void (*drop)(void); /* what has come is damaged, or its rest is missing; may be NULL */
} request_data_t;

typedef struct {
  uint8_t type;
  uint8_t what; /* of IDENTIFY; else 0 */
  uint8_t least_bytes, most_bytes; /* of the payload; with data there is no upper limit */
  void (*obey)(const frame_header_t *header, const uint8_t *head);
  const request_data_t *data; /* NULL: a request without data */
} request_t;

/* Of all modules, in any order: the names are the linker's. */
extern const request_t __start_requests[];
extern const request_t __stop_requests[];

/* Before the array of a module. The alignment keeps the compiler from leaving gaps. */
#define REQUESTS static const __attribute__((section("requests"), used, aligned(__alignof__(request_t)))) request_t

#endif
