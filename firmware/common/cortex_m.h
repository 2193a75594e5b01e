/* The used registers of the core, with CMSIS names, by Arm's architecture reference manuals (DDI 0419 for ARMv6-M, DDI
 * 0403 for ARMv7-M, DDI 0553 for ARMv8-M). Only for builds without Arm's core_cm*.h. The including header defines
 * __CORTEX_M and __NVIC_PRIO_BITS, and CORE_WITHOUT_MPU or CORE_WITHOUT_VTOR where it lacks one.
 */
#ifndef CORTEX_M_H
#define CORTEX_M_H

#include <stdint.h>

typedef enum { SysTick_IRQn = -1 } IRQn_Type;

typedef struct {
  volatile uint32_t ISER[8];
  volatile uint32_t reserved_0[24];
  volatile uint32_t ICER[8]; /* 0x080 */
  volatile uint32_t reserved_1[24];
  volatile uint32_t ISPR[8]; /* 0x100 */
  volatile uint32_t reserved_2[24];
  volatile uint32_t ICPR[8]; /* 0x180 */
  volatile uint32_t reserved_3[88];
  volatile uint32_t IPR[60]; /* 0x300; bytes in CMSIS, but for ARMv6-M, which has only word accesses */
} NVIC_Type;

typedef struct {
  volatile uint32_t CPUID;
  volatile uint32_t ICSR;
#ifdef CORE_WITHOUT_VTOR
  volatile uint32_t reserved_v;
#else
  volatile uint32_t VTOR;
#endif
  volatile uint32_t AIRCR;
  volatile uint32_t SCR;
  volatile uint32_t CCR;
  volatile uint32_t reserved_0[2];
  volatile uint32_t SHPR3; /* CMSIS: the last word of SHPR[] */
#if __CORTEX_M >= 3
  volatile uint32_t reserved_1;
  volatile uint32_t CFSR; /* 0xD28 */
  volatile uint32_t reserved_2[2];
  volatile uint32_t MMFAR; /* 0xD34 */
#endif
#if __CORTEX_M == 7
  volatile uint32_t reserved_3[18];
  volatile uint32_t CCSIDR; /* 0xD80 */
  volatile uint32_t CSSELR;
  volatile uint32_t reserved_4[114];
  volatile uint32_t ICIALLU; /* 0xF50 */
  volatile uint32_t reserved_5[2];
  volatile uint32_t DCIMVAC; /* 0xF5C */
  volatile uint32_t DCISW;
  volatile uint32_t reserved_6;
  volatile uint32_t DCCMVAC; /* 0xF68 */
  volatile uint32_t reserved_7[2];
  volatile uint32_t DCCISW; /* 0xF74 */
#endif
} SCB_Type;

typedef struct {
  volatile uint32_t CTRL;
  volatile uint32_t LOAD;
  volatile uint32_t VAL;
} SysTick_Type;

#define NVIC_BASE 0xE000E100u
#define SCB_BASE 0xE000ED00u
#define SysTick_BASE 0xE000E010u

#define NVIC ((NVIC_Type *)NVIC_BASE)
#define SCB ((SCB_Type *)SCB_BASE)
#define SysTick ((SysTick_Type *)SysTick_BASE)

#define SCB_ICSR_PENDSTCLR_Msk 0x02000000u
#define SCB_ICSR_PENDSTSET_Msk 0x04000000u
#define SCB_ICSR_PENDSVSET_Msk 0x10000000u
#define SCB_AIRCR_SYSRESETREQ_Msk 0x00000004u
#define SCB_SCR_SLEEPDEEP_Msk 0x00000004u
#define SysTick_CTRL_ENABLE_Msk 0x00000001u
#define SysTick_CTRL_TICKINT_Msk 0x00000002u
#define SysTick_CTRL_CLKSOURCE_Msk 0x00000004u
#ifndef CORE_WITHOUT_VTOR
#define SCB_VTOR_TBLOFF_Pos (__CORTEX_M >= 3 ? 7u : 8u)
#endif

#ifndef CORE_WITHOUT_MPU
typedef struct {
  volatile uint32_t TYPE;
  volatile uint32_t CTRL;
  volatile uint32_t RNR;
  volatile uint32_t RBAR;
#if __CORTEX_M == 33
  volatile uint32_t RLAR;
  volatile uint32_t reserved_0[7];
  volatile uint32_t MAIR0; /* 0x30 */
#else
  volatile uint32_t RASR;
#endif
} MPU_Type;

#define MPU_BASE 0xE000ED90u
#define MPU ((MPU_Type *)MPU_BASE)
#define MPU_TYPE_DREGION_Pos 8u
#define MPU_TYPE_DREGION_Msk 0x0000FF00u
#define MPU_CTRL_ENABLE_Msk 0x00000001u
#define MPU_CTRL_PRIVDEFENA_Msk 0x00000004u
#if __CORTEX_M == 33
#define MPU_RBAR_XN_Msk 0x00000001u
#define MPU_RBAR_AP_Pos 1u
#define MPU_RLAR_EN_Msk 0x00000001u
#define MPU_RLAR_AttrIndx_Pos 1u
#define MPU_RLAR_LIMIT_Msk 0xFFFFFFE0u
#else
#define MPU_RASR_XN_Msk 0x10000000u
#define MPU_RASR_AP_Pos 24u
#define MPU_RASR_TEX_Pos 19u
#define MPU_RASR_C_Msk 0x00020000u
#define MPU_RASR_B_Msk 0x00010000u
#define MPU_RASR_SRD_Pos 8u
#define MPU_RASR_SIZE_Pos 1u
#define MPU_RASR_ENABLE_Msk 0x00000001u
#endif
#endif

#if __CORTEX_M >= 3
#define SCB_CCR_BFHFNMIGN_Msk 0x00000100u

typedef struct {
  volatile uint32_t CTRL;
  volatile uint32_t CYCCNT;
  volatile uint32_t CPICNT;
  volatile uint32_t EXCCNT;
  volatile uint32_t SLEEPCNT;
  volatile uint32_t LSUCNT;
  volatile uint32_t FOLDCNT;
#if __CORTEX_M == 7
  volatile uint32_t reserved_0[997];
  volatile uint32_t LAR; /* 0xFB0 */
#endif
} DWT_Type;

typedef struct {
  volatile uint32_t DHCSR;
  volatile uint32_t DCRSR;
  volatile uint32_t DCRDR;
  volatile uint32_t DEMCR;
} CoreDebug_Type;

#define DWT_BASE 0xE0001000u
#define CoreDebug_BASE 0xE000EDF0u

#define DWT ((DWT_Type *)DWT_BASE)
#define CoreDebug ((CoreDebug_Type *)CoreDebug_BASE)
#define SCB_CFSR_MMARVALID_Msk 0x00000080u
#define DWT_CTRL_CYCCNTENA_Msk 0x00000001u
#define DWT_CTRL_CPIEVTENA_Msk 0x00020000u
#define DWT_CTRL_LSUEVTENA_Msk 0x00100000u
#define DWT_CTRL_FOLDEVTENA_Msk 0x00200000u
#define CoreDebug_DEMCR_TRCENA_Msk 0x01000000u
#endif

static inline void __disable_irq(void) { __asm volatile("cpsid i" ::: "memory"); }
static inline void __enable_irq(void) { __asm volatile("cpsie i" ::: "memory"); }
static inline void __WFI(void) { __asm volatile("wfi" ::: "memory"); }
static inline void __DSB(void) { __asm volatile("dsb 0xF" ::: "memory"); }
static inline void __ISB(void) { __asm volatile("isb 0xF" ::: "memory"); }

static inline uint32_t __get_PRIMASK(void) {
  uint32_t value;
  __asm volatile("mrs %0, primask" : "=r"(value)::"memory");
  return value;
}

static inline void __set_PRIMASK(uint32_t value) { __asm volatile("msr primask, %0" ::"r"(value) : "memory"); }

#if __CORTEX_M >= 3
static inline void __set_FAULTMASK(uint32_t value) { __asm volatile("msr faultmask, %0" ::"r"(value) : "memory"); }
#endif

static inline void NVIC_EnableIRQ(IRQn_Type interrupt) {
  uint32_t number = (uint32_t)interrupt;
  NVIC->ISER[number / 32u] = 1u << (number % 32u);
}

static inline void NVIC_SetPendingIRQ(IRQn_Type interrupt) {
  uint32_t number = (uint32_t)interrupt;
  NVIC->ISPR[number / 32u] = 1u << (number % 32u);
}

/* Supports interrupts and SysTick: all other exceptions keep their priority at reset, the highest. */
static inline void NVIC_SetPriority(IRQn_Type interrupt, uint32_t priority) {
  uint32_t number = (uint32_t)interrupt;
  volatile uint32_t *word = interrupt == SysTick_IRQn ? &SCB->SHPR3 : &NVIC->IPR[number / 4u];
  uint32_t shift = interrupt == SysTick_IRQn ? 24u : number % 4u * 8u;
  *word = (*word & ~(0xFFu << shift)) | priority << (shift + 8u - __NVIC_PRIO_BITS);
}

#if __CORTEX_M == 7
#define SCB_CCR_IC_Msk 0x00020000u
#define SCB_CCR_DC_Msk 0x00010000u

static inline void SCB_EnableICache(void) {
  __DSB();
  __ISB();
  SCB->ICIALLU = 0;
  __DSB();
  __ISB();
  SCB->CCR |= SCB_CCR_IC_Msk;
  __DSB();
  __ISB();
}

static inline void SCB_DisableICache(void) {
  __DSB();
  __ISB();
  SCB->CCR &= ~SCB_CCR_IC_Msk;
  SCB->ICIALLU = 0;
  __DSB();
  __ISB();
}

/* An operation on all lines of the data cache by set and way (Arm DDI 0403, B2.2.7); CCSIDR has its geometry. */
static inline void cortex_m_all_lines(volatile uint32_t *operation) {
  SCB->CSSELR = 0; /* level 1, data */
  __DSB();
  uint32_t geometry = SCB->CCSIDR;
  uint32_t line_shift = (geometry & 7u) + 4u;
  uint32_t last_way = (geometry >> 3) & 0x3FFu;
  uint32_t last_set = (geometry >> 13) & 0x7FFFu;
  uint32_t way_shift = last_way ? (uint32_t)__builtin_clz(last_way) : 0u;
  for (uint32_t set = 0; set <= last_set; set++) {
    for (uint32_t way = 0; way <= last_way; way++) *operation = way << way_shift | set << line_shift;
  }
  __DSB();
}

/* Invalidates all lines before. */
static inline void SCB_EnableDCache(void) {
  cortex_m_all_lines(&SCB->DCISW);
  SCB->CCR |= SCB_CCR_DC_Msk;
  __DSB();
  __ISB();
}

/* Writes all lines back behind that. */
static inline void SCB_DisableDCache(void) {
  __DSB();
  SCB->CCR &= ~SCB_CCR_DC_Msk;
  __DSB();
  cortex_m_all_lines(&SCB->DCCISW);
  __ISB();
}

#define __SCB_DCACHE_LINE_SIZE 32u

/* Both take whole lines: `address` is at the start of one. */
static inline void SCB_CleanDCache_by_Addr(volatile void *address, int32_t bytes) {
  __DSB();
  uint32_t first = (uint32_t)(uintptr_t)address;
  for (uint32_t line = first; line < first + (uint32_t)bytes; line += __SCB_DCACHE_LINE_SIZE) SCB->DCCMVAC = line;
  __DSB();
  __ISB();
}

static inline void SCB_InvalidateDCache_by_Addr(volatile void *address, int32_t bytes) {
  __DSB();
  uint32_t first = (uint32_t)(uintptr_t)address;
  for (uint32_t line = first; line < first + (uint32_t)bytes; line += __SCB_DCACHE_LINE_SIZE) SCB->DCIMVAC = line;
  __DSB();
  __ISB();
}
#endif

#endif
