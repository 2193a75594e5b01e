/* The used registers of the STM32U5, by RM0456 (U575, U585), with ST's names; at the addresses for code that is not
 * secure.
 */
#ifndef STM32U5_REGISTERS_H
#define STM32U5_REGISTERS_H

#define __NVIC_PRIO_BITS 4
#include "flash_not_secure_registers.h"
#include "h5_u5_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t reserved_0[6];
  volatile uint32_t CFGR1; /* 0x1C */
  volatile uint32_t CFGR2;
  volatile uint32_t CFGR3;
  volatile uint32_t PLL1CFGR; /* 0x28 */
  volatile uint32_t reserved_1[2];
  volatile uint32_t PLL1DIVR; /* 0x34 */
  volatile uint32_t reserved_2[20];
  volatile uint32_t AHB1ENR; /* 0x88 */
  volatile uint32_t AHB2ENR1;
  volatile uint32_t AHB2ENR2;
  volatile uint32_t AHB3ENR;
  volatile uint32_t reserved_3;
  volatile uint32_t APB1ENR1; /* 0x9C */
  volatile uint32_t APB1ENR2;
  volatile uint32_t APB2ENR;
  volatile uint32_t APB3ENR;
  volatile uint32_t reserved_4[17];
  volatile uint32_t BDCR; /* 0xF0 */
  volatile uint32_t CSR;
} RCC_TypeDef;

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t reserved_0[2];
  volatile uint32_t VOSR; /* 0x0C */
  volatile uint32_t reserved_1[6];
  volatile uint32_t DBPR; /* 0x28 */
} PWR_TypeDef;

#define RCC_BASE 0x46020C00u
#define PWR_BASE 0x46020800u
#define RTC_BASE 0x46007800u
#define EXTI_BASE 0x46022000u

#define RCC_CR_HSION (1u << 8)
#define RCC_CR_HSIRDY (1u << 10)
#define RCC_CFGR1_SWS (3u << 2)
#define RCC_CFGR1_STOPWUCK (1u << 4)
#define RCC_PLL1CFGR_PLL1SRC_1 (2u << 0)
#define RCC_PLL1CFGR_PLL1RGE (3u << 2)
#define RCC_PLL1CFGR_PLL1MBOOST_Pos 12u
#define RCC_PLL1CFGR_PLL1REN (1u << 18)
#define RCC_PLL1DIVR_PLL1R_Pos 24u
#define RCC_AHB2ENR1_GPIOAEN (1u << 0)
#define RCC_AHB2ENR1_GPIOBEN (1u << 1)
#define RCC_AHB2ENR1_GPIOCEN (1u << 2)
#define RCC_AHB2ENR1_GPIODEN (1u << 3)
#define RCC_AHB2ENR1_GPIOEEN (1u << 4)
#define RCC_AHB2ENR1_GPIOFEN (1u << 5)
#define RCC_AHB2ENR1_GPIOGEN (1u << 6)
#define RCC_AHB2ENR1_GPIOHEN (1u << 7)
#define RCC_AHB2ENR1_GPIOIEN (1u << 8)
#define RCC_AHB3ENR_PWREN (1u << 2)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_APB1ENR1_USART3EN (1u << 18)
#define RCC_APB1ENR1_UART4EN (1u << 19)
#define RCC_APB1ENR1_UART5EN (1u << 20)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_BORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define FLASH_NSSR_BSY (1u << 16)
#define FLASH_NSCR_PG (1u << 0)
#define FLASH_NSCR_PER (1u << 1)
#define FLASH_NSCR_PNB_Pos 3u
#define FLASH_NSCR_BKER (1u << 11)
#define FLASH_NSCR_STRT (1u << 16)
#define FLASH_NSCR_LOCK (1u << 31)

#define PWR_CR1_LPMS (7u << 0)
#define PWR_CR1_LPMS_1 (2u << 0)
#define PWR_VOSR_BOOSTRDY (1u << 14)
#define PWR_VOSR_VOSRDY (1u << 15)
#define PWR_VOSR_VOS_Pos 16u
#define PWR_VOSR_VOS (3u << 16)
#define PWR_VOSR_BOOSTEN (1u << 18)
#define PWR_DBPR_DBP (1u << 0)

#endif
