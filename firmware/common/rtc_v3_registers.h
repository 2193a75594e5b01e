/* The RTC of the STM32G0 and G4 (rtc_v3.h), with ST's names. */
#ifndef RTC_V3_REGISTERS_H
#define RTC_V3_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t TR;
  volatile uint32_t DR;
  volatile uint32_t SSR;
  volatile uint32_t ICSR;
  volatile uint32_t PRER;
  volatile uint32_t WUTR;
  volatile uint32_t CR;
  volatile uint32_t reserved_0[2];
  volatile uint32_t WPR; /* 0x24 */
  volatile uint32_t reserved_1[10];
  volatile uint32_t SR; /* 0x50 */
  volatile uint32_t MISR;
  volatile uint32_t reserved_2;
  volatile uint32_t SCR; /* 0x5C */
} RTC_TypeDef;

#define RTC_CR_WUCKSEL_0 (1u << 0)
#define RTC_CR_WUCKSEL_1 (1u << 1)
#define RTC_CR_BYPSHAD (1u << 5)
#define RTC_CR_WUTE (1u << 10)
#define RTC_CR_WUTIE (1u << 14)
#define RTC_ICSR_WUTWF (1u << 2)
#define RTC_ICSR_INITF (1u << 6)
#define RTC_ICSR_INIT (1u << 7)
#define RTC_SR_WUTF (1u << 2)
#define RTC_SCR_CWUTF (1u << 2)

#endif
