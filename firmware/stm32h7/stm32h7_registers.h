/* The used registers of the STM32H7, by RM0433 (H743) and RM0468 (H723), with ST's names. */
#ifndef STM32H7_REGISTERS_H
#define STM32H7_REGISTERS_H

#define __CORTEX_M 7
#define __NVIC_PRIO_BITS 4
#define DMAMUX_UP_TO_16
#include "cortex_m.h"
#include "crc_registers.h"
#include "crc_v2_registers.h"
#include "dma_streams_registers.h"
#include "dmamux_registers.h"
#include "gpio_registers.h"
#include "iwdg_registers.h"
#include "peripheral_registers.h"
#include "rtc_v2_registers.h"
#include "usart_v2_combined_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t reserved_0[3];
  volatile uint32_t CFGR; /* 0x10 */
  volatile uint32_t reserved_1;
  volatile uint32_t D1CFGR; /* 0x18 */
  volatile uint32_t D2CFGR;
  volatile uint32_t D3CFGR;
  volatile uint32_t reserved_2;
  volatile uint32_t PLLCKSELR; /* 0x28 */
  volatile uint32_t PLLCFGR;
  volatile uint32_t PLL1DIVR;
  volatile uint32_t reserved_3[15];
  volatile uint32_t BDCR; /* 0x70 */
  volatile uint32_t CSR;
  volatile uint32_t reserved_6[22];
  volatile uint32_t RSR; /* 0xD0 */
  volatile uint32_t reserved_5;
  volatile uint32_t AHB1ENR; /* 0xD8 */
  volatile uint32_t AHB2ENR;
  volatile uint32_t AHB4ENR;
  volatile uint32_t reserved_4;
  volatile uint32_t APB1LENR; /* 0xE8 */
  volatile uint32_t APB1HENR;
  volatile uint32_t APB2ENR;
  volatile uint32_t APB4ENR;
} RCC_TypeDef;

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t reserved_0[27];
  volatile uint32_t OPTSR2_CUR; /* 0x70, H723 only */
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t CR1;
  volatile uint32_t CSR1;
  volatile uint32_t CR2;
  volatile uint32_t CR3;
  volatile uint32_t CPUCR;
  volatile uint32_t reserved_0;
  volatile uint32_t D3CR; /* 0x18 */
} PWR_TypeDef;

typedef struct {
  volatile uint32_t reserved_0[2];
  volatile uint32_t EXTICR[4]; /* 0x08 */
  volatile uint32_t reserved_1[5];
  volatile uint32_t PWRCR; /* 0x2C, H743 only */
} SYSCFG_TypeDef;

typedef struct {
  volatile uint32_t RTSR1;
  volatile uint32_t FTSR1;
  volatile uint32_t SWIER1;
  volatile uint32_t reserved_0[29];
  volatile uint32_t IMR1; /* 0x80 */
  volatile uint32_t EMR1;
  volatile uint32_t PR1;
} EXTI_TypeDef;

#define RCC_BASE 0x58024400u
#define FLASH_BANK1_BASE 0x08000000u
#define FLASH_R_BASE 0x52002000u
#define CRC_BASE 0x58024C00u
#define PWR_BASE 0x58024800u
#define EXTI_BASE 0x58000000u
#define SYSCFG_BASE 0x58000400u
#define RTC_BASE 0x58004000u
#define IWDG1_BASE 0x58004800u
#define GPIOA_BASE 0x58020000u
#define GPIOB_BASE 0x58020400u
#define GPIOC_BASE 0x58020800u
#define GPIOD_BASE 0x58020C00u
#define GPIOE_BASE 0x58021000u
#define GPIOF_BASE 0x58021400u
#define GPIOG_BASE 0x58021800u
#define GPIOH_BASE 0x58021C00u
#define USART1_BASE 0x40011000u
#define USART2_BASE 0x40004400u
#define USART3_BASE 0x40004800u
#define UART4_BASE 0x40004C00u
#define UART5_BASE 0x40005000u
#define USART6_BASE 0x40011400u
#define UART7_BASE 0x40007800u
#define UART8_BASE 0x40007C00u
#define DMA1_BASE 0x40020000u
#define DMA2_BASE 0x40020400u

#define SYSCFG ((SYSCFG_TypeDef *)SYSCFG_BASE)
#define FLASH ((FLASH_TypeDef *)FLASH_R_BASE)

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 2)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLL1ON (1u << 24)
#define RCC_CR_PLL1RDY (1u << 25)
#define RCC_CFGR_SW_PLL1 (3u << 0)
#define RCC_CFGR_SWS (7u << 3)
#define RCC_CFGR_SWS_PLL1 (3u << 3)
#define RCC_D1CFGR_HPRE_Pos 0u
#define RCC_D1CFGR_D1CPRE_Pos 8u
#define RCC_D1CFGR_D1PPRE_Pos 4u
#define RCC_D2CFGR_D2PPRE1_Pos 4u
#define RCC_D2CFGR_D2PPRE2_Pos 8u
#define RCC_D3CFGR_D3PPRE_Pos 4u
#define RCC_PLLCKSELR_PLLSRC_HSI 0u
#define RCC_PLLCKSELR_PLLSRC_HSE 2u
#define RCC_PLLCKSELR_DIVM1_Pos 4u
#define RCC_PLLCFGR_PLL1RGE_Pos 2u
#define RCC_PLLCFGR_DIVP1EN (1u << 16)
#define RCC_PLL1DIVR_N1_Pos 0u
#define RCC_PLL1DIVR_P1_Pos 9u
#define RCC_AHB1ENR_DMA1EN (1u << 0)
#define RCC_AHB1ENR_DMA2EN (1u << 1)
#define RCC_AHB4ENR_GPIOAEN (1u << 0)
#define RCC_AHB4ENR_GPIOBEN (1u << 1)
#define RCC_AHB4ENR_GPIOCEN (1u << 2)
#define RCC_AHB4ENR_GPIODEN (1u << 3)
#define RCC_AHB4ENR_GPIOEEN (1u << 4)
#define RCC_AHB4ENR_GPIOFEN (1u << 5)
#define RCC_AHB4ENR_GPIOGEN (1u << 6)
#define RCC_AHB4ENR_GPIOHEN (1u << 7)
#define RCC_AHB4ENR_CRCEN (1u << 19)
#define RCC_APB1LENR_USART2EN (1u << 17)
#define RCC_APB1LENR_USART3EN (1u << 18)
#define RCC_APB1LENR_UART4EN (1u << 19)
#define RCC_APB1LENR_UART5EN (1u << 20)
#define RCC_APB1LENR_UART7EN (1u << 30)
#define RCC_APB1LENR_UART8EN (1u << 31)
#define RCC_APB2ENR_USART1EN (1u << 4)
#define RCC_APB2ENR_USART6EN (1u << 5)
#define RCC_APB4ENR_SYSCFGEN (1u << 1)
#define RCC_APB4ENR_RTCAPBEN (1u << 16)
#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_BDCR_RTCSEL (3u << 8)
#define RCC_BDCR_RTCSEL_1 (2u << 8)
#define RCC_BDCR_RTCEN (1u << 15)
#define RCC_BDCR_BDRST (1u << 16)

#define RCC_RSR_RMVF (1u << 16)
#define RCC_RSR_BORRSTF (1u << 21)
#define RCC_RSR_PINRSTF (1u << 22)
#define RCC_RSR_PORRSTF (1u << 23)
#define RCC_RSR_SFTRSTF (1u << 24)
#define RCC_RSR_IWDG1RSTF (1u << 26)

#define FLASH_ACR_LATENCY (0xFu << 0)
#define FLASH_OPTSR2_CPUFREQ_BOOST (1u << 2)
#define FLASH_SR_QW (1u << 2)
#define FLASH_SR_DBECCERR (1u << 26)
#define FLASH_CR_LOCK (1u << 0)
#define FLASH_CR_PG (1u << 1)
#define FLASH_CR_SER (1u << 2)
#define FLASH_CR_START (1u << 7)
#define FLASH_CR_SNB_Pos 8u

#define PWR_CSR1_ACTVOSRDY (1u << 13)
#define PWR_CR1_SVOS (3u << 14)
#define PWR_CR1_SVOS_1 (2u << 14)
#define PWR_CR1_DBP (1u << 8)
#define PWR_CPUCR_PDDS_D1 (1u << 0)
#define PWR_CPUCR_PDDS_D2 (1u << 1)
#define PWR_CPUCR_PDDS_D3 (1u << 2)
#define PWR_CR3_BYPASS (1u << 0)
#define PWR_CR3_LDOEN (1u << 1)
#define PWR_CR3_SCUEN (1u << 2)
#define PWR_D3CR_VOSRDY (1u << 13)
#define PWR_D3CR_VOS (3u << 14)
#define PWR_D3CR_VOS_Pos 14u

#define SYSCFG_PWRCR_ODEN (1u << 0)

#define DMA_SxCR_TRBUFF (1u << 20)

#endif
