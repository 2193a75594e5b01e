/* A virtual board as its C part sees it. native.py mirrors the structures. */
#ifndef BOARD_H
#define BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core_timing.h"
#include "external_flash.h"
#include "memory_model.h"

/* Constants of unicorn.h and arm.h. */
enum {
  REG_CPSR = 3, REG_LR = 10, REG_PC = 11, REG_SP = 12, REG_D0 = 14, REG_FPSCR = 6,
  REG_R0 = 66, REG_CONTROL = 117, REG_PRIMASK = 123, REG_FAULTMASK = 126,
  MEM_WRITE = 17, MEM_READ_UNMAPPED = 19, MEM_FETCH_UNMAPPED = 21, MEM_WRITE_PROT = 22, MEM_READ_PROT = 23, MEM_FETCH_PROT = 24,
  MEM_READ_TORN = 25, /* own */
  PREFETCH_ABORT = 3, BKPT = 7, EXCEPTION_EXIT = 8,
};

enum { CORE_REGISTERS = 16 };

#define FIRST_RAM 0x20000000u
#define FIRST_PERIPHERAL 0x40000000u
#define EXCEPTION_RETURN 0xFFFFFFE0u

typedef enum {
  RUNNING,
  IN_TIME, /* the deadline or the horizon is reached */
  LOOPING, /* a loop repeats exactly every `period` cycles */
  SLEEPING, /* WFI */
  RETURNING, /* the end of an exception handler: `fault_address` is EXC_RETURN */
  UNMASKED, /* PRIMASK may have changed while an interrupt is pending */
  FAILED, /* a Python callback has raised an exception */
  BAD_ACCESS, /* fault_kind is Unicorn's uc_mem_type */
  TRAPPED, /* fault_kind is QEMU's exception number */
  REFUSED, /* uc_emu_start has returned fault_kind */
  STOPPED, /* before an address with a breakpoint, or after `steps` instructions */
  AT_BKPT, /* the instruction */
} reason_t;

enum { REPEATABLE = 1, SETS_MASK = 2, SLEEPS = 4, MARKED = 8, CONDITIONAL = 16 }; /* of block_t.flags */

typedef struct {
  uint32_t address;
  uint32_t end;
  uint32_t cycles; /* if the last branch is not taken */
  uint32_t taken; /* additional cycles if it is taken */
  uint32_t flags;
  int32_t entered; /* additional cycles if a taken branch enters it */
  uint32_t branch; /* address of the last instruction */
  uint32_t mispredicted; /* additional cycles if another target was predicted, 0 without prediction */
  uint32_t longest; /* with all additional cycles, without stalls */
  uint32_t access_count;
  uint32_t word_count; /* of memory that its instructions read and write at most */
  uint32_t reserved;
  const uint32_t *before; /* cycles of the block before each of its halfwords */
  const access_t *accesses; /* that may be unaligned */
} block_t;

/* Written when a marked block begins. */
typedef struct {
  uint64_t address;
  uint64_t cycles;
  uint64_t stalls[STALL_KINDS];
} mark_t;

/* The code of an ELF file in one of CODE_WINDOWS equal parts of the address space. */
typedef struct {
  const block_t **blocks; /* one entry per halfword */
  uint32_t start;
  uint32_t size;
} code_t;

/* Bytes that the MPU protects. */
typedef struct {
  uint32_t start;
  uint32_t size;
  uint32_t denied;
} protected_t;

enum { DENIES_READ = 1, DENIES_WRITE = 2 }; /* of protected_t */

enum { CODE_WINDOWS = 64, WINDOW_BITS = 26 };

typedef struct board board_t;

struct board {
  void *uc;
  int (*emu_start)(void *uc, uint64_t begin, uint64_t until, uint64_t timeout, size_t count);
  int (*emu_stop)(void *uc);
  int (*reg_read)(void *uc, int reg, void *value);
  int (*reg_write)(void *uc, int reg, const void *value);
  int (*reg_read_batch)(void *uc, int *regs, void **values, int count);
  int (*mem_read)(void *uc, uint64_t address, void *bytes, size_t size);
  int (*mem_write)(void *uc, uint64_t address, const void *bytes, size_t size);
  const block_t *(*describe)(uint32_t address, uint32_t size);
  uint32_t (*read)(uint32_t address, uint32_t size, uint64_t cycle);
  void (*write)(uint32_t address, uint32_t size, uint32_t value, uint64_t cycle);
  bool (*failed)(uint32_t address); /* a word of flash cannot be corrected: false for a bus error */
  const code_t *code; /* of all windows */
  uint64_t cycles; /* at the start of `current`, or now if there is none */
  uint64_t deadline; /* stop before the first block that begins at this cycle or later */
  uint64_t horizon; /* stop before a block that may end after this cycle */
  const block_t *current;
  uint64_t period;
  uint32_t reason;
  uint32_t is_pending; /* an interrupt waits for PRIMASK */
  uint32_t finds_loops;
  uint32_t touched; /* a peripheral was written, or a register was read that is not steady */
  uint32_t access_pc;
  uint32_t fault_kind;
  uint32_t fault_address;
  uint32_t fault_size;
  uint32_t may_overrun; /* one block may end after the horizon */
  uint32_t mark_count;
  mark_t *marks;
  uint32_t mark_limit;
  uint32_t stalls; /* cycles of `current` for which the core has waited for memory */
  memory_t *memory; /* NULL for an ideal one */
  external_t *external; /* NULL without one */
  uint32_t fetch_address; /* of the code of `current` that is fetched next */
  uint32_t accessed_by; /* program counter of the last access of `current` */
  uint32_t words_accessed; /* by this instruction */
  uint32_t is_debuggable; /* breakpoints, steps and BKPT end a run */
  uint32_t steps; /* instructions of this run, 0 for no limit */
  uint32_t polled_by; /* program counter of the last read of a peripheral */
  uint32_t polled_value; /* that it gave */
  uint32_t protected_count;
  const protected_t *protected;
  const block_t *loop_head; /* while probing */
  uint64_t loop_cycles;
  uint32_t loop_blocks;
  uint32_t probe_pause;
  uint32_t probe_countdown;
  uint32_t loop_state[CORE_REGISTERS];
  prediction_t predictions[PREDICTED_BRANCHES];
  prediction_t loop_predictions[PREDICTED_BRANCHES];
};

/* True if the MPU keeps data accesses of `kind` from one of the bytes. */
static inline bool is_protected(const board_t *board, uint32_t kind, uint32_t address, uint32_t size) {
  for (const protected_t *each = board->protected; each < board->protected + board->protected_count; each++) {
    if (each->denied & kind && each->start - address < size) return true;
    if (each->denied & kind && address - each->start < each->size) return true;
  }
  return false;
}

static inline uint32_t read_register(board_t *board, int reg) {
  uint32_t value = 0;
  board->reg_read(board->uc, reg, &value);
  return value;
}

static inline void write_register(board_t *board, int reg, uint32_t value) { board->reg_write(board->uc, reg, &value); }

static inline void stop(board_t *board, reason_t reason) {
  board->reason = reason;
  board->emu_stop(board->uc);
}

#endif
