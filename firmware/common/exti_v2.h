/* EXTI of the STM32G0, C0, H5, L5 and U5: it selects the ports of its lines, and notes falling edges apart. */
#ifndef EXTI_V2_H
#define EXTI_V2_H

#ifndef STOP_TIMER_LINES
#define STOP_TIMER_LINE 19u /* of the RTC; direct: it has no edges */
#endif
#define STOP_INTERRUPT_WORDS 1u
#define STOP_EXTI_MASK EXTI->IMR1

static inline void stop_family_connect(uint32_t port, uint32_t line) {
  uint32_t shift = 8u * (line % 4u);
  EXTI->EXTICR[line / 4u] = (EXTI->EXTICR[line / 4u] & ~(0xFFu << shift)) | port << shift;
  EXTI->FTSR1 |= 1u << line;
}

/* Returns which of `lines` have had an edge, and clears them. */
static inline uint32_t stop_family_take_edges(uint32_t lines) {
  uint32_t edges = EXTI->FPR1 & lines;
  EXTI->FPR1 = lines;
  return edges;
}

#endif
