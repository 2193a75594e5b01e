#include "board.h"

#define MODE_ALTERNATE 2u
#define SPEED_HIGH 2u
#define PULL_UP 1u

static void set_field(volatile uint32_t *word, uint32_t index, uint32_t bits, uint32_t value) {
  uint32_t shift = index * bits;
  uint32_t mask = ((1u << bits) - 1u) << shift;
  *word = (*word & ~mask) | value << shift;
}

void board_begin_pin(GPIO_TypeDef *port, uint32_t number, uint32_t alternate_function) {
  set_field(&port->AFR[number / 8u], number % 8u, 4, alternate_function);
  set_field(&port->OSPEEDR, number, 2, SPEED_HIGH);
  set_field(&port->PUPDR, number, 2, PULL_UP);
  set_field(&port->MODER, number, 2, MODE_ALTERNATE);
}
