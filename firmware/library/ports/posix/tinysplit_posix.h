/* A port of a library of tinysplit to POSIX, for tests and simulation: each link is an open file, as of a terminal, a
 * pseudo-terminal or a socket. One thread calls everything.
 */
#ifndef TINYSPLIT_POSIX_H
#define TINYSPLIT_POSIX_H

#include "tinysplit_port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TINYSPLIT_POSIX_MOST_LINKS = 16 };

typedef struct {
  tinysplit_port_t port; /* for the `begin` of the library */
  const tinysplit_calls_t *library;
  uint8_t link_count;
  struct {
    int file;
    const uint8_t *bytes; /* that are being sent */
    uint32_t left;
  } links[TINYSPLIT_POSIX_MOST_LINKS];
} tinysplit_posix_t;

/* `files` are the links, in their order; they become non-blocking. */
void tinysplit_posix_begin(tinysplit_posix_t *posix, const tinysplit_calls_t *library, const int *files, uint8_t count);

/* Waits until something arrives or can leave, for `ms` at most; -1 without a file that is open any more, else 0. */
int tinysplit_posix_wait(tinysplit_posix_t *posix, int ms);

#ifdef __cplusplus
}
#endif

#endif
