/* Causes of the last reset in RCC_CSR, for families that have them there; device.h names the supply's. */
#ifndef RESET_CAUSES_H
#define RESET_CAUSES_H

#define RESET_FLAGS RCC->CSR
#define RESET_FLAGS_CLEAR RCC_CSR_RMVF
#define RESET_FLAGS_WATCHDOG RCC_CSR_IWDGRSTF
#define RESET_FLAGS_SOFTWARE RCC_CSR_SFTRSTF
#define RESET_FLAGS_PIN RCC_CSR_PINRSTF

#endif
