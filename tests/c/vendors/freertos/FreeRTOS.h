/* The true signatures of what the port uses of FreeRTOS, for compiling. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stddef.h>
#include <stdint.h>

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t TickType_t;
typedef uint16_t configSTACK_DEPTH_TYPE;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define configTICK_RATE_HZ ((TickType_t)1000)
#define portTICK_PERIOD_MS ((TickType_t)1000 / configTICK_RATE_HZ)
#define pdMS_TO_TICKS(xTimeInMs) \
  ((TickType_t)(((uint64_t)(xTimeInMs) * (uint64_t)configTICK_RATE_HZ) / (uint64_t)1000U))
#define tskIDLE_PRIORITY ((UBaseType_t)0U)

uint32_t ulSetInterruptMask(void);
void vClearInterruptMask(uint32_t ulNewMask);
void vPortYield(void);
#define portYIELD_FROM_ISR(x) \
  do {                        \
    if (x) vPortYield();      \
  } while (0)

#endif
