/* What IDENTIFY says of the UARTs of the links. */
#include "link_ports.h"
#include "transfers.h"

uint32_t transfers_line_errors(void) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < board_link_count; i++) sum += board_link_uarts[i].uart.line_errors;
  return sum;
}

uint8_t transfers_driver(void) {
  static const uint8_t drivers[] = {[UART_LINK_DMA] = TRANSFERS_DMA,
                                    [UART_LINK_INTERRUPT] = TRANSFERS_INTERRUPT,
                                    [UART_LINK_POLLING] = TRANSFERS_POLLING};
  return drivers[board_link_uarts[0].settings->driver];
}
