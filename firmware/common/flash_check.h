/* The CRC-32 of code and weights, in flash and then in external memory, which the build has put behind the flash. */
#ifndef FLASH_CHECK_H
#define FLASH_CHECK_H

#include <stdint.h>
#include <stdbool.h>

/* False when the flash has changed; `found` is its CRC-32. Takes some ten cycles for each byte. */
bool flash_check(uint32_t *found);

#endif
