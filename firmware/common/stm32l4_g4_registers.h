/* What the STM32L4, L4+ and G4 have in common, at the same addresses, with ST's names: RM0351, RM0394, RM0432, RM0440.
 */
#ifndef STM32L4_G4_REGISTERS_H
#define STM32L4_G4_REGISTERS_H

#define __CORTEX_M 4
#define __NVIC_PRIO_BITS 4
#include "cortex_m.h"
#include "flash_control_registers.h"
#include "flash_pages_registers.h"
#include "pll_r_registers.h"
#include "syscfg_registers.h"

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CR2;
  volatile uint32_t reserved_0[30];
  volatile uint32_t CR5; /* 0x80, not on L4 */
} PWR_TypeDef;

typedef struct {
  volatile uint32_t IMR1;
  volatile uint32_t EMR1;
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t SWIER1;
  volatile uint32_t PR1;
} EXTI_TypeDef;

#define RCC_BASE 0x40021000u
#define FLASH_R_BASE 0x40022000u
#define PWR_BASE 0x40007000u
#define SYSCFG_BASE 0x40010000u
#define EXTI_BASE 0x40010400u
#define GPIOA_BASE 0x48000000u
#define GPIOB_BASE 0x48000400u
#define GPIOC_BASE 0x48000800u
#define GPIOD_BASE 0x48000C00u
#define GPIOE_BASE 0x48001000u
#define GPIOF_BASE 0x48001400u
#define GPIOG_BASE 0x48001800u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u

#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CFGR_SW_PLL (3u << 0)
#define RCC_CFGR_SWS_PLL (3u << 2)
#define RCC_PLLCFGR_PLLSRC_HSI (2u << 0)
#define RCC_PLLCFGR_PLLSRC_HSE (3u << 0)
#define RCC_PLLCFGR_PLLREN (1u << 24)
#define RCC_PLLCFGR_PLLR_Pos 25u
#define RCC_AHB2ENR_GPIODEN (1u << 3)
#define RCC_AHB2ENR_GPIOEEN (1u << 4)
#define RCC_AHB2ENR_GPIOFEN (1u << 5)
#define RCC_AHB2ENR_GPIOGEN (1u << 6)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_APB1ENR1_USART3EN (1u << 18)
#define RCC_APB1ENR1_UART4EN (1u << 19)
#define RCC_APB1ENR1_UART5EN (1u << 20)
#define RCC_APB1ENR1_PWREN (1u << 28)
#define RCC_APB2ENR_SYSCFGEN (1u << 0)

#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)

#define FLASH_ACR_DCEN (1u << 10)
#define FLASH_ACR_DCRST (1u << 12)
#define FLASH_SR_BSY (1u << 16)

#define PWR_CR5_R1MODE (1u << 8)

#endif
