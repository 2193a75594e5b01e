/* A program of CubeMX's shape with the library: the application of the tests is another file. */
#include "application.h"
#include "main.h"
#include "tinysplit_hal.h"

extern UART_HandleTypeDef huart1, huart2, huart3, huart4;
void SystemClock_Config(void);
void MX_GPIO_Init(void);
void MX_DMA_Init(void);
void MX_USART1_UART_Init(void);
int main(void);

static tinysplit_hal_t hal;
static tinysplit_hal_link_t links[TINYSPLIT_LINKS];

void HAL_UARTEx_RxEventCallback(UART_HandleTypeDef *huart, uint16_t Size) {
  (void)Size;
  tinysplit_hal_received(&hal, huart);
}
void HAL_UART_TxCpltCallback(UART_HandleTypeDef *huart) { tinysplit_hal_sent(&hal, huart); }
void HAL_UART_ErrorCallback(UART_HandleTypeDef *huart) { tinysplit_hal_failed(&hal, huart); }

static uint32_t kept __attribute__((section(".noinit"))); /* RAM that nobody clears */

int main(void) {
  static UART_HandleTypeDef *const uarts[] = {&huart1, &huart2, &huart3, &huart4};
  kept = kept * 1664525u + 1013904223u;
  HAL_Init();
  SystemClock_Config();
  MX_GPIO_Init();
  MX_DMA_Init();
  MX_USART1_UART_Init();
  application_begin();
  tinysplit_hal_begin(&hal, &tinysplit_calls, links, uarts, TINYSPLIT_LINKS);
  tinysplit_begin(&hal.port, &application, kept);
  tinysplit_hal_receive(&hal);
  for (;;) {
    application_idle();
#ifdef BLOCKS
    (void)application_infer();
#else
    if (!tinysplit_poll()) hal.port.sleep(hal.port.context);
#endif
  }
}
