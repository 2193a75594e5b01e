#include "tinysplit_freertos.h"

static void send_bytes(void *context, uint8_t link, const uint8_t *bytes, uint32_t count) {
  const tinysplit_freertos_t *rtos = context;
  rtos->uarts->send(rtos->uarts->context, link, bytes, count);
}

static void take(void *context) {
  const tinysplit_freertos_t *rtos = context;
  if (rtos->uarts->take) rtos->uarts->take(rtos->uarts->context);
}

static uint32_t milliseconds(void *context) {
  (void)context;
  return (uint32_t)(xTaskGetTickCountFromISR() * portTICK_PERIOD_MS);
}

/* On Cortex-M the same for tasks and interrupts. */
static uint32_t lock(void *context) {
  (void)context;
  return (uint32_t)taskENTER_CRITICAL_FROM_ISR();
}

static void unlock(void *context, uint32_t before) {
  (void)context;
  taskEXIT_CRITICAL_FROM_ISR((UBaseType_t)before);
}

/* A notification that came before is counted. */
static void sleep_until_news(void *context) {
  (void)context;
  TickType_t ticks = pdMS_TO_TICKS(1);
  (void)ulTaskNotifyTake(pdTRUE, ticks ? ticks : 1);
}

void tinysplit_freertos_begin(tinysplit_freertos_t *rtos, const tinysplit_port_t *uarts) {
  rtos->uarts = uarts;
  rtos->task = xTaskGetCurrentTaskHandle();
  rtos->port = (tinysplit_port_t){.context = rtos,
                                  .send = send_bytes,
                                  .take = take,
                                  .milliseconds = milliseconds,
                                  .lock = lock,
                                  .unlock = unlock,
                                  .sleep = sleep_until_news};
}

void tinysplit_freertos_wake(tinysplit_freertos_t *rtos) {
  BaseType_t is_due = pdFALSE;
  if (rtos->task == NULL) return;
  vTaskNotifyGiveFromISR(rtos->task, &is_due);
  portYIELD_FROM_ISR(is_due);
}
