/* The used registers of the STM32U5, by RM0456 (U575, U585), with ST's names; at the addresses for code that is not
 * secure.
 */
#ifndef STM32U5_REGISTERS_H
#define STM32U5_REGISTERS_H

#define __CORTEX_M 33
#define __NVIC_PRIO_BITS 4
#include "cortex_m.h"
#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "gpdma_registers.h"
#include "gpio_registers.h"
#include "icache_registers.h"
#include "iwdg_registers.h"
#include "rtc_v3_registers.h"
#include "usart_v2_combined_registers.h"
#include "usart_v2_registers.h"

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
  volatile uint32_t ACR;
  volatile uint32_t reserved_0;
  volatile uint32_t NSKEYR; /* 0x08 */
  volatile uint32_t reserved_1[5];
  volatile uint32_t NSSR; /* 0x20 */
  volatile uint32_t reserved_2;
  volatile uint32_t NSCR; /* 0x28 */
  volatile uint32_t reserved_3;
  volatile uint32_t ECCR; /* 0x30 */
  volatile uint32_t reserved_4[3];
  volatile uint32_t OPTR; /* 0x40 */
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t reserved_0[2];
  volatile uint32_t VOSR; /* 0x0C */
  volatile uint32_t reserved_1[6];
  volatile uint32_t DBPR; /* 0x28 */
} PWR_TypeDef;

typedef struct {
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t reserved_0[2];
  volatile uint32_t FPR1; /* 0x10 */
  volatile uint32_t reserved_1[19];
  volatile uint32_t EXTICR[4]; /* 0x60 */
  volatile uint32_t reserved_2[4];
  volatile uint32_t IMR1; /* 0x80 */
} EXTI_TypeDef;

#define FLASH_BASE 0x08000000u
#define FLASH_R_BASE 0x40022000u
#define RCC_BASE 0x46020C00u
#define PWR_BASE 0x46020800u
#define CRC_BASE 0x40023000u
#define ICACHE_BASE 0x40030400u
#define RTC_BASE 0x46007800u
#define EXTI_BASE 0x46022000u
#define IWDG_BASE 0x40003000u
#define GPDMA1_BASE 0x40020000u
#define GPIOA_BASE 0x42020000u
#define GPIOB_BASE 0x42020400u
#define GPIOC_BASE 0x42020800u
#define GPIOD_BASE 0x42020C00u
#define GPIOE_BASE 0x42021000u
#define GPIOF_BASE 0x42021400u
#define GPIOG_BASE 0x42021800u
#define GPIOH_BASE 0x42021C00u
#define GPIOI_BASE 0x42022000u
#define USART1_BASE 0x40013800u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u

#define RCC ((RCC_TypeDef *)RCC_BASE)
#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)
#define PWR ((PWR_TypeDef *)PWR_BASE)
#define CRC ((CRC_TypeDef *)CRC_BASE)
#define ICACHE ((ICACHE_TypeDef *)ICACHE_BASE)
#define RTC ((RTC_TypeDef *)RTC_BASE)
#define EXTI ((EXTI_TypeDef *)EXTI_BASE)
#define IWDG ((IWDG_TypeDef *)IWDG_BASE)
#define GPDMA1 ((void *)GPDMA1_BASE)
#define GPIOA ((GPIO_TypeDef *)GPIOA_BASE)
#define GPIOB ((GPIO_TypeDef *)GPIOB_BASE)
#define GPIOC ((GPIO_TypeDef *)GPIOC_BASE)
#define GPIOD ((GPIO_TypeDef *)GPIOD_BASE)
#define GPIOE ((GPIO_TypeDef *)GPIOE_BASE)
#define GPIOF ((GPIO_TypeDef *)GPIOF_BASE)
#define GPIOG ((GPIO_TypeDef *)GPIOG_BASE)
#define GPIOH ((GPIO_TypeDef *)GPIOH_BASE)
#define GPIOI ((GPIO_TypeDef *)GPIOI_BASE)
#define USART1 ((USART_TypeDef *)USART1_BASE)
#define USART2 ((USART_TypeDef *)USART2_BASE)
#define USART3 ((USART_TypeDef *)USART3_BASE)
#define UART4 ((USART_TypeDef *)UART4_BASE)
#define UART5 ((USART_TypeDef *)UART5_BASE)

#define RCC_CR_HSION (1u << 8)
#define RCC_CR_HSIRDY (1u << 10)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLL1ON (1u << 24)
#define RCC_CR_PLL1RDY (1u << 25)
#define RCC_CFGR1_SW (3u << 0)
#define RCC_CFGR1_SWS (3u << 2)
#define RCC_CFGR1_STOPWUCK (1u << 4)
#define RCC_CFGR2_HPRE_Pos 0u
#define RCC_CFGR2_PPRE1_Pos 4u
#define RCC_CFGR2_PPRE2_Pos 8u
#define RCC_PLL1CFGR_PLL1SRC (3u << 0)
#define RCC_PLL1CFGR_PLL1SRC_1 (2u << 0)
#define RCC_PLL1CFGR_PLL1RGE (3u << 2)
#define RCC_PLL1CFGR_PLL1M_Pos 8u
#define RCC_PLL1CFGR_PLL1MBOOST_Pos 12u
#define RCC_PLL1CFGR_PLL1REN (1u << 18)
#define RCC_PLL1DIVR_PLL1N_Pos 0u
#define RCC_PLL1DIVR_PLL1R_Pos 24u
#define RCC_AHB1ENR_GPDMA1EN (1u << 0)
#define RCC_AHB1ENR_CRCEN (1u << 12)
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
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB3ENR_RTCAPBEN (1u << 21)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)
#define RCC_BDCR_LSION (1u << 26)
#define RCC_BDCR_LSIRDY (1u << 27)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_BORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)

#define FLASH_ACR_LATENCY (15u << 0)
#define FLASH_NSSR_BSY (1u << 16)
#define FLASH_NSCR_PG (1u << 0)
#define FLASH_NSCR_PER (1u << 1)
#define FLASH_NSCR_PNB_Pos 3u
#define FLASH_NSCR_BKER (1u << 11)
#define FLASH_NSCR_STRT (1u << 16)
#define FLASH_NSCR_LOCK (1u << 31)
#define FLASH_ECCR_ECCC (1u << 30)
#define FLASH_ECCR_ECCD (1u << 31)
#define FLASH_OPTR_TZEN (1u << 31)

#define PWR_CR1_LPMS (7u << 0)
#define PWR_CR1_LPMS_1 (2u << 0)
#define PWR_VOSR_BOOSTRDY (1u << 14)
#define PWR_VOSR_VOSRDY (1u << 15)
#define PWR_VOSR_VOS_Pos 16u
#define PWR_VOSR_VOS (3u << 16)
#define PWR_VOSR_BOOSTEN (1u << 18)
#define PWR_DBPR_DBP (1u << 0)

#endif
