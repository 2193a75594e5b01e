/* Accesses of a virtual board to memory and peripherals, and its exceptions as Unicorn reports them. */
#include "block_cycles.h"

#define IT_MASK 0x0600FC00u /* of CPSR */

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

/* Its block counts the shortest. */
static void charge_division(board_t *board, uint32_t dividend, uint32_t divisor, bool is_signed) {
  uint32_t values[] = {read_register(board, REG_R0 + (int)dividend), read_register(board, REG_R0 + (int)divisor)};
  board->cycles += division_cycles(values[0], values[1], is_signed);
}

/* Called before the division. */
void on_division(void *uc, uint64_t address, uint32_t size, void *user) {
  (void)uc;
  (void)address;
  (void)size;
  const division_t *division = user;
  charge_division(division->board, division->dividend, division->divisor, division->is_signed);
}

/* Called before each instruction in RAM that may get any code: UDIV and SDIV are as core/divisions.py finds them. */
void on_ram_code(void *uc, uint64_t address, uint32_t size, void *user) {
  (void)uc;
  board_t *board = user;
  uint8_t code[4];
  if (size != sizeof code || board->mem_read(board->uc, address, code, sizeof code)) return;
  if ((code[0] & 0xD0u) != 0x90u || code[1] != 0xFBu || code[2] < 0xF0u || code[3] < 0xF0u) return;
  charge_division(board, code[0] & 0xFu, code[2] & 0xFu, !(code[0] & 0x20u));
}

/* A branch to EXC_RETURN is reported as an unmapped fetch (ARMv6-M), a prefetch abort (ARMv7-M) or an exception return
 * (ARMv8-M, which Unicorn runs in secure state).
 */
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
  } else if ((number != PREFETCH_ABORT && number != EXCEPTION_EXIT) || !is_exception_return(board, pc)) {
    board->reason = TRAPPED;
    board->access_pc = pc;
    board->fault_kind = number;
  }
  board->emu_stop(board->uc);
}
