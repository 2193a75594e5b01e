#include "board.h"

static void set_field(volatile uint32_t *word, uint32_t index, uint32_t bits, uint32_t value) {
  uint32_t shift = index * bits;
  uint32_t mask = ((1u << bits) - 1u) << shift;
  *word = (*word & ~mask) | value << shift;
}

#ifdef PINS_BY_AFIO
#define INPUT_PULLED 8u
#define OUTPUT_FASTEST 3u
#define ALTERNATE 8u /* more for an output */
#define OPEN_DRAIN 4u

/* An alternate function is the place of a field in AFIO->MAPR, the direction of the pin, and the value of the field. */
#define FUNCTION_POSITION 4u
#define FUNCTION_INPUT 8u
#define FUNCTION_VALUE 7u

static void set_mode(GPIO_TypeDef *port, uint32_t number, uint32_t mode) {
  set_field(number < 8u ? &port->CRL : &port->CRH, number % 8u, 4, mode);
}

/* An input is pulled up by its output bit. What is read of SWJ_CFG is undefined, and 0 leaves all pins to the probe. */
void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function) {
  RCC->APB2ENR |= RCC_APB2ENR_AFIOEN;
  (void)RCC->APB2ENR; /* the clock is on after two cycles */
  uint32_t others = AFIO->MAPR & ~AFIO_MAPR_SWJ_CFG;
  AFIO->MAPR = others | (alternate_function & FUNCTION_VALUE) << (alternate_function >> FUNCTION_POSITION);
  port->BSRR = 1u << number;
  set_mode(port, number, alternate_function & FUNCTION_INPUT ? INPUT_PULLED : ALTERNATE | OUTPUT_FASTEST);
}

void board_begin_output(GPIO_TypeDef *port, uint32_t number) { set_mode(port, number, OUTPUT_FASTEST); }

void board_open_drain(GPIO_TypeDef *port, uint32_t number, bool is_open) {
  set_mode(port, number, ALTERNATE | OUTPUT_FASTEST | (is_open ? OPEN_DRAIN : 0u));
}
#else
#define MODE_OUTPUT 1u
#define MODE_ALTERNATE 2u
#define SPEED_HIGH 2u
#define SPEED_FASTEST 3u
#define PULL_NONE 0u
#define PULL_UP 1u

void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function) {
  set_field(&port->AFR[number / 8u], number % 8u, 4, alternate_function);
  set_field(&port->OSPEEDR, number, 2, SPEED_HIGH);
  set_field(&port->PUPDR, number, 2, PULL_UP);
  set_field(&port->MODER, number, 2, MODE_ALTERNATE);
}

void board_begin_output(GPIO_TypeDef *port, uint32_t number) {
  set_field(&port->OSPEEDR, number, 2, SPEED_FASTEST);
  set_field(&port->PUPDR, number, 2, PULL_NONE);
  set_field(&port->MODER, number, 2, MODE_OUTPUT);
}

void board_open_drain(GPIO_TypeDef *port, uint32_t number, bool is_open) {
  set_field(&port->OTYPER, number, 1, is_open);
}
#endif
