#include "startup.h"

#include <stdint.h>

#include "device.h"
#include "mpu.h"

/* Of the linker script; what is weak is 0 where all code stays in flash. */
extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], _vectors[];
extern uint32_t _ram_code_load[] __attribute__((weak));
extern uint32_t _ram_code_start[] __attribute__((weak));
extern uint32_t _ram_code_end[] __attribute__((weak));

int main(void);

static void initialize_memory(void) {
  const uint32_t *from = _sidata;
  for (uint32_t *to = _sdata; to < _edata; to++) *to = *from++;
  for (uint32_t *to = _sbss; to < _ebss; to++) *to = 0;
  from = _ram_code_load;
  for (uint32_t *to = _ram_code_start; to < _ram_code_end; to++) *to = *from++;
  __DSB(); /* before the first fetch of what was written */
  __ISB();
}

void startup_reset(void) {
  initialize_memory();
  SCB->VTOR = (uint32_t)_vectors;
  mpu_begin();
  main();
}
