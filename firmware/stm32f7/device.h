/* Registers of the STM32F7: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32f7xx.h")
#include "stm32f7xx.h"
#else
#include "stm32f7_registers.h"
#endif
#include "dma_streams.h"
#include "reset_causes.h"
#include "rtc_v2.h"

#define USART_ICR_NECF USART_ICR_NCF /* its name on other families */
#include "uart_v2.h"

#define CLOCK_RESET_HZ 16000000u /* HSI */

/* Registers and bits of PWR that the F4 has, too, under other names. */
#define POWER_CONTROL PWR->CR1
#define POWER_STATUS PWR->CSR1
#define PWR_CR_LPDS PWR_CR1_LPDS
#define PWR_CR_PDDS PWR_CR1_PDDS
#define PWR_CR_DBP PWR_CR1_DBP
#define PWR_CR_FPDS PWR_CR1_FPDS
#define PWR_CR_VOS PWR_CR1_VOS
#define PWR_CR_VOS_Pos PWR_CR1_VOS_Pos
#define PWR_CR_ODEN PWR_CR1_ODEN
#define PWR_CR_ODSWEN PWR_CR1_ODSWEN
#define PWR_CSR_ODRDY PWR_CSR1_ODRDY
#define PWR_CSR_ODSWRDY PWR_CSR1_ODSWRDY

/* The CRC unit. */
#define CRC_CLOCK RCC->AHB1ENR
#define CRC_CLOCK_ENABLE RCC_AHB1ENR_CRCEN

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER (RCC_CSR_PORRSTF | RCC_CSR_BORRSTF)

#endif
