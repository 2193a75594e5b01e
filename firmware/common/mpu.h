/* The memory protection unit: no access near address 0 and below the stack, no writes to code, no code but in flash and
 * where the start-up has copied it. docs/reference/security.md has the regions. Without one nothing happens.
 */
#ifndef MPU_H
#define MPU_H

/* Sets the regions; code in RAM has been copied, and VTOR set, before. */
void mpu_begin(void);

/* Lets the flash controller take writes, in all of the flash, until the next call of the other. */
void mpu_open_flash(void);
void mpu_close_flash(void);

#endif
