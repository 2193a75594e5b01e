/* Cycles of the basic block that runs. They are added when the next one begins: only then it is known whether its branch
 * was taken. The fetches of a block come between its accesses to data, each when its first instruction is due. */
#ifndef BLOCK_CYCLES_H
#define BLOCK_CYCLES_H

#include "board.h"

static inline uint64_t cycle_in_block(const board_t *board, uint32_t address) {
  const block_t *block = board->current;
  return board->cycles + board->stalls + block->before[(address - block->address) / 2];
}

/* Fetches the code of the current block up to `end`. */
static inline void fetch_until(board_t *board, uint32_t end) {
  memory_t *memory = board->memory;
  while (memory && board->fetch_address < end) {
    uint32_t start = board->current->address;
    uint32_t first = board->fetch_address > start ? board->fetch_address : start;
    board->stalls += memory->fetch(memory, board->fetch_address, cycle_in_block(board, first));
    board->fetch_address += memory->fetch_bytes;
  }
}

static inline void charge(board_t *board, uint32_t next_address) {
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
static inline void charge_until(board_t *board, uint32_t pc) {
  const block_t *block = board->current;
  if (!block || pc <= block->address || pc >= block->end) {
    charge(board, pc);
    return;
  }
  fetch_until(board, pc);
  board->cycles = cycle_in_block(board, pc);
  board->current = NULL;
}

#endif
