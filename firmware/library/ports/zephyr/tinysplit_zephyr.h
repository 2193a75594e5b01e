/* A port of a library of tinysplit to Zephyr: its asynchronous UART API (CONFIG_UART_ASYNC_API) and one thread. */
#ifndef TINYSPLIT_ZEPHYR_H
#define TINYSPLIT_ZEPHYR_H

#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>

#include "tinysplit_port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TINYSPLIT_ZEPHYR_BUFFER_BYTES = 64 };

struct tinysplit_zephyr;

typedef struct {
  struct tinysplit_zephyr *owner;
  const struct device *uart;
  uint8_t link;
  uint8_t next; /* of the two buffers, which the driver fills in turn */
  uint8_t buffers[2][TINYSPLIT_ZEPHYR_BUFFER_BYTES];
} tinysplit_zephyr_link_t;

typedef struct tinysplit_zephyr {
  tinysplit_port_t port; /* for the `begin` of the library */
  const tinysplit_calls_t *library;
  tinysplit_zephyr_link_t *links;
  uint8_t link_count;
  struct k_sem news;
} tinysplit_zephyr_t;

/* `uarts` are the links, in their order, and `links` memory for as many. To be called before the `begin` of the library. */
void tinysplit_zephyr_begin(tinysplit_zephyr_t *zephyr, const tinysplit_calls_t *library, tinysplit_zephyr_link_t *links,
                            const struct device *const *uarts, uint8_t count);

/* Begins to receive, after the `begin` of the library; a negative error of a UART, or 0. */
int tinysplit_zephyr_receive(tinysplit_zephyr_t *zephyr);

#ifdef __cplusplus
}
#endif

#endif
