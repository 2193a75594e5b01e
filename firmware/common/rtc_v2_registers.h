/* The RTC of the STM32F4, F7, L4 and H7 (rtc_v2.h), with ST's names. */
#ifndef RTC_V2_REGISTERS_H
#define RTC_V2_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t TR;
  volatile uint32_t DR;
  volatile uint32_t CR;
  volatile uint32_t ISR;
  volatile uint32_t PRER;
  volatile uint32_t WUTR;
  volatile uint32_t reserved_0[3];
  volatile uint32_t WPR; /* 0x24 */
  volatile uint32_t SSR;
} RTC_TypeDef;

#define RTC_CR_WUCKSEL_0 (1u << 0)
#define RTC_CR_WUCKSEL_1 (1u << 1)
#define RTC_CR_BYPSHAD (1u << 5)
#define RTC_CR_WUTE (1u << 10)
#define RTC_CR_WUTIE (1u << 14)
#define RTC_ISR_WUTWF (1u << 2)
#define RTC_ISR_INITF (1u << 6)
#define RTC_ISR_INIT (1u << 7)
#define RTC_ISR_WUTF (1u << 10)

#endif
