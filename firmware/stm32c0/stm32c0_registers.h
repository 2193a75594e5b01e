/* The used registers of the STM32C0, by RM0490, with ST's names. */
#ifndef STM32C0_REGISTERS_H
#define STM32C0_REGISTERS_H

#include "g0_c0_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t ICSCR;
  volatile uint32_t CFGR;
  volatile uint32_t reserved_0[10];
  volatile uint32_t IOPENR; /* 0x34 */
  volatile uint32_t AHBENR;
  volatile uint32_t APBENR1;
  volatile uint32_t APBENR2;
  volatile uint32_t reserved_1[6];
  volatile uint32_t CSR1; /* 0x5C */
  volatile uint32_t CSR2;
} RCC_TypeDef;

typedef struct {
  volatile uint32_t ACR;
  volatile uint32_t reserved_0;
  volatile uint32_t KEYR; /* 0x08 */
  volatile uint32_t reserved_1;
  volatile uint32_t SR; /* 0x10 */
  volatile uint32_t CR;
} FLASH_TypeDef;

typedef struct {
  volatile uint32_t TR;
  volatile uint32_t DR;
  volatile uint32_t SSR;
  volatile uint32_t ICSR;
  volatile uint32_t PRER;
  volatile uint32_t reserved_0;
  volatile uint32_t CR; /* 0x18 */
  volatile uint32_t reserved_1[2];
  volatile uint32_t WPR; /* 0x24 */
  volatile uint32_t reserved_2[6];
  volatile uint32_t ALRMAR; /* 0x40 */
  volatile uint32_t ALRMASSR;
  volatile uint32_t reserved_3[2];
  volatile uint32_t SR; /* 0x50 */
  volatile uint32_t MISR;
  volatile uint32_t reserved_4;
  volatile uint32_t SCR; /* 0x5C */
} RTC_TypeDef;

#define TIM1_BASE 0x40012C00u
#define TIM3_BASE 0x40000400u

#define RCC_CR_HSIDIV (7u << 11)
#define RCC_CFGR_SW_0 (1u << 0) /* only this bit: HSE; none: HSI48 */
#define RCC_CFGR_SWS_0 (1u << 3)
#define RCC_APBENR1_TIM3EN (1u << 1)
#define RCC_APBENR2_TIM1EN (1u << 11)
#define RCC_CSR1_RTCSEL (3u << 8)
#define RCC_CSR1_RTCSEL_1 (2u << 8)
#define RCC_CSR1_RTCEN (1u << 15)
#define RCC_CSR1_RTCRST (1u << 16)
#define RCC_CSR2_LSION (1u << 0)
#define RCC_CSR2_LSIRDY (1u << 1)
#define RCC_CSR2_RMVF (1u << 23)
#define RCC_CSR2_PINRSTF (1u << 26)
#define RCC_CSR2_PWRRSTF (1u << 27)
#define RCC_CSR2_SFTRSTF (1u << 28)
#define RCC_CSR2_IWDGRSTF (1u << 29)

#define RTC_CR_BYPSHAD (1u << 5)
#define RTC_CR_ALRAE (1u << 8)
#define RTC_CR_ALRAIE (1u << 12)
#define RTC_ICSR_ALRAWF (1u << 0)
#define RTC_ICSR_INITF (1u << 6)
#define RTC_ICSR_INIT (1u << 7)
#define RTC_ALRMAR_MSK1 (1u << 7)
#define RTC_ALRMAR_MSK2 (1u << 15)
#define RTC_ALRMAR_MSK3 (1u << 23)
#define RTC_ALRMAR_MSK4 (1u << 31)
#define RTC_ALRMASSR_SS 0x7FFFu
#define RTC_ALRMASSR_MASKSS (15u << 24)
#define RTC_SR_ALRAF (1u << 0)
#define RTC_SCR_CALRAF (1u << 0)

#endif
