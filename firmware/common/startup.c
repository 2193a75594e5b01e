#include "startup.h"

#include <stdint.h>

#include "device.h"

/* Of the linker script. */
extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], _vectors[];

int main(void);

static void initialize_memory(void) {
  const uint32_t *from = _sidata;
  for (uint32_t *to = _sdata; to < _edata; to++) *to = *from++;
  for (uint32_t *to = _sbss; to < _ebss; to++) *to = 0;
}

void startup_reset(void) {
  initialize_memory();
  SCB->VTOR = (uint32_t)_vectors;
  main();
}
