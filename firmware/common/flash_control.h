/* Unlocking, waiting and locking: what the flash controllers of F4, F7, L4, L5, U5, H5 and G0 have in common. */
#ifndef FLASH_CONTROL_H
#define FLASH_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#ifdef ICACHE
#include "icache.h"
#endif

#define FLASH_CONTROL_KEY_1 0x45670123u
#define FLASH_CONTROL_KEY_2 0xCDEF89ABu

#ifndef FLASH_CONTROL /* the registers have other names on L5, U5 and H5 */
#define FLASH_CONTROL FLASH->CR
#define FLASH_STATUS FLASH->SR
#define FLASH_KEYS FLASH->KEYR
#endif

#ifdef FLASH_ACR_DCEN
#define FLASH_CONTROL_DATA_CACHE FLASH_ACR_DCEN
#define FLASH_CONTROL_CACHES_RESET (FLASH_ACR_ICRST | FLASH_ACR_DCRST)
#else
#define FLASH_CONTROL_DATA_CACHE 0u
#ifdef FLASH_ACR_ICEN
#define FLASH_CONTROL_CACHES_RESET FLASH_ACR_ICRST
#endif
#endif

/* Waits until no bit of `busy` is set in SR; false if one of `errors` is. */
static inline bool flash_control_is_done(uint32_t busy, uint32_t errors) {
  while (FLASH_STATUS & busy) {
  }
  return !(FLASH_STATUS & errors);
}

/* The data cache is off meanwhile: errata of F42x and of L4 with two banks, reads while another bank is written. */
static inline void flash_control_unlock(void) {
  FLASH->ACR &= ~FLASH_CONTROL_DATA_CACHE;
  if (!(FLASH_CONTROL & FLASH_CR_LOCK)) return; /* keys would block it */
  FLASH_KEYS = FLASH_CONTROL_KEY_1;
  FLASH_KEYS = FLASH_CONTROL_KEY_2;
}

/* Locks it; caches forget all. Those of the F7 are not here. */
static inline void flash_control_lock(void) {
  FLASH_CONTROL = FLASH_CR_LOCK;
#ifdef FLASH_CONTROL_CACHES_RESET
  uint32_t settings = FLASH->ACR | FLASH_CONTROL_DATA_CACHE;
  uint32_t without = settings & ~(FLASH_ACR_ICEN | FLASH_CONTROL_DATA_CACHE);
  FLASH->ACR = without;
  FLASH->ACR = without | FLASH_CONTROL_CACHES_RESET;
  FLASH->ACR = settings;
#elif defined(ICACHE)
  icache_forget();
#endif
}

#endif
