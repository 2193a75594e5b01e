#include "tinysplit_zephyr.h"

#define IDLE_US 100 /* after which bytes that have arrived are handed over */

static void send_bytes(void *context, uint8_t link, const uint8_t *bytes, uint32_t count) {
  const tinysplit_zephyr_t *zephyr = context;
  (void)uart_tx(zephyr->links[link].uart, bytes, count, SYS_FOREVER_US);
}

static uint32_t milliseconds(void *context) {
  (void)context;
  return k_uptime_get_32();
}

static uint32_t lock(void *context) {
  (void)context;
  return irq_lock();
}

static void unlock(void *context, uint32_t before) {
  (void)context;
  irq_unlock(before);
}

/* News that came before are counted. */
static void sleep_until_news(void *context) {
  tinysplit_zephyr_t *zephyr = context;
  (void)k_sem_take(&zephyr->news, K_MSEC(1));
}

static int receive(tinysplit_zephyr_link_t *link) {
  link->next = 1;
  return uart_rx_enable(link->uart, link->buffers[0], TINYSPLIT_ZEPHYR_BUFFER_BYTES, IDLE_US);
}

/* From interrupts of the driver. */
static void on_event(const struct device *uart, struct uart_event *event, void *owner) {
  tinysplit_zephyr_link_t *link = owner;
  const tinysplit_calls_t *library = link->owner->library;
  switch (event->type) {
    case UART_TX_DONE:
    case UART_TX_ABORTED: library->sent(link->link); break;
    case UART_RX_RDY:
      library->received(link->link, event->data.rx.buf + event->data.rx.offset, (uint32_t)event->data.rx.len);
      break;
    case UART_RX_BUF_REQUEST:
      (void)uart_rx_buf_rsp(uart, link->buffers[link->next], TINYSPLIT_ZEPHYR_BUFFER_BYTES);
      link->next ^= 1u;
      break;
    case UART_RX_DISABLED: (void)receive(link); break; /* after an error of the line */
    default: break;
  }
  k_sem_give(&link->owner->news);
}

void tinysplit_zephyr_begin(tinysplit_zephyr_t *zephyr, const tinysplit_calls_t *library, tinysplit_zephyr_link_t *links,
                            const struct device *const *uarts, uint8_t count) {
  zephyr->library = library;
  zephyr->links = links;
  zephyr->link_count = count;
  zephyr->port = (tinysplit_port_t){.context = zephyr,
                                    .send = send_bytes,
                                    .milliseconds = milliseconds,
                                    .lock = lock,
                                    .unlock = unlock,
                                    .sleep = sleep_until_news};
  (void)k_sem_init(&zephyr->news, 0, 1);
  for (uint8_t i = 0; i < count; i++) {
    links[i].owner = zephyr;
    links[i].uart = uarts[i];
    links[i].link = i;
  }
}

int tinysplit_zephyr_receive(tinysplit_zephyr_t *zephyr) {
  int error = 0;
  for (uint8_t i = 0; i < zephyr->link_count && error == 0; i++) {
    error = uart_callback_set(zephyr->links[i].uart, on_event, &zephyr->links[i]);
    if (error == 0) error = receive(&zephyr->links[i]);
  }
  return error;
}
