/* The calls of the HAL that the port uses, over the firmware's registers: the order of events is the HAL's. The handlers
 * of the generated board.c call transfers_interrupt, for the UART and both DMA channels.
 */
#include "board.h"
#include "clock.h"
#include "link_ports.h"
#include "main.h"

#define TRANSMISSION_COMPLETE (1u << 6) /* TC of the status, and TCIE of CR1 */

enum { MOST_LINKS = 4, MS_PER_S = 1000, UART_PRIORITY = 1 };

UART_HandleTypeDef huart1, huart2, huart3, huart4;
void SystemClock_Config(void);
void MX_GPIO_Init(void);
void MX_DMA_Init(void);
void MX_USART1_UART_Init(void);
void SysTick_Handler(void);
void faults_handler(void);
void host_interrupt(void);
void transfers_interrupt(uint32_t link);

static UART_HandleTypeDef *const handles[MOST_LINKS] = {&huart1, &huart2, &huart3, &huart4};
static DMA_HandleTypeDef receivers[MOST_LINKS];
static struct {
  uint8_t *ring;
  uint16_t ring_bytes, position;
} receptions[MOST_LINKS];
static volatile uint32_t tick;

void faults_handler(void) {
  for (;;) continue;
}
void host_interrupt(void) {}

HAL_StatusTypeDef HAL_Init(void) { return HAL_OK; }
uint32_t HAL_GetTick(void) { return tick; }
void SysTick_Handler(void) { tick++; }

void SystemClock_Config(void) {
  clock_begin();
  SysTick->LOAD = clock_core_hz / MS_PER_S - 1u;
  SysTick->VAL = 0;
  SysTick->CTRL = SysTick_CTRL_CLKSOURCE_Msk | SysTick_CTRL_TICKINT_Msk | SysTick_CTRL_ENABLE_Msk;
}

void MX_GPIO_Init(void) { board_begin(); }
void MX_DMA_Init(void) {}

void MX_USART1_UART_Init(void) {
  for (uint32_t i = 0; i < board_link_count; i++) {
    uart_link_t *port = &board_link_uarts[i];
    const uint8_t interrupts[] = {port->uart.interrupt, port->settings->receive->interrupt,
                                  port->settings->send->interrupt};
    uart_begin(&port->uart, uart_link_clock_hz(port), 0, USART_CR3_EIE | USART_CR3_DMAR | USART_CR3_DMAT);
    for (uint32_t k = 0; k < sizeof interrupts; k++) {
      NVIC_SetPriority((IRQn_Type)interrupts[k], UART_PRIORITY);
      NVIC_EnableIRQ((IRQn_Type)interrupts[k]);
    }
    receivers[i].channel = port->settings->receive;
    *handles[i] = (UART_HandleTypeDef){.Instance = port->uart.registers, .hdmarx = &receivers[i]};
    handles[i]->gState = handles[i]->RxState = HAL_UART_STATE_READY;
  }
}

static uint32_t index_of(const UART_HandleTypeDef *huart) {
  uint32_t i = 0;
  while (handles[i] != huart) i++;
  return i;
}

HAL_StatusTypeDef HAL_UART_Transmit_DMA(UART_HandleTypeDef *huart, const uint8_t *pData, uint16_t Size) {
  const uart_link_t *port = &board_link_uarts[index_of(huart)];
  if (huart->gState != HAL_UART_STATE_READY || pData == NULL || Size == 0) return HAL_BUSY;
  huart->gState = HAL_UART_STATE_BUSY_RX;
  dma_send(port->settings->send, uart_send_address(huart->Instance), pData, Size);
  return HAL_OK;
}

HAL_StatusTypeDef HAL_UARTEx_ReceiveToIdle_DMA(UART_HandleTypeDef *huart, uint8_t *pData, uint16_t Size) {
  uint32_t i = index_of(huart);
  if (huart->RxState != HAL_UART_STATE_READY) return HAL_BUSY;
  huart->RxState = HAL_UART_STATE_BUSY_RX;
  receptions[i].ring = pData;
  receptions[i].ring_bytes = Size;
  receptions[i].position = 0;
  dma_begin_ring(board_link_uarts[i].settings->receive, uart_receive_address(huart->Instance), pData, Size);
  huart->Instance->CR1 |= USART_CR1_IDLEIE;
  return HAL_OK;
}

/* Half of the ring, its end, and idle. */
static void tell_received(uint32_t i, bool is_complete) {
  uint16_t left = (uint16_t)__HAL_DMA_GET_COUNTER(&receivers[i]), size = receptions[i].ring_bytes;
  uint16_t position = (uint16_t)((size - left) % size);
  if (is_complete) HAL_UARTEx_RxEventCallback(handles[i], size);
  if (position != receptions[i].position && position) HAL_UARTEx_RxEventCallback(handles[i], position);
  receptions[i].position = position;
}

/* The HAL waits for the end of the last byte after that of the DMA. */
void transfers_interrupt(uint32_t i) {
  uart_link_t *port = &board_link_uarts[i];
  USART_TypeDef *registers = port->uart.registers;
  uint32_t status = uart_status(registers);
  if (status & (UART_IDLE | UART_LINE_ERRORS)) uart_clear_flags(registers, status);
  tell_received(i, dma_take_complete(port->settings->receive));
  if ((status & UART_LINE_ERRORS) && handles[i]->RxState == HAL_UART_STATE_BUSY_RX) {
    handles[i]->RxState = HAL_UART_STATE_READY; /* an error ends a reception by DMA */
    HAL_UART_ErrorCallback(handles[i]);
  }
  if (dma_take_complete(port->settings->send)) {
    registers->CR1 |= TRANSMISSION_COMPLETE;
    status = uart_status(registers);
  }
  if ((registers->CR1 & TRANSMISSION_COMPLETE) && (status & TRANSMISSION_COMPLETE)) {
    registers->CR1 &= ~TRANSMISSION_COMPLETE;
    handles[i]->gState = HAL_UART_STATE_READY;
    HAL_UART_TxCpltCallback(handles[i]);
  }
}
