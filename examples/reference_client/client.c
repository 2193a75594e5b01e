/* Runs one inference on the boards of a project: docs/understand/protocol.md, "Host ports", in C for a POSIX host.
 *
 *   cc -std=c11 -O2 client.c -o client
 *   ./client INPUT PORT [PORT ...]
 *
 * INPUT is a file with the bytes of the network's input, the ports are those of all boards: devices, or
 * socket://HOST:PORT. Prints the output and the times of all layers and transfers.
 */
#define _DEFAULT_SOURCE /* CRTSCTS and baud rates above 38400 are no part of POSIX */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define BAUD B921600
enum { IDENTIFY = 1, RESET, LOAD, START, READ_OUTPUT, READ_TIMES, DONE = 0xE0, ERROR = 0xEE, REPLY = 0x80 };
enum { SYNC = 0xA5, BAD_CRC = 8, HEADER_BYTES = 6, CRC_BYTES = 2, LONGEST_PAYLOAD = 1024, LOAD_BYTES = 1016 };
enum { FRAME_BYTES = HEADER_BYTES + LONGEST_PAYLOAD + CRC_BYTES, IDENTITY_BYTES = 60, RECORD_BYTES = 8, RECORDS = 128 };
/* Milliseconds; generous, as emulated boards may be slower than real ones. */
enum { GAP_MS = 100, REPLY_MS = 5000, ATTEMPTS = 6, INFERENCE_MS = 600000 };

struct board {
  const char *name;
  int fd;
  uint8_t sequence;
  uint8_t buffer[FRAME_BYTES];
  size_t buffered;
  uint8_t type, reply_sequence; /* of the newest frame, with its payload */
  uint8_t payload[LONGEST_PAYLOAD];
  size_t length;
  uint32_t index, core_hz, timer_hz, input_bytes, output_bytes, run;
  bool is_done; /* inference 0, with the CRC-32 of its output */
  uint32_t output_crc;
};

static _Noreturn void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vfprintf(stderr, format, arguments);
  va_end(arguments);
  (void)fputc('\n', stderr);
  exit(1);
}

static void put(uint8_t *to, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get(const uint8_t *from, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; i++) value |= (uint32_t)from[i] << 8 * i;
  return value;
}

static uint32_t crc16(const uint8_t *data, size_t length) {
  uint32_t crc = 0xFFFF;
  for (size_t i = 0; i < length; i++) {
    crc ^= (uint32_t)data[i] << 8;
    for (int bit = 0; bit < 8; bit++) crc = (crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xFFFF;
  }
  return crc;
}

static uint32_t crc32(const uint8_t *data, size_t length) {
  uint32_t crc = 0xFFFFFFFF;
  for (size_t i = 0; i < length; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

static int64_t now_ms(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_socket(const char *address) {
  char host[256];
  const char *port = strrchr(address, ':');
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  errno = EINVAL; /* for an address that cannot be read or found */
  if (!port || (size_t)(port - address) >= sizeof host) return -1;
  memcpy(host, address, (size_t)(port - address));
  host[port - address] = 0;
  if (getaddrinfo(host, port + 1, &hints, &found)) return -1;
  int fd = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen)) {
    (void)close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

static int open_serial(const char *path) {
  struct termios settings;
  int fd = open(path, O_RDWR | O_NOCTTY);
  if (fd < 0 || tcgetattr(fd, &settings)) return -1;
  settings.c_iflag = settings.c_oflag = settings.c_lflag = 0; /* raw */
  settings.c_cflag = CS8 | CREAD | CLOCAL;
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  if (cfsetispeed(&settings, BAUD) || cfsetospeed(&settings, BAUD) || tcsetattr(fd, TCSANOW, &settings)) return -1;
  (void)tcflush(fd, TCIOFLUSH);
  return fd;
}

/* Take a whole frame out of the buffer, and drop what is none. */
static bool take_frame(struct board *board) {
  uint8_t *frame = board->buffer;
  while (board->buffered >= HEADER_BYTES) {
    size_t length = get(frame + 4, 2), end = HEADER_BYTES + length, drop = 1;
    if (frame[0] == SYNC && length <= LONGEST_PAYLOAD) {
      if (board->buffered < end + CRC_BYTES) return false;
      if (crc16(frame + 1, end - 1) == get(frame + end, CRC_BYTES)) {
        board->type = frame[1];
        board->reply_sequence = frame[3];
        board->length = length;
        memcpy(board->payload, frame + HEADER_BYTES, length);
        drop = end + CRC_BYTES;
      }
    }
    board->buffered -= drop;
    memmove(frame, frame + drop, board->buffered);
    if (drop > 1) return true;
  }
  return false;
}

static void note_event(struct board *board) {
  if (board->type == DONE && board->length == 8 && get(board->payload, 4) == 0) {
    board->is_done = true;
    board->output_crc = get(board->payload + 4, 4);
  }
  if (board->type == ERROR && board->length == 8 && board->payload[0] != BAD_CRC) {
    const uint8_t *error = board->payload;
    fail("%s: error %d, detail %" PRIu32 ": see docs/understand/protocol.md", board->name, error[0], get(error + 4, 4));
  }
}

/* Take the next frame into board->type, ->reply_sequence and ->payload; return false after a silence. */
static bool receive(struct board *board) {
  while (!take_frame(board)) {
    struct pollfd poll_fd = {.fd = board->fd, .events = POLLIN};
    int ready = poll(&poll_fd, 1, GAP_MS);
    if (ready < 0 && errno != EINTR) fail("%s: %s", board->name, strerror(errno));
    if (ready <= 0) { /* the rest of a frame will not come */
      if (board->buffered) memmove(board->buffer, board->buffer + 1, --board->buffered);
      return false;
    }
    ssize_t count = read(board->fd, board->buffer + board->buffered, sizeof board->buffer - board->buffered);
    if (count <= 0) fail("%s: the port was closed", board->name);
    board->buffered += (size_t)count;
  }
  note_event(board);
  return true;
}

static void send_all(struct board *board, const uint8_t *data, size_t length) {
  while (length) {
    ssize_t count = write(board->fd, data, length);
    if (count < 0) fail("%s: %s", board->name, strerror(errno));
    data += count;
    length -= (size_t)count;
  }
}

/* Send a request, again if no reply comes; the reply is in board->payload. */
static void ask(struct board *board, int type, const uint8_t *payload, size_t length) {
  uint8_t frame[FRAME_BYTES] = {SYNC, (uint8_t)type, 0, board->sequence = (uint8_t)(board->sequence % 255 + 1)};
  size_t end = HEADER_BYTES + length;
  put(frame + 4, (uint32_t)length, 2);
  if (length) memcpy(frame + HEADER_BYTES, payload, length);
  put(frame + end, crc16(frame + 1, end - 1), CRC_BYTES);
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    send_all(board, frame, end + CRC_BYTES);
    for (int64_t end_ms = now_ms() + REPLY_MS; now_ms() < end_ms;) {
      if (!receive(board)) continue;
      if (board->type == (type | REPLY) && board->reply_sequence == board->sequence) return;
      if (board->type == ERROR) break; /* BAD_CRC: only a damaged request is repeated */
    }
  }
  fail("%s does not reply: check port, power and firmware", board->name);
}

static void identify(struct board *board) {
  ask(board, IDENTIFY, NULL, 0);
  if (board->length != IDENTITY_BYTES || board->payload[0] != 2) fail("%s speaks another version", board->name);
  board->index = board->payload[1];
  board->core_hz = get(board->payload + 8, 4);
  board->timer_hz = get(board->payload + 12, 4);
  board->input_bytes = get(board->payload + 16, 4);
  board->output_bytes = get(board->payload + 20, 4);
  board->run = get(board->payload + 32, 4);
  board->is_done = get(board->payload + 40, 4) == 1; /* in case its event was lost */
  board->output_crc = get(board->payload + 44, 4);
}

static void send_input(struct board *board, const char *path) {
  uint8_t *data = malloc(board->input_bytes + 1), request[8 + LOAD_BYTES] = {0}; /* of inference 0 */
  FILE *file = fopen(path, "rb");
  if (!file || !data) fail("%s: %s", path, strerror(errno));
  size_t size = fread(data, 1, board->input_bytes + 1, file);
  (void)fclose(file);
  if (size != board->input_bytes) fail("%s expects an input of %" PRIu32 " bytes", board->name, board->input_bytes);
  for (size_t offset = 0; offset < size; offset += LOAD_BYTES) {
    size_t count = size - offset < LOAD_BYTES ? size - offset : LOAD_BYTES;
    put(request + 4, (uint32_t)offset, 4);
    memcpy(request + 8, data + offset, count);
    ask(board, LOAD, request, 8 + count);
  }
  put(request + 4, crc32(data, size), 4);
  ask(board, START, request, 8);
  free(data);
}

static void print_output(struct board *board) {
  int64_t end_ms = now_ms() + INFERENCE_MS;
  while (!board->is_done) {
    if (now_ms() > end_ms) fail("%s has no output after %d s: check the links", board->name, INFERENCE_MS / 1000);
    for (int64_t ask_ms = now_ms() + REPLY_MS; !board->is_done && now_ms() < ask_ms;) (void)receive(board);
    if (!board->is_done) identify(board);
  }
  uint8_t *output = malloc(board->output_bytes), request[10] = {0};
  if (!output) fail("out of memory");
  for (uint32_t offset = 0, length; offset < board->output_bytes; offset += length) {
    length = board->output_bytes - offset < LONGEST_PAYLOAD ? board->output_bytes - offset : LONGEST_PAYLOAD;
    put(request + 4, offset, 4);
    put(request + 8, length, 2);
    ask(board, READ_OUTPUT, request, sizeof request);
    if (board->length != length) fail("%s sent another length than requested", board->name);
    memcpy(output + offset, board->payload, length);
  }
  if (crc32(output, board->output_bytes) != board->output_crc) fail("%s sent a damaged output", board->name);
  printf("output ");
  for (uint32_t i = 0; i < board->output_bytes; i++) printf("%02x", output[i]);
  printf("\n");
  free(output);
}

static void print_times(struct board *board) {
  static const char *const kinds[16] = {"layer", "transfer", "copy", "input", "output"};
  uint8_t first[2];
  for (uint32_t record = 0; record % RECORDS == 0; record += (uint32_t)(board->length / RECORD_BYTES)) {
    put(first, record, 2);
    ask(board, READ_TIMES, first, sizeof first);
    if (!board->length) return;
    for (const uint8_t *at = board->payload; at < board->payload + board->length; at += RECORD_BYTES) {
      int kind = at[0] & 15;
      uint32_t number = get(at + 2, 2) + (kind == 1 || kind == 2); /* cuts count from 0 on the wire */
      double seconds = (double)((uint64_t)get(at + 4, 4) << (at[0] >> 4)) / board->timer_hz;
      printf("board %" PRIu32 " %s %" PRIu32 ": %.0f cycles, %.9f s, sent again: %d\n", board->index + 1,
             kinds[kind] ? kinds[kind] : "unknown", number, seconds * board->core_hz, seconds, at[1]);
    }
  }
}

int main(int argc, char **argv) {
  static const char scheme[] = "socket://";
  int count = argc - 2;
  if (count < 1) fail("usage: client INPUT PORT [PORT ...]");
  struct board *boards = calloc((size_t)count, sizeof *boards), *end = boards + count;
  if (!boards) fail("out of memory");
  uint32_t run = 0;
  for (struct board *board = boards; board < end; board++) {
    board->name = argv[2 + (board - boards)];
    bool is_socket = !strncmp(board->name, scheme, sizeof scheme - 1);
    board->fd = is_socket ? open_socket(board->name + sizeof scheme - 1) : open_serial(board->name);
    if (board->fd < 0) fail("%s cannot be opened (%s)", board->name, strerror(errno));
    identify(board);
    if (board->run > run) run = board->run;
  }
  uint8_t request[4];
  put(request, run + 1 ? run + 1 : 1, 4);
  for (struct board *board = boards; board < end; board++) {
    ask(board, RESET, request, sizeof request);
    board->is_done = false;
  }
  for (struct board *board = boards; board < end; board++)
    if (board->input_bytes) send_input(board, argv[1]);
  for (struct board *board = boards; board < end; board++)
    if (board->output_bytes) print_output(board);
  for (struct board *board = boards; board < end; board++) print_times(board);
  free(boards);
  return 0;
}
