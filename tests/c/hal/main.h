/* What main.h of a CubeMX project brings in, with the true signatures of ST's HAL, over the registers of the firmware. */
#ifndef MAIN_H
#define MAIN_H

#include <stddef.h>
#include <stdint.h>

#include "device.h"

typedef enum { HAL_OK = 0x00U, HAL_ERROR = 0x01U, HAL_BUSY = 0x02U, HAL_TIMEOUT = 0x03U } HAL_StatusTypeDef;

typedef struct {
  const dma_channel_t *channel;
} DMA_HandleTypeDef;

#define __HAL_DMA_GET_COUNTER(handle) dma_left((handle)->channel) /* in the HAL: Instance->CNDTR, or NDTR */

typedef uint32_t HAL_UART_StateTypeDef;
#define HAL_UART_STATE_READY 0x00000020U
#define HAL_UART_STATE_BUSY_RX 0x00000022U

typedef struct {
  USART_TypeDef *Instance;
  DMA_HandleTypeDef *hdmatx;
  DMA_HandleTypeDef *hdmarx;
  volatile HAL_UART_StateTypeDef gState;
  volatile HAL_UART_StateTypeDef RxState;
} UART_HandleTypeDef;

HAL_StatusTypeDef HAL_Init(void);
uint32_t HAL_GetTick(void);
HAL_StatusTypeDef HAL_UART_Transmit_DMA(UART_HandleTypeDef *huart, const uint8_t *pData, uint16_t Size);
HAL_StatusTypeDef HAL_UARTEx_ReceiveToIdle_DMA(UART_HandleTypeDef *huart, uint8_t *pData, uint16_t Size);
void HAL_UARTEx_RxEventCallback(UART_HandleTypeDef *huart, uint16_t Size);
void HAL_UART_TxCpltCallback(UART_HandleTypeDef *huart);
void HAL_UART_ErrorCallback(UART_HandleTypeDef *huart);

#endif
