/* The true signatures of what the port uses of FreeRTOS, for compiling. */
#ifndef TASK_H
#define TASK_H

#include "FreeRTOS.h"

struct tskTaskControlBlock;
typedef struct tskTaskControlBlock *TaskHandle_t;
typedef void (*TaskFunction_t)(void *arg);

#define taskENTER_CRITICAL_FROM_ISR() ulSetInterruptMask()
#define taskEXIT_CRITICAL_FROM_ISR(x) vClearInterruptMask(x)

BaseType_t xTaskCreate(TaskFunction_t pxTaskCode, const char *const pcName, const configSTACK_DEPTH_TYPE uxStackDepth,
                       void *const pvParameters, UBaseType_t uxPriority, TaskHandle_t *const pxCreatedTask);
TaskHandle_t xTaskGetCurrentTaskHandle(void);
TickType_t xTaskGetTickCountFromISR(void);
uint32_t ulTaskGenericNotifyTake(UBaseType_t uxIndexToWaitOn, BaseType_t xClearCountOnExit, TickType_t xTicksToWait);
void vTaskGenericNotifyGiveFromISR(TaskHandle_t xTaskToNotify, UBaseType_t uxIndexToNotify,
                                   BaseType_t *pxHigherPriorityTaskWoken);
#define ulTaskNotifyTake(xClearCountOnExit, xTicksToWait) ulTaskGenericNotifyTake(0, (xClearCountOnExit), (xTicksToWait))
#define vTaskNotifyGiveFromISR(xTaskToNotify, pxHigherPriorityTaskWoken) \
  vTaskGenericNotifyGiveFromISR((xTaskToNotify), 0, (pxHigherPriorityTaskWoken))

#endif
