/* The used registers of the STM32L5, by RM0438 (L552, L562), with ST's names; at the addresses for code that is not
 * secure.
 */
#ifndef STM32L5_REGISTERS_H
#define STM32L5_REGISTERS_H

#define __NVIC_PRIO_BITS 3
#define DMA_HAS_TWO_MEMORIES
#define DMAMUX_UP_TO_16
#include "flash_not_secure_registers.h"
#include "m33_registers.h"
#include "pll_r_registers.h"

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CR2;
  volatile uint32_t reserved_0[3];
  volatile uint32_t SR2; /* 0x14 */
} PWR_TypeDef;

#define RCC_BASE 0x40021000u
#define PWR_BASE 0x40007000u
#define EXTI_BASE 0x4002F400u
#define DMA1_Channel8_BASE 0x40020094u
#define DMA2_Channel8_BASE 0x40020494u

#define RCC_CFGR_SW (3u << 0)
#define RCC_CFGR_STOPWUCK (1u << 15)
#define RCC_PLLCFGR_PLLSRC (3u << 0)
#define RCC_PLLCFGR_PLLSRC_1 (2u << 0)
#define RCC_PLLCFGR_PLLREN (1u << 24)
#define RCC_PLLCFGR_PLLR_Pos 25u
#define RCC_AHB2ENR_GPIODEN (1u << 3)
#define RCC_AHB2ENR_GPIOEEN (1u << 4)
#define RCC_AHB2ENR_GPIOFEN (1u << 5)
#define RCC_AHB2ENR_GPIOGEN (1u << 6)
#define RCC_AHB2ENR_GPIOHEN (1u << 7)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_APB1ENR1_USART3EN (1u << 18)
#define RCC_APB1ENR1_UART4EN (1u << 19)
#define RCC_APB1ENR1_UART5EN (1u << 20)
#define RCC_APB1ENR1_PWREN (1u << 28)

#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)

#define FLASH_NSSR_NSBSY (1u << 16)
#define FLASH_NSCR_NSPG (1u << 0)
#define FLASH_NSCR_NSPER (1u << 1)
#define FLASH_NSCR_NSPNB_Pos 3u
#define FLASH_NSCR_NSBKER (1u << 11)
#define FLASH_NSCR_NSSTRT (1u << 16)
#define FLASH_NSCR_NSLOCK (1u << 31)
#define FLASH_OPTR_DBANK (1u << 22)

#define PWR_CR1_LPMS_1 (2u << 0)
#define PWR_CR1_VOS (3u << 9)
#define PWR_CR1_VOS_Pos 9u
#define PWR_CR2_IOSV (1u << 9)
#define PWR_SR2_VOSF (1u << 10)

#endif
