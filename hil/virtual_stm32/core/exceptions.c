/* Stacking and unstacking at exceptions (Arm DDI 0403, B1.5.6 to B1.5.8). */
#include "board.h"

#define FLAGS_MASK 0xFE0FFC00u /* of CPSR: N Z C V Q, IT, GE */
#define THUMB 0x01000000u
#define STACK_WAS_ODD 0x200u
#define CONTROL_FPCA 4u

static const int stacked[] = {REG_R0, REG_R0 + 1, REG_R0 + 2, REG_R0 + 3, REG_R0 + 12, REG_LR, REG_PC};

enum { FRAME_WORDS = 8, FP_DOUBLES = 8, FP_FRAME_WORDS = 26 };

/* True while PRIMASK or FAULTMASK keeps interrupts away. */
bool is_masked(board_t *board) { return read_register(board, REG_PRIMASK) || read_register(board, REG_FAULTMASK); }

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
