#include "external_memory.h"

#include "device.h"

#define READ_ID 0x9Fu
#define ENABLE_RESET 0x66u
#define RESET 0x99u
#define READ_STATUS 0x05u
#define READ_CONFIGURATION 0x15u
#define ENABLE_WRITING 0x06u
#define WRITE_STATUS 0x01u
#define IS_BUSY 1u /* of the status register */

#define ID_BYTES 3u
#define ID_TRIES 500u /* of 2 us and more: longer than a reset */
#define READY_TRIES 100000u /* of 1 us and more: longer than writing the status */
#define SLOW 2u /* until the status is set, the flash may have to be slower */
#define IDLE_CLOCKS 1024u /* after which chip select goes high */

enum { INDIRECT_WRITE, INDIRECT_READ, MEMORY_MAPPED = 3 }; /* FMODE */
enum { ADDRESS_24_BITS = 2 };

static uint32_t id_found;
static bool is_mapped;

/* The code of 1, 2 or 4 lines in CCR. */
static uint32_t mode(uint32_t lines) { return lines == 4u ? 3u : lines; }

static void set_clock(uint32_t prescaler) {
  QUADSPI->CR = (prescaler - 1u) << QUADSPI_CR_PRESCALER_Pos | QUADSPI_CR_SSHIFT | QUADSPI_CR_TCEN | QUADSPI_CR_EN;
}

/* Begins a command on one line, without an address. */
static void command(uint32_t function, uint32_t instruction, uint32_t bytes) {
  if (bytes) QUADSPI->DLR = bytes - 1u;
  QUADSPI->CCR = function << QUADSPI_CCR_FMODE_Pos | (bytes ? mode(1) : 0u) << QUADSPI_CCR_DMODE_Pos |
                 mode(1) << QUADSPI_CCR_IMODE_Pos | instruction;
}

static void wait_for_bits(void) {
  while (!(QUADSPI->SR & QUADSPI_SR_TCF)) {}
  QUADSPI->FCR = QUADSPI_FCR_CTCF;
}

/* It is busy until the FIFO is empty, too. */
static void end(void) {
  while (QUADSPI->SR & QUADSPI_SR_BUSY) {}
}

static void send(uint32_t instruction, const uint8_t *bytes, uint32_t count) {
  command(INDIRECT_WRITE, instruction, count);
  for (uint32_t i = 0; i < count; i++) *(volatile uint8_t *)&QUADSPI->DR = bytes[i];
  wait_for_bits();
  end();
}

static void receive(uint32_t instruction, uint8_t *bytes, uint32_t count) {
  command(INDIRECT_READ, instruction, count);
  wait_for_bits();
  for (uint32_t i = 0; i < count; i++) bytes[i] = *(volatile uint8_t *)&QUADSPI->DR;
  end();
}

/* A flash that resets itself does not answer. */
static bool has_id(void) {
  for (uint32_t i = 0; i < ID_TRIES; i++) {
    uint8_t id[ID_BYTES];
    receive(READ_ID, id, ID_BYTES);
    id_found = (uint32_t)id[0] << 16 | (uint32_t)id[1] << 8 | id[2];
    if (id_found == board_external_memory.jedec_id) return true;
  }
  return false;
}

static bool is_ready(void) {
  for (uint32_t i = 0; i < READY_TRIES; i++) {
    uint8_t status;
    receive(READ_STATUS, &status, 1);
    if (!(status & IS_BUSY)) return true;
  }
  return false;
}

static bool has_status(void) {
  const external_memory_t *memory = &board_external_memory;
  uint8_t found[EXTERNAL_MEMORY_STATUS_BYTES];
  receive(READ_STATUS, found, 1);
  if (memory->status_bytes > 1u) receive(READ_CONFIGURATION, &found[1], memory->status_bytes - 1u);
  for (uint32_t i = 0; i < memory->status_bytes; i++) {
    if (found[i] != memory->status[i]) return false;
  }
  return true;
}

/* Its bits are kept without supply in part: they are written only where they differ. */
static bool set_status(void) {
  if (has_status()) return true;
  send(ENABLE_WRITING, 0, 0);
  send(WRITE_STATUS, board_external_memory.status, board_external_memory.status_bytes);
  return is_ready() && has_status();
}

static void map(void) {
  const external_memory_t *memory = &board_external_memory;
  set_clock(memory->prescaler);
  QUADSPI->LPTR = IDLE_CLOCKS;
  QUADSPI->ABR = memory->mode_byte;
  QUADSPI->CCR = (uint32_t)MEMORY_MAPPED << QUADSPI_CCR_FMODE_Pos | mode(memory->data_lines) << QUADSPI_CCR_DMODE_Pos |
                 (uint32_t)memory->dummy_cycles << QUADSPI_CCR_DCYC_Pos |
                 mode(memory->address_lines) << QUADSPI_CCR_ABMODE_Pos |
                 (uint32_t)ADDRESS_24_BITS << QUADSPI_CCR_ADSIZE_Pos |
                 mode(memory->address_lines) << QUADSPI_CCR_ADMODE_Pos |
                 mode(memory->command_lines) << QUADSPI_CCR_IMODE_Pos | memory->read_command;
}

void external_memory_begin(void) {
  const external_memory_t *memory = &board_external_memory;
  QUADSPI->DCR = (memory->size_bits - 1u) << QUADSPI_DCR_FSIZE_Pos |
                 (memory->select_high_cycles - 1u) << QUADSPI_DCR_CSHT_Pos;
  set_clock(SLOW * memory->prescaler);
  send(ENABLE_RESET, 0, 0);
  send(RESET, 0, 0);
  is_mapped = has_id() && is_ready() && set_status();
  if (is_mapped) map();
}

bool external_memory_check(uint32_t *found) {
  *found = id_found;
  return is_mapped;
}
