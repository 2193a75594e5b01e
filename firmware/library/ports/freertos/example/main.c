/* A task of FreeRTOS on a project of STM32CubeMX, with the UARTs of the port to ST's HAL. */
#include "main.h"

#include "tinysplit.h"
#include "tinysplit_freertos.h"
#include "tinysplit_hal.h"

extern UART_HandleTypeDef huart1; /* of usart.c: the UARTs of the links, in the order that tinysplit.h names */

enum { STACK_WORDS = 512 };

static tinysplit_hal_t hal;
static tinysplit_hal_link_t links[TINYSPLIT_LINKS];
static tinysplit_freertos_t rtos;

void HAL_UARTEx_RxEventCallback(UART_HandleTypeDef *uart, uint16_t size) {
  (void)size;
  if (tinysplit_hal_received(&hal, uart)) tinysplit_freertos_wake(&rtos);
}

void HAL_UART_TxCpltCallback(UART_HandleTypeDef *uart) {
  if (tinysplit_hal_sent(&hal, uart)) tinysplit_freertos_wake(&rtos);
}

void HAL_UART_ErrorCallback(UART_HandleTypeDef *uart) { tinysplit_hal_failed(&hal, uart); }

static void infer_for_ever(void *seed) {
  static UART_HandleTypeDef *const uarts[TINYSPLIT_LINKS] = {&huart1};
  tinysplit_hal_begin(&hal, &tinysplit_calls, links, uarts, TINYSPLIT_LINKS);
  tinysplit_freertos_begin(&rtos, &hal.port);
  tinysplit_begin(&rtos.port, NULL, *(const uint32_t *)seed);
  tinysplit_hal_receive(&hal);
  for (;;) {
#if defined(TINYSPLIT_INPUTS) && defined(TINYSPLIT_OUTPUTS)
    static tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];
    static tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
    (void)tinysplit_infer(input, output);
#elif defined(TINYSPLIT_INPUTS)
    static tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];
    (void)tinysplit_infer(input);
#elif defined(TINYSPLIT_OUTPUTS)
    static tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
    (void)tinysplit_infer(output);
#else
    (void)tinysplit_infer();
#endif
  }
}

/* `seed` differs from start to start. To be called before the scheduler begins. */
void begin_inference(const uint32_t *seed);
void begin_inference(const uint32_t *seed) {
  (void)xTaskCreate(infer_for_ever, "tinysplit", STACK_WORDS, (void *)(uintptr_t)seed, tskIDLE_PRIORITY + 2, NULL);
}
