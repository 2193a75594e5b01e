#include "mpu.h"

#include <stdint.h>

#include "device.h"
#include "stack.h"

#ifdef MPU_RLAR_EN_Msk /* ARMv8-M: mpu_v8.c */
#elif defined(MPU_TYPE_DREGION_Msk) /* not in ST's headers of devices without one */

/* Arm DDI 0403 and DDI 0419, section B3.5. Of regions that overlap the one with the highest number counts; where there
 * is none, the default memory map does. NMI, faults and vector fetches use it everywhere.
 */
enum {
  REGION_CODE_SPACE, /* address 0, where flash is mapped, too, and what else lies below the data RAM */
  REGION_FLASH,
  REGION_DATA_SPACE, /* all data RAM */
  REGION_SPARE_STACK, /* below the stack; faults_handler switches the MPU off */
  REGION_RAM_CODE,
  REGION_RAM_CODE_FIRST,
  REGION_RAM_CODE_DATA, /* the same bytes at their addresses in the data RAM */
  REGION_RAM_CODE_DATA_FIRST,
};

#define SPACE_LOG2 29u /* bytes of REGION_CODE_SPACE and REGION_DATA_SPACE */
#define FLASH_START 0x08000000u
#define FLASH_LOG2 27u
#define DATA_START 0x20000000u
#define SPARE_STACK_LOG2 8u

#define NO_ACCESS MPU_RASR_XN_Msk
#define READ_WRITE (1u << MPU_RASR_AP_Pos)
#define READ_ONLY (5u << MPU_RASR_AP_Pos)
#define NO_CODE MPU_RASR_XN_Msk

/* The memory types of the default map, on which the caches of Cortex-M7 depend. */
#define CODE_TYPE MPU_RASR_C_Msk /* write-through */
#if __CORTEX_M >= 3
#define DATA_TYPE (1u << MPU_RASR_TEX_Pos | MPU_RASR_C_Msk | MPU_RASR_B_Msk) /* write-back, write-allocate */
#else
#define DATA_TYPE (MPU_RASR_C_Msk | MPU_RASR_B_Msk) /* write-back */
#endif

/* Of the linker script; what is weak is 0 where all code stays in flash, the last also where its RAM has no data. */
extern uint32_t _ram_code_start[] __attribute__((weak));
extern uint32_t _code_ram_start[] __attribute__((weak));
extern uint32_t _code_ram_log2[] __attribute__((weak));
extern uint32_t _code_ram_data[] __attribute__((weak));

/* A region of 2^`log2` bytes at a multiple of them, without the eighths of `disabled`. */
static void set(uint32_t region, uint32_t base, uint32_t log2, uint32_t disabled, uint32_t settings) {
  MPU->RNR = region;
  MPU->RBAR = base;
  MPU->RASR = settings | disabled << MPU_RASR_SRD_Pos | (log2 - 1u) << MPU_RASR_SIZE_Pos | MPU_RASR_ENABLE_Msk;
}

/* From the first byte of code to the end of its memory, which is at `base`: a region for the eighths behind that in
 * which the code begins, and one for this eighth. The linker script aligns the code to an eighth of it.
 */
static void set_ram_code(uint32_t region, uint32_t base, uint32_t settings) {
  uint32_t log2 = (uint32_t)(uintptr_t)_code_ram_log2;
  uint32_t offset = (uint32_t)((uintptr_t)_ram_code_start - (uintptr_t)_code_ram_start);
  uint32_t eighth = offset >> (log2 - 3u);
  set(region, base, log2, (2u << eighth) - 1u, settings);
  uint32_t first = base + (eighth << (log2 - 3u));
  set(region + 1u, first, log2 - 3u, (1u << (offset >> (log2 - 6u)) % 8u) - 1u, settings);
}

void mpu_begin(void) {
  uint32_t regions = (MPU->TYPE & MPU_TYPE_DREGION_Msk) >> MPU_TYPE_DREGION_Pos;
  if (!regions) return;
  MPU->CTRL = 0;
  for (uint32_t region = 0; region < regions; region++) { /* a boot loader may have used them */
    MPU->RNR = region;
    MPU->RASR = 0;
  }
  set(REGION_CODE_SPACE, 0, SPACE_LOG2, 0, NO_ACCESS);
  mpu_close_flash();
  set(REGION_DATA_SPACE, DATA_START, SPACE_LOG2, 0, READ_WRITE | NO_CODE | DATA_TYPE);
  set(REGION_SPARE_STACK, (uint32_t)(uintptr_t)_spare_start, SPARE_STACK_LOG2, 0, NO_ACCESS);
  if ((uintptr_t)_code_ram_log2) {
    set_ram_code(REGION_RAM_CODE, (uint32_t)(uintptr_t)_code_ram_start, READ_ONLY | CODE_TYPE);
    if ((uintptr_t)_code_ram_data)
      set_ram_code(REGION_RAM_CODE_DATA, (uint32_t)(uintptr_t)_code_ram_data, READ_ONLY | NO_CODE | DATA_TYPE);
  }
  __DSB();
  MPU->CTRL = MPU_CTRL_PRIVDEFENA_Msk | MPU_CTRL_ENABLE_Msk;
  __DSB();
  __ISB();
}

static void set_flash(uint32_t access) {
  set(REGION_FLASH, FLASH_START, FLASH_LOG2, 0, access | CODE_TYPE);
  __DSB();
  __ISB();
}

void mpu_open_flash(void) { set_flash(READ_WRITE); }

void mpu_close_flash(void) { set_flash(READ_ONLY); }

#else

void mpu_begin(void) {}

void mpu_open_flash(void) {}

void mpu_close_flash(void) {}

#endif
