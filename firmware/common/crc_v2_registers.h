/* Bits of the CRC unit of the STM32G0, F7, L4 and H7, with ST's names. */
#ifndef CRC_V2_REGISTERS_H
#define CRC_V2_REGISTERS_H

#define CRC_CR_REV_IN (3u << 5) /* of words */
#define CRC_CR_REV_OUT (1u << 7)

#endif
