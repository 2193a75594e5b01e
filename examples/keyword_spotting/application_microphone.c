/* The registers are those of the STM32L4 (RM0394); another family has others for the ADC, and maybe other requests. */
#include "application_microphone.h"

#include "application_features.h"
#include "device.h"

/* What our header of registers does not have; ST's has it by other names. */
typedef struct {
  volatile uint32_t ISR, IER, CR, CFGR, CFGR2, SMPR1, SMPR2;
  volatile uint32_t reserved_0[5];
  volatile uint32_t SQR1; /* 0x30 */
  volatile uint32_t reserved_1[3];
  volatile uint32_t DR; /* 0x40 */
  volatile uint32_t reserved_2[177];
  volatile uint32_t CCR; /* 0x308 */
} microphone_adc_t;

typedef struct {
  volatile uint32_t CR1, CR2, SMCR, DIER, SR, EGR;
  volatile uint32_t reserved_0[4];
  volatile uint32_t PSC, ARR; /* 0x28 */
} microphone_timer_t;

#define CONVERTER ((microphone_adc_t *)0x50040000u)
#define TIMER ((microphone_timer_t *)0x40001000u)
#define RING DMA1_Channel1
#define RING_IRQ ((IRQn_Type)11)
#define RATE_HZ 16000u
#define TIMER_HZ 80000000u

#define CLOCK_OF_ADC (1u << 13)
#define CLOCK_OF_TIMER (1u << 4)
#define ADC_REGULATOR (1u << 28)
#define ADC_CALIBRATES (1u << 31)
#define ADC_ENABLED (1u << 0)
#define ADC_STARTED (1u << 2)
#define ADC_READY (1u << 0)
#define ADC_CLOCK_IS_HCLK (1u << 16)
#define ADC_RING (3u << 0)                 /* DMAEN, DMACFG */
#define ADC_LEFT_ALIGNED (1u << 5)         /* 12 bits in the upper ones of 16 */
#define ADC_AT_TIMER (1u << 10 | 13u << 6) /* rising edges of TIM6_TRGO */
#define ADC_NO_QUEUE (1u << 31)            /* JQDIS, as after reset */
#define TIMER_UPDATES_TRIGGER (2u << 4)
#define RING_HALF_WORDS (1u << 8 | 1u << 10)

enum { CHANNEL = 5, SAMPLING_47_CLOCKS = 4, REGULATOR_LOOPS = 1000, PRIORITY = 3, DC_BITS = 12 };

void application_DMA1_Channel1_IRQHandler(void);

static volatile uint16_t ring[2][FEATURES_HOP];
static int32_t mean; /* of the samples, with DC_BITS fraction bits: the bias of the microphone */

static void begin_adc(void) {
  RCC->AHB2ENR |= RCC_AHB2ENR_GPIOAEN | CLOCK_OF_ADC;
  GPIOA->MODER |= 3u; /* PA0: analog */
  CONVERTER->CCR = ADC_CLOCK_IS_HCLK;
  CONVERTER->CR = 0;
  CONVERTER->CR = ADC_REGULATOR;
  for (volatile uint32_t i = 0; i < REGULATOR_LOOPS; i++) continue; /* at least 20 us */
  CONVERTER->CR = ADC_REGULATOR | ADC_CALIBRATES;
  while (CONVERTER->CR & ADC_CALIBRATES) continue;
  while (!(CONVERTER->ISR & ADC_READY)) CONVERTER->CR = ADC_REGULATOR | ADC_ENABLED; /* too early it has no effect */
  CONVERTER->SMPR1 = (uint32_t)SAMPLING_47_CLOCKS << (3 * CHANNEL);
  CONVERTER->SQR1 = (uint32_t)CHANNEL << 6;
  CONVERTER->CFGR = ADC_NO_QUEUE | ADC_AT_TIMER | ADC_LEFT_ALIGNED | ADC_RING;
}

/* CSELR selects request 0 of the channel, as after reset. */
static void begin_ring(void) {
  RCC->AHB1ENR |= RCC_AHB1ENR_DMA1EN;
  RING->CPAR = (uint32_t)&CONVERTER->DR;
  RING->CMAR = (uint32_t)ring;
  RING->CNDTR = 2 * FEATURES_HOP;
  RING->CCR = RING_HALF_WORDS | DMA_CCR_MINC | DMA_CCR_CIRC | DMA_CCR_HTIE | DMA_CCR_TCIE;
  RING->CCR |= DMA_CCR_EN;
  NVIC_SetPriority(RING_IRQ, PRIORITY); /* links have 2 */
  NVIC_EnableIRQ(RING_IRQ);
}

void microphone_begin(void) {
  begin_adc();
  begin_ring();
  RCC->APB1ENR1 |= CLOCK_OF_TIMER;
  TIMER->ARR = TIMER_HZ / RATE_HZ - 1u;
  TIMER->CR2 = TIMER_UPDATES_TRIGGER;
  CONVERTER->CR = ADC_REGULATOR | ADC_ENABLED | ADC_STARTED;
  TIMER->CR1 = 1;
}

static int16_t without_dc(uint16_t value) {
  int32_t sample = value - 32768;
  int32_t result = sample - (mean >> DC_BITS);
  mean += result;
  if (result > INT16_MAX) return INT16_MAX;
  return result < INT16_MIN ? INT16_MIN : (int16_t)result;
}

/* The DMA has filled one half of the ring, and goes on with the other one. */
void application_DMA1_Channel1_IRQHandler(void) {
  static int16_t samples[FEATURES_HOP];
  const volatile uint16_t *half = ring[DMA1->ISR & DMA_ISR_TCIF1 ? 1 : 0];
  DMA1->IFCR = DMA_ISR_TCIF1 | DMA_ISR_HTIF1;
  for (uint32_t i = 0; i < FEATURES_HOP; i++) samples[i] = without_dc(half[i]);
  microphone_heard(samples);
}
