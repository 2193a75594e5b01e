/* What the STM32F0 and F3 have in common, at the same addresses, with ST's names: RM0091, RM0316, RM0365 and RM0366. */
#ifndef F0_F3_REGISTERS_H
#define F0_F3_REGISTERS_H

#define USART_WITHOUT_FIFO
#define USART_ICR_NCF (1u << 2)
#include "crc_v2_registers.h"
#include "f0_f1_f3_registers.h"
#include "gpio_registers.h"
#include "rtc_v2_registers.h"
#include "syscfg_registers.h"
#include "usart_v2_plain_registers.h"
#include "usart_v2_registers.h"

typedef struct {
  volatile uint32_t CR;
  volatile uint32_t CFGR;
  volatile uint32_t reserved_0[3];
  volatile uint32_t AHBENR; /* 0x14 */
  volatile uint32_t APB2ENR;
  volatile uint32_t APB1ENR;
  volatile uint32_t BDCR;
  volatile uint32_t CSR;
  volatile uint32_t reserved_1;
  volatile uint32_t CFGR2; /* 0x2C */
  volatile uint32_t CFGR3;
} RCC_TypeDef;

#define SYSCFG_BASE 0x40010000u
#define GPIOA_BASE 0x48000000u
#define GPIOB_BASE 0x48000400u
#define GPIOC_BASE 0x48000800u
#define GPIOD_BASE 0x48000C00u
#define GPIOE_BASE 0x48001000u
#define GPIOF_BASE 0x48001400u
#define DMA2_Channel1_BASE 0x40020408u
#define DMA2_Channel2_BASE 0x4002041Cu
#define DMA2_Channel4_BASE 0x40020444u

#define RCC_CFGR_PLLSRC_HSI_PREDIV (1u << 15) /* F07x, F09x, F302xD and xE, F303xD and xE */
#define RCC_CFGR_PLLSRC_HSE_PREDIV (1u << 16)
#define RCC_CFGR_PLLMUL_Pos 18u
#define RCC_AHBENR_GPIOAEN (1u << 17)
#define RCC_AHBENR_GPIOBEN (1u << 18)
#define RCC_AHBENR_GPIOCEN (1u << 19)
#define RCC_AHBENR_GPIODEN (1u << 20)
#define RCC_AHBENR_GPIOEEN (1u << 21)
#define RCC_AHBENR_GPIOFEN (1u << 22)
#define RCC_APB2ENR_SYSCFGEN (1u << 0)

#define FLASH_SR_WRPERR (1u << 4)

#endif
