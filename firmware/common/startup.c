#include "startup.h"

#include <stdint.h>

#include "device.h"
#include "mpu.h"

/* Of the linker script; what is weak is 0 where code, or far constants, stay in flash. */
extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[];
extern uint32_t _vectors[]; /* the beginning of the flash */
extern uint32_t _ram_code_load[] __attribute__((weak));
extern uint32_t _ram_code_start[] __attribute__((weak));
extern uint32_t _ram_code_end[] __attribute__((weak));
extern uint32_t _far_load[] __attribute__((weak));
extern uint32_t _far_start[] __attribute__((weak));
extern uint32_t _far_end[] __attribute__((weak));

int main(void);

static void copy(const uint32_t *from, uint32_t *to, const uint32_t *end) {
  while (to < end) *to++ = *from++;
}

static void initialize_memory(void) {
  copy(_sidata, _sdata, _edata);
  for (uint32_t *to = _sbss; to < _ebss; to++) *to = 0;
  copy(_ram_code_load, _ram_code_start, _ram_code_end);
  copy(_far_load, _far_start, _far_end);
  __DSB(); /* before the first fetch of what was written */
  __ISB();
}

void startup_reset(void) {
  initialize_memory();
#ifdef SCB_VTOR_TBLOFF_Pos /* Cortex-M0 lacks VTOR: its vectors are at 0, where it has the flash that it booted from */
  SCB->VTOR = (uint32_t)_vectors;
#endif
  mpu_begin();
  main();
}
