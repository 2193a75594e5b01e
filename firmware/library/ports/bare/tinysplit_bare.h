/* A port of a library of tinysplit to the registers of STM32, by an interrupt for each byte: for links of up to some
 * 200 000 baud. The program enables clocks, pins and the UARTs (8N1, the baud rate of tinysplit.h), and their interrupts,
 * all with one priority that is also that of SysTick.
 */
#ifndef TINYSPLIT_BARE_H
#define TINYSPLIT_BARE_H

#include <stdbool.h>

#ifndef TINYSPLIT_BARE_DEVICE
#define TINYSPLIT_BARE_DEVICE "stm32g0xx.h" /* ST's header of the family */
#endif
#include TINYSPLIT_BARE_DEVICE

#include "tinysplit_port.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  USART_TypeDef *uart;
  const uint8_t *bytes; /* that are being sent */
  uint32_t left;
} tinysplit_bare_link_t;

typedef struct {
  tinysplit_port_t port; /* for the `begin` of the library */
  const tinysplit_calls_t *library;
  tinysplit_bare_link_t *links;
  uint8_t link_count;
  volatile uint32_t ms;
  volatile bool is_open; /* bytes are received */
  volatile bool has_news; /* since the library has slept */
} tinysplit_bare_t;

/* `uarts` are the links, in their order, and `links` memory for as many. To be called before the `begin` of the library. */
void tinysplit_bare_begin(tinysplit_bare_t *bare, const tinysplit_calls_t *library, tinysplit_bare_link_t *links,
                          USART_TypeDef *const *uarts, uint8_t count);

/* Begins to receive: to be called after the `begin` of the library. */
void tinysplit_bare_receive(tinysplit_bare_t *bare);

/* From the interrupt of the UART of a link, and once a millisecond from that of a timer. */
void tinysplit_bare_interrupt(tinysplit_bare_t *bare, uint8_t link);
void tinysplit_bare_tick(tinysplit_bare_t *bare);

#ifdef __cplusplus
}
#endif

#endif
