#include <stdint.h>

#include "device.h"
#include "mpu.h"
#include "stack.h"

#ifdef MPU_RLAR_EN_Msk /* ARMv8-M; others have mpu.c */

/* Arm DDI 0553, section B8.5. Regions may not overlap; where there is none, the default memory map holds. No region
 * keeps privileged code from reading: read-only ones refuse what a null pointer or a full stack writes.
 */
enum {
  REGION_CODE_SPACE, /* below the flash: nothing is there */
  REGION_FLASH,
  REGION_DATA, /* from the start of the data RAM to the spare stack */
  REGION_SPARE_STACK, /* below the stack; faults_handler switches the MPU off */
  REGION_STACK, /* from there to the end of what may be data RAM */
};

#define FLASH_START 0x08000000u
#define FLASH_END 0x10000000u
#define DATA_START 0x20000000u
#define DATA_END 0x40000000u
#define SPARE_STACK_BYTES 256u

#define READ_WRITE 0u
#define READ_ONLY (2u << MPU_RBAR_AP_Pos)
#define NO_CODE MPU_RBAR_XN_Msk

/* The memory types of the default map. */
enum { CODE_TYPE, DATA_TYPE };
#define TYPES 0xFFAAu /* MAIR0: data write-back and write-allocate, code write-through */

static void set(uint32_t region, uint32_t start, uint32_t end, uint32_t settings, uint32_t type) {
  MPU->RNR = region;
  MPU->RBAR = start | settings;
  MPU->RLAR = ((end - 1u) & MPU_RLAR_LIMIT_Msk) | type << MPU_RLAR_AttrIndx_Pos | MPU_RLAR_EN_Msk;
}

void mpu_begin(void) {
  uint32_t regions = (MPU->TYPE & MPU_TYPE_DREGION_Msk) >> MPU_TYPE_DREGION_Pos;
  if (!regions) return;
  MPU->CTRL = 0;
  for (uint32_t region = 0; region < regions; region++) { /* a boot loader may have used them */
    MPU->RNR = region;
    MPU->RLAR = 0;
  }
  MPU->MAIR0 = TYPES;
  uint32_t spare = (uint32_t)(uintptr_t)_spare_start;
  set(REGION_CODE_SPACE, 0, FLASH_START, READ_ONLY | NO_CODE, CODE_TYPE);
  mpu_close_flash();
  if (spare > DATA_START) set(REGION_DATA, DATA_START, spare, READ_WRITE | NO_CODE, DATA_TYPE);
  set(REGION_SPARE_STACK, spare, spare + SPARE_STACK_BYTES, READ_ONLY | NO_CODE, DATA_TYPE);
  set(REGION_STACK, spare + SPARE_STACK_BYTES, DATA_END, READ_WRITE | NO_CODE, DATA_TYPE);
  __DSB();
  MPU->CTRL = MPU_CTRL_PRIVDEFENA_Msk | MPU_CTRL_ENABLE_Msk;
  __DSB();
  __ISB();
}

static void set_flash(uint32_t access) {
  set(REGION_FLASH, FLASH_START, FLASH_END, access, CODE_TYPE);
  __DSB();
  __ISB();
}

void mpu_open_flash(void) { set_flash(READ_WRITE); }

void mpu_close_flash(void) { set_flash(READ_ONLY); }

#endif
