#include "tinysplit_hal.h"

#define NONE UINT8_MAX

static void send_bytes(void *context, uint8_t link, const uint8_t *bytes, uint32_t count) {
  tinysplit_hal_t *hal = context;
#if defined(__DCACHE_PRESENT) && __DCACHE_PRESENT
  SCB_CleanDCache(); /* the DMA reads the memory behind it */
#endif
  (void)HAL_UART_Transmit_DMA(hal->links[link].uart, (uint8_t *)(uintptr_t)bytes, (uint16_t)count);
}

static uint32_t milliseconds(void *context) {
  (void)context;
  return HAL_GetTick();
}

#if TINYSPLIT_HAL_PRIORITY > 0
static uint32_t lock(void *context) {
  (void)context;
  uint32_t before = __get_BASEPRI();
  __set_BASEPRI((uint32_t)TINYSPLIT_HAL_PRIORITY << (8u - __NVIC_PRIO_BITS));
  __ISB();
  return before;
}

static void unlock(void *context, uint32_t before) {
  (void)context;
  __set_BASEPRI(before);
}
#else
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
#endif

/* An interrupt that comes before WFI stays pending and ends it at once. */
static void sleep_until_news(void *context) {
  tinysplit_hal_t *hal = context;
  __disable_irq();
  if (!hal->has_news) __WFI();
  hal->has_news = false;
  __enable_irq();
}

static void hand_over(tinysplit_hal_t *hal, uint8_t link, uint32_t end) {
  uint32_t position = hal->links[link].position;
  if (end > position) hal->library->received(link, hal->links[link].ring + position, end - position);
  hal->links[link].position = (uint16_t)(end % TINYSPLIT_HAL_RING_BYTES);
}

/* Events come at half of the ring, at its end and when the line is idle, in any order, and later than the bytes: the DMA
 * tells what has arrived. */
static void take(tinysplit_hal_t *hal, uint8_t link) {
  uint32_t left = __HAL_DMA_GET_COUNTER(hal->links[link].uart->hdmarx);
  uint32_t end = (TINYSPLIT_HAL_RING_BYTES - left) % TINYSPLIT_HAL_RING_BYTES;
  if (end < hal->links[link].position) hand_over(hal, link, TINYSPLIT_HAL_RING_BYTES);
  hand_over(hal, link, end);
  hal->has_news = true;
}

static void take_all(void *context) {
  tinysplit_hal_t *hal = context;
  for (uint8_t i = 0; i < hal->link_count; i++) take(hal, i);
}

void tinysplit_hal_begin(tinysplit_hal_t *hal, const tinysplit_calls_t *library, tinysplit_hal_link_t *links,
                         UART_HandleTypeDef *const *uarts, uint8_t count) {
  *hal = (tinysplit_hal_t){.library = library, .links = links, .link_count = count};
  hal->port = (tinysplit_port_t){.context = hal,
                                 .send = send_bytes,
                                 .take = take_all,
                                 .milliseconds = milliseconds,
                                 .lock = lock,
                                 .unlock = unlock,
                                 .sleep = sleep_until_news};
  for (uint8_t i = 0; i < count; i++) links[i] = (tinysplit_hal_link_t){.uart = uarts[i]};
}

static void begin_ring(tinysplit_hal_t *hal, uint8_t link) {
  hal->links[link].position = 0;
  (void)HAL_UARTEx_ReceiveToIdle_DMA(hal->links[link].uart, hal->links[link].ring, TINYSPLIT_HAL_RING_BYTES);
}

void tinysplit_hal_receive(tinysplit_hal_t *hal) {
  for (uint8_t i = 0; i < hal->link_count; i++) begin_ring(hal, i);
}

static uint8_t link_of(const tinysplit_hal_t *hal, const UART_HandleTypeDef *uart) {
  uint8_t link = 0;
  while (link < hal->link_count && hal->links[link].uart != uart) link++;
  return link < hal->link_count ? link : NONE;
}

bool tinysplit_hal_received(tinysplit_hal_t *hal, const UART_HandleTypeDef *uart) {
  uint8_t link = link_of(hal, uart);
  if (link == NONE) return false;
  take(hal, link);
  return true;
}

bool tinysplit_hal_sent(tinysplit_hal_t *hal, const UART_HandleTypeDef *uart) {
  uint8_t link = link_of(hal, uart);
  if (link == NONE) return false;
  hal->library->sent(link);
  hal->has_news = true;
  return true;
}

/* The HAL has ended reception after an overrun, noise or a framing error: what has come counts. */
bool tinysplit_hal_failed(tinysplit_hal_t *hal, const UART_HandleTypeDef *uart) {
  uint8_t link = link_of(hal, uart);
  if (link == NONE) return false;
  take(hal, link);
  if (uart->RxState == HAL_UART_STATE_READY) begin_ring(hal, link);
  return true;
}
