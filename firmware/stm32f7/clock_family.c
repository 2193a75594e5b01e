/* STM32F7: HSI or HSE, PLL output P and over-drive, with both L1 caches enabled.
 *
 * Code and constants are read over AXI at 0x08000000, behind the L1 caches. At 0x00200000 the flash is on the ITCM bus,
 * where the ART accelerator caches code alone: weights would wait for the flash each time, and so both would have to be
 * read by different addresses. ART and prefetch work for that bus only, and stay off (RM0385 and RM0410, sections
 * System architecture and Adaptive real-time memory accelerator).
 */
#include "clock_caches.h"
#include "clock_f4_f7.h"

bool clock_raise(const clock_settings_t *settings) {
  clock_enable_caches();
  return clock_raise_f4_f7(settings, 0);
}
