#include "tinysplit_bare.h"

/* The positions of these bits are the same in SR and ISR, and in CR1. */
#define ERRORS 0xFu
#define RECEIVED (1u << 5)
#define SENDABLE (1u << 7)

#ifdef USART_SR_RXNE /* F4 and older ones: reading DR clears the errors */
static uint32_t status_of(const USART_TypeDef *uart) { return uart->SR; }
static uint8_t read(USART_TypeDef *uart) { return (uint8_t)uart->DR; }
static void write(USART_TypeDef *uart, uint8_t byte) { uart->DR = byte; }
static void clear_errors(USART_TypeDef *uart) { (void)uart->DR; }
#else
static uint32_t status_of(const USART_TypeDef *uart) { return uart->ISR; }
static uint8_t read(USART_TypeDef *uart) { return (uint8_t)uart->RDR; }
static void write(USART_TypeDef *uart, uint8_t byte) { uart->TDR = byte; }
static void clear_errors(USART_TypeDef *uart) { uart->ICR = ERRORS; }
#endif

static void send_bytes(void *context, uint8_t link, const uint8_t *bytes, uint32_t count) {
  tinysplit_bare_t *bare = context;
  bare->links[link].bytes = bytes;
  bare->links[link].left = count;
  bare->links[link].uart->CR1 |= SENDABLE;
}

static uint32_t milliseconds(void *context) {
  const tinysplit_bare_t *bare = context;
  return bare->ms;
}

static uint32_t lock(void *context) {
  (void)context;
  uint32_t before = __get_PRIMASK();
  __disable_irq();
  return before;
}

static void unlock(void *context, uint32_t before) {
  (void)context;
  __set_PRIMASK(before);
}

/* An interrupt that comes before WFI stays pending and ends it at once. */
static void sleep_until_news(void *context) {
  tinysplit_bare_t *bare = context;
  uint32_t before = lock(bare);
  if (!bare->has_news) __WFI();
  bare->has_news = false;
  unlock(bare, before);
}

void tinysplit_bare_begin(tinysplit_bare_t *bare, const tinysplit_calls_t *library, tinysplit_bare_link_t *links,
                          USART_TypeDef *const *uarts, uint8_t count) {
  *bare = (tinysplit_bare_t){.library = library, .links = links, .link_count = count};
  bare->port = (tinysplit_port_t){.context = bare,
                                  .send = send_bytes,
                                  .milliseconds = milliseconds,
                                  .lock = lock,
                                  .unlock = unlock,
                                  .sleep = sleep_until_news};
  for (uint8_t i = 0; i < count; i++) links[i] = (tinysplit_bare_link_t){.uart = uarts[i]};
}

void tinysplit_bare_receive(tinysplit_bare_t *bare) {
  for (uint8_t i = 0; i < bare->link_count; i++) bare->links[i].uart->CR1 |= RECEIVED;
  bare->is_open = true;
}

void tinysplit_bare_interrupt(tinysplit_bare_t *bare, uint8_t link) {
  tinysplit_bare_link_t *own = &bare->links[link];
  uint32_t status = status_of(own->uart);
  bare->has_news = true;
  if (status & RECEIVED) {
    uint8_t byte = read(own->uart);
    bare->library->received(link, &byte, 1);
  }
  if (status & ERRORS) clear_errors(own->uart);
  if (!(status & SENDABLE) || !(own->uart->CR1 & SENDABLE)) return;
  if (own->left) {
    own->left--;
    write(own->uart, *own->bytes++);
  } else {
    own->uart->CR1 &= ~SENDABLE;
    bare->library->sent(link);
  }
}

void tinysplit_bare_tick(tinysplit_bare_t *bare) {
  bare->ms++;
  bare->has_news = true;
  if (bare->is_open) bare->library->tick();
}
