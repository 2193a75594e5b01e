/* The used registers of the STM32H5, by RM0481 (H562, H563, H573), with ST's names; at the addresses for code that is
 * not secure.
 */
#ifndef STM32H5_REGISTERS_H
#define STM32H5_REGISTERS_H

#define __NVIC_PRIO_BITS 4
#include "h5_u5_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t reserved_0[6];
  volatile uint32_t CFGR1; /* 0x1C */
  volatile uint32_t CFGR2;
  volatile uint32_t reserved_1;
  volatile uint32_t PLL1CFGR; /* 0x28 */
  volatile uint32_t reserved_2[2];
  volatile uint32_t PLL1DIVR; /* 0x34 */
  volatile uint32_t reserved_3[20];
  volatile uint32_t AHB1ENR; /* 0x88 */
  volatile uint32_t AHB2ENR;
  volatile uint32_t reserved_4[3];
  volatile uint32_t APB1LENR; /* 0x9C */
  volatile uint32_t APB1HENR;
  volatile uint32_t APB2ENR;
  volatile uint32_t APB3ENR;
  volatile uint32_t reserved_5[17];
  volatile uint32_t BDCR; /* 0xF0 */
  volatile uint32_t RSR;
} RCC_TypeDef;

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t NSKEYR;
  volatile uint32_t reserved_0[6];
  volatile uint32_t NSSR; /* 0x20 */
  volatile uint32_t reserved_1;
  volatile uint32_t NSCR; /* 0x28 */
  volatile uint32_t reserved_2;
  volatile uint32_t NSCCR; /* 0x30 */
  volatile uint32_t reserved_3[15];
  volatile uint32_t OPTSR2_CUR; /* 0x70 */
  volatile uint32_t reserved_4[35];
  volatile uint32_t ECCCORR; /* 0x100 */
  volatile uint32_t ECCDETR;
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t PMCR;
  volatile uint32_t reserved_0[3];
  volatile uint32_t VOSCR; /* 0x10 */
  volatile uint32_t VOSSR;
  volatile uint32_t reserved_1[3];
  volatile uint32_t DBPCR; /* 0x24 */
} PWR_TypeDef;

#define RCC_BASE 0x44020C00u
#define PWR_BASE 0x44020800u
#define RTC_BASE 0x44007800u
#define EXTI_BASE 0x44022000u
#define USART6_BASE 0x40006400u
#define UART7_BASE 0x40007800u
#define UART8_BASE 0x40007C00u

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 1)
#define RCC_CFGR1_SWS (3u << 3)
#define RCC_PLL1CFGR_PLL1SRC_0 (1u << 0)
#define RCC_PLL1CFGR_PLL1RGE_Pos 2u
#define RCC_PLL1CFGR_PLL1PEN (1u << 16)
#define RCC_PLL1DIVR_PLL1P_Pos 9u
#define RCC_AHB2ENR_GPIOAEN (1u << 0)
#define RCC_AHB2ENR_GPIOBEN (1u << 1)
#define RCC_AHB2ENR_GPIOCEN (1u << 2)
#define RCC_AHB2ENR_GPIODEN (1u << 3)
#define RCC_AHB2ENR_GPIOEEN (1u << 4)
#define RCC_AHB2ENR_GPIOFEN (1u << 5)
#define RCC_AHB2ENR_GPIOGEN (1u << 6)
#define RCC_AHB2ENR_GPIOHEN (1u << 7)
#define RCC_AHB2ENR_GPIOIEN (1u << 8)
#define RCC_APB1LENR_USART2EN (1u << 17)
#define RCC_APB1LENR_USART3EN (1u << 18)
#define RCC_APB1LENR_UART4EN (1u << 19)
#define RCC_APB1LENR_UART5EN (1u << 20)
#define RCC_APB1LENR_USART6EN (1u << 25)
#define RCC_APB1LENR_UART7EN (1u << 30)
#define RCC_APB1LENR_UART8EN (1u << 31)
#define RCC_BDCR_VSWRST (1u << 16)
#define RCC_RSR_RMVF (1u << 23)
#define RCC_RSR_PINRSTF (1u << 26)
#define RCC_RSR_BORRSTF (1u << 27)
#define RCC_RSR_SFTRSTF (1u << 28)
#define RCC_RSR_IWDGRSTF (1u << 29)

#define FLASH_ACR_WRHIGHFREQ_Pos 4u
#define FLASH_ACR_WRHIGHFREQ (3u << 4)
#define FLASH_SR_BSY (1u << 0)
#define FLASH_SR_WBNE (1u << 1)
#define FLASH_SR_DBNE (1u << 3)
#define FLASH_CR_LOCK (1u << 0)
#define FLASH_CR_PG (1u << 1)
#define FLASH_CR_SER (1u << 2)
#define FLASH_CR_START (1u << 5)
#define FLASH_CR_SNB_Pos 6u
#define FLASH_CR_BKSEL (1u << 31)
#define FLASH_OPTSR2_TZEN_Pos 24u
#define FLASH_OPTSR2_TZEN (255u << 24)

#define PWR_PMCR_LPMS (1u << 0)
#define PWR_PMCR_SVOS (3u << 2)
#define PWR_PMCR_SVOS_1 (2u << 2)
#define PWR_VOSCR_VOS_Pos 4u
#define PWR_VOSSR_VOSRDY (1u << 3)
#define PWR_VOSSR_ACTVOS_Pos 14u
#define PWR_VOSSR_ACTVOS (3u << 14)
#define PWR_DBPCR_DBP (1u << 0)

#endif
