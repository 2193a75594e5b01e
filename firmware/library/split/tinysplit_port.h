/* What a library of tinysplit needs of the program around it: the UARTs of its links, a clock, and, where interrupts or
 * threads call it, a critical section. This file is the same in all libraries.
 */
#ifndef TINYSPLIT_PORT_H
#define TINYSPLIT_PORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Implemented by the program, or by one of the ports of the folder `ports`. `context` is passed on to all functions. */
typedef struct {
  void *context;

  /* Begins to send bytes on a link (an index from 0), which stay until `sent` of the library is called: later, never from
   * here. Nothing else is to be sent before that. Called within the critical section. */
  void (*send)(void *context, uint8_t link, const uint8_t *bytes, uint32_t count);

  /* Calls `received` of the library with all that has arrived on any link. NULL: bytes never wait for longer than a
   * millisecond to be handed over. Called within the critical section, before a silent line ends a frame. */
  void (*take)(void *context);

  /* A clock that counts milliseconds and wraps around. */
  uint32_t (*milliseconds)(void *context);

  /* Critical section: holds off whatever calls `received`, `sent` or `tick` of the library. `lock` returns what `unlock`
   * is to restore, as they may be nested. NULL: everything is called from one thread and no interrupt. */
  uint32_t (*lock)(void *context);
  void (*unlock)(void *context, uint32_t before);

  /* Waits until `received` or `sent` was called, also since the last call of `sleep`, at most for a millisecond; may end
   * earlier. Not called within the critical section. NULL: the library does not sleep. */
  void (*sleep)(void *context);
} tinysplit_port_t;

/* Functions of a library that ports call, from interrupts, too. */
typedef struct {
  /* Bytes have arrived on a link, in order; they are used before it returns. */
  void (*received)(uint8_t link, const uint8_t *bytes, uint32_t count);

  /* The bytes of `send` have left or are copied. */
  void (*sent)(uint8_t link);

  /* Looks at the clock. Optional: once a millisecond, from the interrupt of a timer, so that questions of links are asked
   * while a layer runs, too. */
  void (*tick)(void);
} tinysplit_calls_t;

#ifdef __cplusplus
}
#endif

#endif
