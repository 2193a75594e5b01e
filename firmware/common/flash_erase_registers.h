/* How flash controllers erase pages (flash_pages.c), with ST's names. */
#ifndef FLASH_ERASE_REGISTERS_H
#define FLASH_ERASE_REGISTERS_H

#define FLASH_CR_PER (1u << 1)
#define FLASH_CR_PNB_Pos 3u

#endif
