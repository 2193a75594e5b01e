/* The request multiplexer of the DMA, with ST's names. It has 14 channels, or so many as a family says by
 * DMAMUX_UP_TO_6, which has its own addresses of others, DMAMUX_UP_TO_7 or DMAMUX_UP_TO_16.
 */
#ifndef DMAMUX_REGISTERS_H
#define DMAMUX_REGISTERS_H

#include <stdint.h>

typedef struct {
  volatile uint32_t CCR;
} DMAMUX_Channel_TypeDef;

#define DMAMUX1_BASE 0x40020800u
#define DMAMUX1_Channel0_BASE (DMAMUX1_BASE + 0x00u)
#define DMAMUX1_Channel1_BASE (DMAMUX1_BASE + 0x04u)
#define DMAMUX1_Channel2_BASE (DMAMUX1_BASE + 0x08u)
#define DMAMUX1_Channel3_BASE (DMAMUX1_BASE + 0x0Cu)
#define DMAMUX1_Channel4_BASE (DMAMUX1_BASE + 0x10u)
#define DMAMUX1_Channel5_BASE (DMAMUX1_BASE + 0x14u)
#ifndef DMAMUX_UP_TO_6
#define DMAMUX1_Channel6_BASE (DMAMUX1_BASE + 0x18u)
#ifndef DMAMUX_UP_TO_7
#define DMAMUX1_Channel7_BASE (DMAMUX1_BASE + 0x1Cu)
#define DMAMUX1_Channel8_BASE (DMAMUX1_BASE + 0x20u)
#define DMAMUX1_Channel9_BASE (DMAMUX1_BASE + 0x24u)
#define DMAMUX1_Channel10_BASE (DMAMUX1_BASE + 0x28u)
#define DMAMUX1_Channel11_BASE (DMAMUX1_BASE + 0x2Cu)
#define DMAMUX1_Channel12_BASE (DMAMUX1_BASE + 0x30u)
#define DMAMUX1_Channel13_BASE (DMAMUX1_BASE + 0x34u)
#ifdef DMAMUX_UP_TO_16
#define DMAMUX1_Channel14_BASE (DMAMUX1_BASE + 0x38u)
#define DMAMUX1_Channel15_BASE (DMAMUX1_BASE + 0x3Cu)
#endif
#endif
#endif

#define DMAMUX1_Channel0 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel0_BASE)
#define DMAMUX1_Channel1 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel1_BASE)
#define DMAMUX1_Channel2 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel2_BASE)
#define DMAMUX1_Channel3 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel3_BASE)
#define DMAMUX1_Channel4 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel4_BASE)
#define DMAMUX1_Channel5 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel5_BASE)
#define DMAMUX1_Channel6 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel6_BASE)
#define DMAMUX1_Channel7 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel7_BASE)
#define DMAMUX1_Channel8 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel8_BASE)
#define DMAMUX1_Channel9 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel9_BASE)
#define DMAMUX1_Channel10 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel10_BASE)
#define DMAMUX1_Channel11 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel11_BASE)
#define DMAMUX1_Channel12 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel12_BASE)
#define DMAMUX1_Channel13 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel13_BASE)
#define DMAMUX1_Channel14 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel14_BASE)
#define DMAMUX1_Channel15 ((DMAMUX_Channel_TypeDef *)DMAMUX1_Channel15_BASE)

#endif
