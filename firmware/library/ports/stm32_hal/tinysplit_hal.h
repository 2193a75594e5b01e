/* A port of a library of tinysplit to ST's HAL: UARTs with DMA and idle line, as STM32CubeMX sets them up.
 *
 * Each UART has a DMA channel that receives in circular mode and one that sends in normal mode, and its global interrupt.
 * The program passes on three callbacks of the HAL, also for its own UARTs (false: not one of the links):
 *
 *     void HAL_UARTEx_RxEventCallback(UART_HandleTypeDef *uart, uint16_t size) { tinysplit_hal_received(&hal, uart); }
 *     void HAL_UART_TxCpltCallback(UART_HandleTypeDef *uart) { tinysplit_hal_sent(&hal, uart); }
 *     void HAL_UART_ErrorCallback(UART_HandleTypeDef *uart) { tinysplit_hal_failed(&hal, uart); }
 *
 * The interrupts of these UARTs and DMA channels have one common priority. Where that is above 0 (Cortex-M4 and M7), define
 * TINYSPLIT_HAL_PRIORITY as that: interrupts of more urgent priorities are then never held off. With a data cache (H7)
 * tinysplit_hal_link_t lies in memory that is not cached, and the library's variables where the DMA reaches them.
 */
#ifndef TINYSPLIT_HAL_H
#define TINYSPLIT_HAL_H

#include <stdbool.h>

#include "main.h" /* of CubeMX: includes the HAL of the family */
#include "tinysplit_port.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TINYSPLIT_HAL_PRIORITY
#define TINYSPLIT_HAL_PRIORITY 0
#endif

enum { TINYSPLIT_HAL_RING_BYTES = 256 };

typedef struct {
  UART_HandleTypeDef *uart;
  uint16_t position; /* of the byte of the ring that is handed over next */
  uint8_t ring[TINYSPLIT_HAL_RING_BYTES];
} tinysplit_hal_link_t;

typedef struct {
  tinysplit_port_t port; /* for the `begin` of the library */
  const tinysplit_calls_t *library;
  tinysplit_hal_link_t *links;
  uint8_t link_count;
  volatile bool has_news; /* since the library has slept */
} tinysplit_hal_t;

/* `uarts` are the links, in their order, and `links` memory for as many. To be called before the `begin` of the library. */
void tinysplit_hal_begin(tinysplit_hal_t *hal, const tinysplit_calls_t *library, tinysplit_hal_link_t *links,
                         UART_HandleTypeDef *const *uarts, uint8_t count);

/* Begins to receive: to be called after the `begin` of the library. */
void tinysplit_hal_receive(tinysplit_hal_t *hal);

bool tinysplit_hal_received(tinysplit_hal_t *hal, const UART_HandleTypeDef *uart);
bool tinysplit_hal_sent(tinysplit_hal_t *hal, const UART_HandleTypeDef *uart);
bool tinysplit_hal_failed(tinysplit_hal_t *hal, const UART_HandleTypeDef *uart);

#ifdef __cplusplus
}
#endif

#endif
