/* Neighbours in stop mode, in programs that have it (STOP_MODE); otherwise nothing of this is in a program.
 *
 * A board may stop when nothing has crossed its links for LINK_AWAKE_MS ticks, less one at most. Its neighbour takes it
 * for awake during the first of them, until its ticker has come once. Later the first frame follows bytes that wake: as
 * long as the peer needs for that, and some more. They are 0xFF: a receiver that begins to listen in the middle of one
 * finds the next start bit, and no frame begins with it.
 */
#ifndef LINK_AWAKE_H
#define LINK_AWAKE_H

#include "link_parts.h"

#ifdef STOP_MODE
#include <string.h>

enum { LINK_AWAKE_MS = 3, LINK_WAKING_BYTE = 0xFF };

static inline void link_awake_heard(link_t *link) { link->awake_ms = LINK_AWAKE_MS; }

static inline bool link_awake_is_on(const link_t *link) { return link->awake_ms > 0; }

static inline void link_awake_tick(link_t *link) {
  if (link->ahead == 0 && link->awake_ms > 0) link->awake_ms--;
}

static inline uint16_t link_awake_bytes(const link_t *link) {
  return link->awake_ms < LINK_AWAKE_MS ? link->settings->wake_bytes : 0;
}

/* Before a frame is chosen: its first byte leaves behind those that wake; and when it has begun. */
static inline void link_awake_expect(link_t *link) { link->filling += link_awake_bytes(link); }

static inline void link_awake_begin(link_t *link) {
  link->waking = link_awake_bytes(link);
  link->awake_ms = LINK_AWAKE_MS;
}

static inline uint32_t link_awake_write(link_t *link, uint8_t *bytes, uint32_t room, link_written_t *what) {
  if (link->waking == 0) return link_write(&link->writer, bytes, room, what);
  uint32_t count = link_smaller(link->waking, room);
  memset(bytes, LINK_WAKING_BYTE, count);
  link->waking = (uint16_t)(link->waking - count);
  *what = LINK_WRITTEN_NOTHING;
  return count;
}

#else

static inline void link_awake_heard(const link_t *link) { (void)link; }
static inline bool link_awake_is_on(const link_t *link) {
  (void)link;
  return false;
}
static inline void link_awake_tick(const link_t *link) { (void)link; }
static inline void link_awake_expect(const link_t *link) { (void)link; }
static inline void link_awake_begin(const link_t *link) { (void)link; }
static inline uint32_t link_awake_write(link_t *link, uint8_t *bytes, uint32_t room, link_written_t *what) {
  return link_write(&link->writer, bytes, room, what);
}

#endif

#endif
