/* Registers of the STM32F1: ST's header if the build has it, else our own. */
#ifndef DEVICE_H
#define DEVICE_H

#if __has_include("stm32f1xx.h")
#include "stm32f1xx.h"
#else
#include "stm32f1_registers.h"
#endif
#include "dma_channels.h"
#include "reset_causes.h"
#include "uart_v1.h"

#define CLOCK_RESET_HZ 8000000u /* HSI */
#define LSI_HZ 40000u

/* Names of other families. */
#define RCC_APB2ENR_GPIOAEN RCC_APB2ENR_IOPAEN
#define RCC_APB2ENR_GPIOBEN RCC_APB2ENR_IOPBEN
#define RCC_APB2ENR_GPIOCEN RCC_APB2ENR_IOPCEN
#define RCC_APB2ENR_GPIODEN RCC_APB2ENR_IOPDEN
#define RCC_APB2ENR_GPIOEEN RCC_APB2ENR_IOPEEN
#define FLASH_SR_WRPERR FLASH_SR_WRPRTERR
#ifndef USART_CR1_OVER8 /* F100 has it */
#define USART_CR1_OVER8 0u
#endif

/* A pin has four bits in CRL or CRH, and AFIO moves pins of UARTs (pins.c). */
#define PINS_BY_AFIO

/* Flash programs half-words (flash_half_words.c). */
#define FLASH_HALF_WORDS

/* The CRC unit; it reverses no bits. */
#define CRC_CLOCK RCC->AHBENR
#define CRC_CLOCK_ENABLE RCC_AHBENR_CRCEN

#define WATCHDOG IWDG

/* Causes of the last reset. */
#define RESET_FLAGS_POWER RCC_CSR_PORRSTF

#endif
