/* The true signatures of what the port uses of Zephyr's asynchronous UART API, for compiling. */
#ifndef ZEPHYR_UART_H
#define ZEPHYR_UART_H

#include <stddef.h>
#include <stdint.h>

struct device {
  const char *name;
};

extern const struct device link0;
#define DT_ALIAS(alias) alias
#define DEVICE_DT_GET(node) (&node)

enum uart_event_type {
  UART_TX_DONE,
  UART_TX_ABORTED,
  UART_RX_RDY,
  UART_RX_BUF_REQUEST,
  UART_RX_BUF_RELEASED,
  UART_RX_DISABLED,
  UART_RX_STOPPED
};

struct uart_event_rx {
  uint8_t *buf;
  size_t offset;
  size_t len;
};

struct uart_event {
  enum uart_event_type type;
  union uart_event_data {
    struct uart_event_rx rx;
  } data;
};

typedef void (*uart_callback_t)(const struct device *dev, struct uart_event *evt, void *user_data);

int uart_callback_set(const struct device *dev, uart_callback_t callback, void *user_data);
int uart_tx(const struct device *dev, const uint8_t *buf, size_t len, int32_t timeout);
int uart_rx_enable(const struct device *dev, uint8_t *buf, size_t len, int32_t timeout);
int uart_rx_buf_rsp(const struct device *dev, uint8_t *buf, size_t len);

#endif
