/* The used registers of the STM32F7, by RM0385 (F746) and RM0410 (F767), with ST's names. */
#ifndef STM32F7_REGISTERS_H
#define STM32F7_REGISTERS_H

#define __CORTEX_M 7
#define __NVIC_PRIO_BITS 4
#define USART_WITHOUT_FIFO
#define USART_ICR_NCF (1u << 2)
#include "cortex_m.h"
#include "crc_v2_registers.h"
#include "stm32f4_f7_registers.h"
#include "usart_v2_plain_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CSR1;
} PWR_TypeDef;

#define GPIOF_BASE 0x40021400u
#define GPIOG_BASE 0x40021800u
#define GPIOI_BASE 0x40022000u
#define UART7_BASE 0x40007800u
#define UART8_BASE 0x40007C00u

#define RCC_AHB1ENR_GPIOFEN (1u << 5)
#define RCC_AHB1ENR_GPIOGEN (1u << 6)
#define RCC_AHB1ENR_GPIOIEN (1u << 8)
#define RCC_APB1ENR_UART7EN (1u << 30)
#define RCC_APB1ENR_UART8EN (1u << 31)

#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_STRT (1u << 16)
#define FLASH_CR_LOCK (1u << 31)

#define PWR_CR1_LPDS (1u << 0)
#define PWR_CR1_PDDS (1u << 1)
#define PWR_CR1_DBP (1u << 8)
#define PWR_CR1_FPDS (1u << 9)
#define PWR_CR1_VOS (3u << 14)
#define PWR_CR1_VOS_Pos 14u
#define PWR_CR1_ODEN (1u << 16)
#define PWR_CR1_ODSWEN (1u << 17)
#define PWR_CSR1_ODRDY (1u << 16)
#define PWR_CSR1_ODSWRDY (1u << 17)

#endif
