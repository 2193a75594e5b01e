/* A bare program that is not the firmware: its own start-up, linker script and main, at the clock of the reset. */
#include <stdbool.h>
#include <stdint.h>

#include "application.h"
#include "device.h"
#include "tinysplit_bare.h"

#define PRIORITY 1u

extern uint32_t _data, _data_end, _bss, _bss_end;
extern const uint32_t _data_load;

void board_begin(void);
void startup_reset(void);
void faults_handler(void);
void host_interrupt(void);
void transfers_interrupt(uint32_t link);
void SysTick_Handler(void);
int main(void);

static tinysplit_bare_t bare;

void startup_reset(void) {
  const uint32_t *from = &_data_load;
  for (uint32_t *to = &_data; to < &_data_end; to++) *to = *from++;
  for (uint32_t *to = &_bss; to < &_bss_end; to++) *to = 0;
  (void)main();
}

void faults_handler(void) {
  for (;;) continue;
}

/* The vectors lead here: see src/board.c of the project, which also enables clocks and pins. */
void host_interrupt(void) {}
void transfers_interrupt(uint32_t link) { tinysplit_bare_interrupt(&bare, (uint8_t)link); }
void SysTick_Handler(void) { tinysplit_bare_tick(&bare); }

static void begin_uart(USART_TypeDef *uart, uint32_t interrupt) {
  uart->BRR = (CLOCK_RESET_HZ + BAUD / 2u) / BAUD;
  uart->CR1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
  NVIC_SetPriority((IRQn_Type)interrupt, PRIORITY);
  NVIC_EnableIRQ((IRQn_Type)interrupt);
}

int main(void) {
  static USART_TypeDef *const uarts[] = {UARTS};
  static const uint8_t interrupts[] = {INTERRUPTS};
  static tinysplit_bare_link_t links[TINYSPLIT_LINKS];
  static uint32_t kept __attribute__((section(".noinit")));
  kept = kept * 1664525u + 1013904223u;
  board_begin();
  SysTick->LOAD = CLOCK_RESET_HZ / 1000u - 1u;
  SysTick->VAL = 0;
  SysTick->CTRL = SysTick_CTRL_CLKSOURCE_Msk | SysTick_CTRL_TICKINT_Msk | SysTick_CTRL_ENABLE_Msk;
  tinysplit_bare_begin(&bare, &tinysplit_calls, links, uarts, TINYSPLIT_LINKS);
  tinysplit_begin(&bare.port, &application, kept);
  for (uint32_t i = 0; i < TINYSPLIT_LINKS; i++) begin_uart(uarts[i], interrupts[i]);
  tinysplit_bare_receive(&bare);
  application_begin();
  for (;;) {
    application_idle();
    if (!tinysplit_poll()) bare.port.sleep(bare.port.context);
  }
}
