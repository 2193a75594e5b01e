/* The inner loop of a virtual board: counts cycles of basic blocks, stops at deadlines, and detects idle loops.
 *
 * Unicorn calls on_block before every basic block. Python computes the cycles of a block once (blocks.py) and stores them
 * in a table. The cycles of a block are added when the next one begins: only then it is known whether its branch was
 * taken. With a memory that makes the core wait, Unicorn also calls on_data for the accesses that may; the fetches of a
 * block come in between, each when its first instruction is due. native.py mirrors the structures.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core_timing.h"
#include "external_flash.h"
#include "memory_model.h"

/* Constants of unicorn.h and arm.h. */
enum {
  REG_CPSR = 3, REG_LR = 10, REG_PC = 11, REG_SP = 12, REG_D0 = 14, REG_FPSCR = 6,
  REG_R0 = 66, REG_CONTROL = 117,
  MEM_WRITE = 17, MEM_READ_UNMAPPED = 19, MEM_FETCH_UNMAPPED = 21, MEM_WRITE_PROT = 22, MEM_READ_PROT = 23, MEM_FETCH_PROT = 24,
  MEM_READ_TORN = 25, /* own */
  PREFETCH_ABORT = 3, BKPT = 7,
};

enum { CORE_REGISTERS = 16, PROBE_BLOCKS = 16, PROBE_PAUSE_MIN = 32, PROBE_PAUSE_MAX = 8192 };

#define FIRST_RAM 0x20000000u
#define FIRST_PERIPHERAL 0x40000000u
#define EXCEPTION_RETURN 0xFFFFFFE0u
#define FLAGS_MASK 0xFE0FFC00u /* of CPSR: N Z C V Q, IT, GE */
#define IT_MASK 0x0600FC00u /* of CPSR */
#define THUMB 0x01000000u
#define STACK_WAS_ODD 0x200u
#define CONTROL_FPCA 4u

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
static bool is_protected(const board_t *board, uint32_t kind, uint32_t address, uint32_t size) {
  for (const protected_t *each = board->protected; each < board->protected + board->protected_count; each++) {
    if (each->denied & kind && each->start - address < size) return true;
    if (each->denied & kind && address - each->start < each->size) return true;
  }
  return false;
}

/* UDIV or SDIV at one address: registers of the operands. */
typedef struct {
  board_t *board;
  uint32_t dividend;
  uint32_t divisor;
  uint32_t is_signed;
} division_t;

/* Words of flash whose errors cannot be corrected, by bytes. */
typedef struct {
  board_t *board;
  uint32_t start;
  const uint8_t *is_torn;
} torn_t;

typedef struct {
  board_t *board;
  uint32_t base;
} region_t;

static uint32_t read_register(board_t *board, int reg) {
  uint32_t value = 0;
  board->reg_read(board->uc, reg, &value);
  return value;
}

static void write_register(board_t *board, int reg, uint32_t value) { board->reg_write(board->uc, reg, &value); }

static void stop(board_t *board, reason_t reason) {
  board->reason = reason;
  board->emu_stop(board->uc);
}

/* Memory */

static uint64_t cycle_in_block(const board_t *board, uint32_t address) {
  const block_t *block = board->current;
  return board->cycles + board->stalls + block->before[(address - block->address) / 2];
}

/* Fetches the code of the current block up to `end`. */
static void fetch_until(board_t *board, uint32_t end) {
  memory_t *memory = board->memory;
  while (memory && board->fetch_address < end) {
    uint32_t start = board->current->address;
    uint32_t first = board->fetch_address > start ? board->fetch_address : start;
    board->stalls += memory->fetch(memory, board->fetch_address, cycle_in_block(board, first));
    board->fetch_address += memory->fetch_bytes;
  }
}

static void begin_block(board_t *board, const block_t *block) {
  board->current = block;
  board->stalls = 0;
  board->accessed_by = 0;
  if (board->memory) board->fetch_address = block->address & ~(board->memory->fetch_bytes - 1u);
}

static uint32_t longest_stalls(const board_t *board, const block_t *block) {
  const memory_t *memory = board->memory;
  if (!memory) return 0;
  uint32_t fetches = (block->end - block->address) / memory->fetch_bytes + 2;
  const external_t *external = board->external;
  uint32_t outside = external && external->is_mapped ? external->burst_cycles + 4 * external->byte_cycles : 0;
  uint32_t access = outside > memory->longest_stall ? outside : memory->longest_stall;
  return fetches * memory->longest_stall + block->word_count * access;
}

static uint32_t unaligned_cycles(board_t *board, const block_t *block) {
  uint32_t cycles = 0;
  for (const access_t *access = block->accesses; access < block->accesses + block->access_count; access++) {
    uint32_t address = access->offset + read_register(board, (int)access->base);
    if (access->index) address += read_register(board, (int)access->index) << access->shift;
    cycles += access->cycles[address % ALIGNMENTS];
  }
  return cycles;
}

static void charge(board_t *board, uint32_t next_address) {
  const block_t *block = board->current;
  if (!block) return;
  fetch_until(board, block->end);
  board->cycles += block->cycles + board->stalls + (next_address == block->end ? 0 : block->taken);
  if (block->mispredicted && next_address < EXCEPTION_RETURN &&
      !predict(board->predictions, block->branch, block->end, next_address)) {
    board->cycles += block->mispredicted;
  }
  board->current = NULL;
}

/* Charges what has run of the current block before `pc`. */
static void charge_until(board_t *board, uint32_t pc) {
  const block_t *block = board->current;
  if (!block || pc <= block->address || pc >= block->end) {
    charge(board, pc);
    return;
  }
  fetch_until(board, pc);
  board->cycles = cycle_in_block(board, pc);
  board->current = NULL;
}

static void mark(board_t *board, const block_t *block) {
  if (!(block->flags & MARKED) || board->mark_count == board->mark_limit) return;
  mark_t *entry = &board->marks[board->mark_count++];
  entry->address = block->address;
  entry->cycles = board->cycles;
  for (int i = 0; i < STALL_KINDS; i++) entry->stalls[i] = board->memory ? board->memory->stalls[i] : 0;
}

/* Loops */

static void read_state(board_t *board, uint32_t state[CORE_REGISTERS]) {
  static const int registers[CORE_REGISTERS] = {
      REG_R0,     REG_R0 + 1, REG_R0 + 2, REG_R0 + 3,  REG_R0 + 4,  REG_R0 + 5,  REG_R0 + 6, REG_R0 + 7,
      REG_R0 + 8, REG_R0 + 9, REG_R0 + 10, REG_R0 + 11, REG_R0 + 12, REG_SP, REG_LR, REG_CPSR};
  int wanted[CORE_REGISTERS];
  void *values[CORE_REGISTERS];
  memcpy(wanted, registers, sizeof wanted);
  for (int i = 0; i < CORE_REGISTERS; i++) values[i] = &state[i];
  board->reg_read_batch(board->uc, wanted, values, CORE_REGISTERS);
}

static void give_up(board_t *board) {
  board->loop_head = NULL;
  board->probe_countdown = board->probe_pause;
  if (board->probe_pause < PROBE_PAUSE_MAX) board->probe_pause *= 2;
}

/* Writes what later accesses depend on; returns the number of words. */
static size_t memory_state(board_t *board, uint32_t words[STATE_WORDS]) {
  size_t count = board->memory->state(board->memory, board->cycles, words);
  if (!board->external) return count;
  external_state(board->external, board->cycles, words + count);
  return count + EXTERNAL_STATE_WORDS;
}

static void begin_probe(board_t *board, const block_t *block) {
  board->loop_head = block;
  board->loop_cycles = board->cycles;
  board->loop_blocks = 0;
  board->touched = 0;
  read_state(board, board->loop_state);
  memcpy(board->loop_predictions, board->predictions, sizeof board->predictions);
  if (board->memory) board->memory->probed_words = memory_state(board, board->memory->probed);
}

/* True when the memory will answer as it did since the probe began. */
static bool memory_repeats(board_t *board) {
  memory_t *memory = board->memory;
  if (!memory) return true;
  uint32_t words[STATE_WORDS];
  size_t count = memory_state(board, words);
  return count == memory->probed_words && memcmp(words, memory->probed, count * sizeof *words) == 0;
}

static bool is_same_state(board_t *board) {
  uint32_t state[CORE_REGISTERS];
  read_state(board, state);
  return memcmp(state, board->loop_state, sizeof state) == 0 &&
         memcmp(board->predictions, board->loop_predictions, sizeof board->predictions) == 0;
}

/* True when the code is at the same address with the same registers and predictions: it repeats until the next event. */
static bool is_looping(board_t *board, const block_t *block) {
  if (!board->loop_head) {
    if (board->probe_countdown) {
      board->probe_countdown--;
    } else if (block->flags & REPEATABLE) {
      begin_probe(board, block);
    }
    return false;
  }
  if (block == board->loop_head && !board->touched) {
    board->period = board->cycles - board->loop_cycles;
    if (is_same_state(board) && memory_repeats(board)) return true;
  }
  if (block == board->loop_head || board->touched || !(block->flags & REPEATABLE) ||
      ++board->loop_blocks > PROBE_BLOCKS) {
    give_up(board);
  }
  return false;
}

/* Unicorn hooks */

static const block_t *find_block(board_t *board, uint32_t address, uint32_t size) {
  const code_t *code = &board->code[address >> WINDOW_BITS];
  uint32_t offset = address - code->start;
  const block_t *block = offset < code->size ? code->blocks[offset / 2] : NULL;
  return block && block->end == address + size ? block : board->describe(address, size);
}

static bool is_too_long(const board_t *board, const block_t *block) {
  return board->cycles + block->longest + longest_stalls(board, block) > board->horizon;
}

void on_block(void *uc, uint64_t address, uint32_t size, void *user) {
  (void)uc;
  board_t *board = user;
  if (board->reason != RUNNING) { /* stopped in the last block, which had to end first */
    board->emu_stop(board->uc);
    return;
  }
  const block_t *last = board->current;
  charge(board, (uint32_t)address);
  const block_t *block = find_block(board, (uint32_t)address, size);
  if (block && last && last->end != address) board->cycles += (uint64_t)(int64_t)block->entered;
  if (!block) {
    stop(board, FAILED);
  } else if (board->cycles >= board->deadline || (is_too_long(board, block) && !board->may_overrun)) {
    stop(board, IN_TIME);
  } else if (board->is_pending && last && last->flags & SETS_MASK) {
    stop(board, UNMASKED);
  } else if (board->finds_loops && is_looping(board, block)) {
    stop(board, LOOPING);
  } else {
    mark(board, block);
    begin_block(board, block);
    board->may_overrun = 0;
    board->cycles += unaligned_cycles(board, block);
  }
}

/* Reads PC inside a block. Unicorn then also sets the IT bits of CPSR, which the block itself does not clear behind its IT
 * instructions: what comes after an exception or a stop would be conditional.
 */
static uint32_t read_pc(board_t *board) {
  uint32_t pc = read_register(board, REG_PC);
  if (board->current && board->current->flags & CONDITIONAL) {
    uint32_t cpsr = read_register(board, REG_CPSR);
    if (cpsr & IT_MASK) write_register(board, REG_CPSR, cpsr & ~IT_MASK);
  }
  return pc;
}

/* Returns the cycle in which an access reaches the memory: a load in the cycle after that in which its own code was there
 * at the earliest (pipeline). The words of an LDM follow one another.
 */
static uint64_t data_cycle(board_t *board) {
  uint32_t pc = read_pc(board);
  board->words_accessed = pc == board->accessed_by ? board->words_accessed + 1 : 0;
  board->accessed_by = pc;
  fetch_until(board, pc + 2);
  return cycle_in_block(board, pc) + 1 + board->words_accessed;
}

void on_data(void *uc, int type, uint64_t address, int size, int64_t value, void *user) {
  (void)uc;
  (void)size;
  (void)value;
  board_t *board = user;
  if (!board->current) return;
  memory_t *memory = board->memory;
  uint64_t cycle = data_cycle(board);
  board->stalls += (type == MEM_WRITE ? memory->write : memory->read)(memory, (uint32_t)address, cycle);
}

static void stop_at_read(board_t *board, uint32_t kind, uint64_t address, int size) {
  board->fault_kind = kind;
  board->fault_address = (uint32_t)address;
  board->fault_size = (uint32_t)size;
  stop(board, BAD_ACCESS);
}

void on_torn(void *uc, int type, uint64_t address, int size, int64_t value, void *user) {
  (void)uc;
  (void)type;
  (void)value;
  const torn_t *torn = user;
  board_t *board = torn->board;
  uint32_t first = (uint32_t)address - torn->start;
  if (!torn->is_torn[first] && !torn->is_torn[first + (uint32_t)size - 1u]) return;
  board->access_pc = read_pc(board);
  board->touched = 1;
  if (!board->failed((uint32_t)address)) stop_at_read(board, MEM_READ_TORN, address, size);
}

/* A read of the external memory. */
void on_external(void *uc, int type, uint64_t address, int size, int64_t value, void *user) {
  (void)uc;
  (void)type;
  (void)value;
  board_t *board = user;
  if (!board->external->is_mapped || is_protected(board, DENIES_READ, (uint32_t)address, (uint32_t)size)) {
    board->access_pc = read_pc(board);
    stop_at_read(board, MEM_READ_UNMAPPED, address, size);
  } else if (board->current && board->memory) {
    uint64_t cycle = data_cycle(board);
    uint64_t ready = external_ready(board->external, (uint32_t)address, (uint32_t)size, cycle);
    board->stalls += stalled(board->memory, CONSTANTS, ready, cycle);
  }
}

/* Called before the division; its block counts the shortest. */
void on_division(void *uc, uint64_t address, uint32_t size, void *user) {
  (void)uc;
  (void)address;
  (void)size;
  const division_t *division = user;
  board_t *board = division->board;
  uint32_t dividend = read_register(board, REG_R0 + (int)division->dividend);
  uint32_t divisor = read_register(board, REG_R0 + (int)division->divisor);
  board->cycles += division_cycles(dividend, divisor, division->is_signed);
}

/* A branch to EXC_RETURN is reported as an unmapped fetch (ARMv6-M) or as a prefetch abort (ARMv7-M). */
static bool is_exception_return(board_t *board, uint32_t address) {
  if (address < EXCEPTION_RETURN) return false;
  charge(board, address);
  board->reason = RETURNING;
  board->fault_address = address | 1u;
  return true;
}

static uint64_t access_cycle(board_t *board) {
  if (!board->current) return board->cycles;
  fetch_until(board, board->access_pc + 2);
  return cycle_in_block(board, board->access_pc);
}

/* An access to memory in a page in which the MPU protects other bytes. Unicorn goes on with a read, but makes no write. */
static bool pass_by(board_t *board, bool is_write, uint32_t address, uint32_t size, uint64_t value) {
  return !is_write || !board->mem_write(board->uc, address, &value, size);
}

/* Peripherals are mapped without permissions, because only in this hook Unicorn has the exact program counter. It makes a
 * write to flash itself, too: the flash controller puts right what it has not programmed so.
 */
bool on_protected(void *uc, int type, uint64_t address, int size, int64_t value, void *user) {
  (void)uc;
  board_t *board = user;
  board->access_pc = read_pc(board);
  bool is_data = type == MEM_READ_PROT || type == MEM_WRITE_PROT;
  bool is_external = board->external && (uint32_t)address - board->external->start < board->external->size;
  if (is_data && (uint32_t)address >= FIRST_PERIPHERAL && !is_external) return true;
  bool is_write = type == MEM_WRITE_PROT;
  is_data &= !is_protected(board, is_write ? DENIES_WRITE : DENIES_READ, (uint32_t)address, (uint32_t)size);
  if (is_data && (!is_write || (uint32_t)address >= FIRST_RAM) && !is_external) {
    return pass_by(board, is_write, (uint32_t)address, (uint32_t)size, (uint64_t)value);
  }
  if (is_data && is_write && !is_external) {
    board->touched = 1;
    board->write((uint32_t)address, (uint32_t)size, (uint32_t)value, access_cycle(board));
    return true;
  }
  bool is_fetch = type == MEM_FETCH_UNMAPPED || type == MEM_FETCH_PROT;
  if (is_fetch && is_exception_return(board, (uint32_t)address)) return false;
  board->reason = BAD_ACCESS;
  board->fault_kind = (uint32_t)type;
  board->fault_address = (uint32_t)address;
  board->fault_size = (uint32_t)size;
  return false;
}

uint64_t on_read(void *uc, uint64_t offset, unsigned size, void *user) {
  (void)uc;
  const region_t *region = user;
  board_t *board = region->board;
  uint32_t value = board->read(region->base + (uint32_t)offset, size, access_cycle(board));
  if (board->access_pc == board->polled_by && value == board->polled_value) board->probe_countdown = 0; /* a loop? */
  board->polled_by = board->access_pc;
  board->polled_value = value;
  return value;
}

void on_write(void *uc, uint64_t offset, unsigned size, uint64_t value, void *user) {
  (void)uc;
  const region_t *region = user;
  region->board->touched = 1;
  region->board->write(region->base + (uint32_t)offset, size, (uint32_t)value, access_cycle(region->board));
}

void on_trap(void *uc, uint32_t number, void *user) {
  (void)uc;
  board_t *board = user;
  uint32_t pc = read_register(board, REG_PC);
  if (number == BKPT && board->is_debuggable) {
    charge_until(board, pc);
    board->reason = AT_BKPT;
    board->access_pc = pc;
  } else if (number != PREFETCH_ABORT || !is_exception_return(board, pc)) {
    board->reason = TRAPPED;
    board->access_pc = pc;
    board->fault_kind = number;
  }
  board->emu_stop(board->uc);
}

/* Called from Python */

void run(board_t *board) {
  board->reason = RUNNING;
  board->loop_head = NULL;
  board->probe_pause = PROBE_PAUSE_MIN;
  board->probe_countdown = 0;
  int error = board->emu_start(board->uc, read_register(board, REG_PC) | 1u, 0, 0, board->steps);
  if (board->reason != RUNNING) return;
  if (!error && board->current && board->current->flags & SLEEPS) {
    charge(board, board->current->end);
    board->reason = SLEEPING;
    return;
  }
  board->access_pc = read_register(board, REG_PC);
  if (!error && board->is_debuggable) {
    charge_until(board, board->access_pc);
    board->reason = STOPPED;
    return;
  }
  board->fault_kind = (uint32_t)error;
  board->reason = REFUSED;
}

static const int stacked[] = {REG_R0, REG_R0 + 1, REG_R0 + 2, REG_R0 + 3, REG_R0 + 12, REG_LR, REG_PC};

enum { FRAME_WORDS = 8, FP_DOUBLES = 8, FP_FRAME_WORDS = 26 };

/* Pushes the exception frame: 8 words, or 26 with an active FPU context (Arm DDI 0403, B1.5.7). Then jumps to the handler.
 * `link` is EXC_RETURN for the basic frame. Returns false when the stack cannot be written.
 */
bool enter_exception(board_t *board, uint32_t handler, uint32_t link, uint32_t has_fpu) {
  uint32_t frame[FP_FRAME_WORDS] = {0};
  uint32_t sp = read_register(board, REG_SP);
  uint32_t control = has_fpu ? read_register(board, REG_CONTROL) : 0;
  bool is_large = control & CONTROL_FPCA;
  uint32_t words = is_large ? FP_FRAME_WORDS : FRAME_WORDS;
  uint32_t top = (sp - 4 * words) & ~7u;
  for (int i = 0; i < FRAME_WORDS - 1; i++) frame[i] = read_register(board, stacked[i]);
  frame[FRAME_WORDS - 1] = (read_register(board, REG_CPSR) & FLAGS_MASK) | THUMB | (sp & 4 ? STACK_WAS_ODD : 0);
  if (is_large) {
    for (int i = 0; i < FP_DOUBLES; i++) board->reg_read(board->uc, REG_D0 + i, &frame[FRAME_WORDS + 2 * i]);
    frame[FRAME_WORDS + 2 * FP_DOUBLES] = read_register(board, REG_FPSCR);
    write_register(board, REG_CONTROL, control & ~CONTROL_FPCA);
  }
  board->fault_address = top;
  board->fault_size = 4 * words;
  if (is_protected(board, DENIES_WRITE, top, 4 * words)) return false;
  if (board->mem_write(board->uc, top, frame, 4 * words)) return false;
  write_register(board, REG_SP, top);
  write_register(board, REG_LR, is_large ? link & ~0x10u : link);
  write_register(board, REG_CPSR, read_register(board, REG_CPSR) & ~FLAGS_MASK);
  write_register(board, REG_PC, handler | 1u);
  return true;
}

bool leave_exception(board_t *board, uint32_t link) {
  uint32_t frame[FP_FRAME_WORDS];
  uint32_t sp = read_register(board, REG_SP);
  bool is_large = !(link & 0x10u);
  uint32_t words = is_large ? FP_FRAME_WORDS : FRAME_WORDS;
  board->fault_address = sp;
  board->fault_size = 4 * words;
  if (is_protected(board, DENIES_READ, sp, 4 * words)) return false;
  if (board->mem_read(board->uc, sp, frame, 4 * words)) return false;
  for (int i = 0; i < FRAME_WORDS - 1; i++) write_register(board, stacked[i], frame[i] | (stacked[i] == REG_PC));
  if (is_large) {
    for (int i = 0; i < FP_DOUBLES; i++) board->reg_write(board->uc, REG_D0 + i, &frame[FRAME_WORDS + 2 * i]);
    write_register(board, REG_FPSCR, frame[FRAME_WORDS + 2 * FP_DOUBLES]);
    write_register(board, REG_CONTROL, read_register(board, REG_CONTROL) | CONTROL_FPCA);
  }
  uint32_t state = frame[FRAME_WORDS - 1];
  write_register(board, REG_SP, sp + 4 * words + (state & STACK_WAS_ODD ? 4 : 0));
  write_register(board, REG_CPSR, (read_register(board, REG_CPSR) & ~FLAGS_MASK) | (state & FLAGS_MASK));
  return true;
}
