/* The inner loop of a virtual board: counts cycles of basic blocks, stops at deadlines, and detects idle loops.
 *
 * Unicorn calls on_block before every basic block. Python computes the cycles of a block once (blocks.py) and stores them
 * in a table. With a memory that makes the core wait, Unicorn also calls on_data (accesses.c) for the accesses that may.
 */
#include <string.h>

#include "block_cycles.h"

enum { PROBE_BLOCKS = 16, PROBE_PAUSE_MIN = 32, PROBE_PAUSE_MAX = 8192 };

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

/* Blocks */

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
