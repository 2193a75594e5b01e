/* What a project of STM32CubeMX needs in its main.c: UARTs with DMA are set up by the generated functions. */
#include "main.h"

#include "tinysplit.h"
#include "tinysplit_hal.h"

extern UART_HandleTypeDef huart1; /* of usart.c: the UARTs of the links, in the order that tinysplit.h names */
void SystemClock_Config(void);
void MX_GPIO_Init(void);
void MX_DMA_Init(void);
void MX_USART1_UART_Init(void);

static tinysplit_hal_t hal;
static tinysplit_hal_link_t links[TINYSPLIT_LINKS];

/* Passed on by the interrupts of the HAL. */
void HAL_UARTEx_RxEventCallback(UART_HandleTypeDef *uart, uint16_t size) {
  (void)size;
  tinysplit_hal_received(&hal, uart);
}
void HAL_UART_TxCpltCallback(UART_HandleTypeDef *uart) { tinysplit_hal_sent(&hal, uart); }
void HAL_UART_ErrorCallback(UART_HandleTypeDef *uart) { tinysplit_hal_failed(&hal, uart); }

#ifdef TINYSPLIT_INPUTS
static bool read_sensor(void *context, tinysplit_input_t *input) {
  (void)context;
  for (int i = 0; i < TINYSPLIT_INPUT_VALUES; i++) input[i] = (tinysplit_input_t)i; /* your sensor */
  return true;
}
#endif

#ifdef TINYSPLIT_OUTPUTS
static volatile uint32_t newest_class;

static void use_result(void *context, const tinysplit_output_t *output) {
  (void)context;
  newest_class = tinysplit_output_1_arg_max(output);
}
#endif

static const tinysplit_application_t application = {
#ifdef TINYSPLIT_INPUTS
    .input = read_sensor,
#endif
#ifdef TINYSPLIT_OUTPUTS
    .output = use_result,
#endif
    .failure = NULL};

/* Another one at each start: bits of a converter that measures noise are better, or a random number generator. */
static uint32_t seed(void) {
  static uint32_t kept __attribute__((section(".noinit"))); /* RAM that nobody clears */
  kept = kept * 1664525u + HAL_GetTick() + 1u;
  return kept;
}

int main(void) {
  static UART_HandleTypeDef *const uarts[TINYSPLIT_LINKS] = {&huart1};
  HAL_Init();
  SystemClock_Config();
  MX_GPIO_Init();
  MX_DMA_Init();
  MX_USART1_UART_Init();
  tinysplit_hal_begin(&hal, &tinysplit_calls, links, uarts, TINYSPLIT_LINKS);
  tinysplit_begin(&hal.port, &application, seed());
  tinysplit_hal_receive(&hal);
  for (;;) {
    if (!tinysplit_poll()) hal.port.sleep(hal.port.context);
  }
}
