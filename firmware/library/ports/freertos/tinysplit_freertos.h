/* A port of a library of tinysplit to FreeRTOS: a task that sleeps while it waits. The UARTs are those of another port, as
 * that to ST's HAL, whose `send` it takes over; its interrupts call tinysplit_freertos_wake, and have priorities from which
 * FreeRTOS may be called (configMAX_SYSCALL_INTERRUPT_PRIORITY).
 */
#ifndef TINYSPLIT_FREERTOS_H
#define TINYSPLIT_FREERTOS_H

#include "FreeRTOS.h"
#include "task.h"
#include "tinysplit_port.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  tinysplit_port_t port; /* for the `begin` of the library */
  const tinysplit_port_t *uarts;
  TaskHandle_t task;
} tinysplit_freertos_t;

/* To be called by the task that calls the library. */
void tinysplit_freertos_begin(tinysplit_freertos_t *rtos, const tinysplit_port_t *uarts);

/* From interrupts, behind `received` and `sent` of the library. */
void tinysplit_freertos_wake(tinysplit_freertos_t *rtos);

#ifdef __cplusplus
}
#endif

#endif
