"""A small firmware that moves bytes over one link through the real drivers, without link.c: for virtual boards."""

from dataclasses import dataclass
from pathlib import Path

from programs.firmware_build import WARNINGS, Target, link_sources, program_parts
from session import program_cache
from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriving
from tinysplit.codegen.board_files import firmware_sources, render_board_files, write_files
from tinysplit.codegen.board_firmware import BoardFirmware

# Every board sends and receives `BYTES` bytes, at the same time if `sends` and `receives` are both set.
MAIN = """
#include "board.h"
#include "clock.h"
#include "cycle_counter.h"
#include "interrupts.h"
#include "link_ports.h"

#define BYTES {n_bytes}u
#define SENDS {sends}
#define RECEIVES {receives}
#define IS_POLLED {is_polled}
#define IS_MEASURED {is_measured}
#define IS_CHECKING {is_checking}

extern volatile uint32_t wrong, received, sent, loops, ticks, idle_loops, is_done;
__attribute__((used)) volatile uint32_t wrong, received, sent, loops, ticks, idle_loops, is_done;

void faults_handler(void);
void SysTick_Handler(void);
void host_interrupt(void);
void transfers_interrupt(uint32_t link);
int main(void);

void faults_handler(void) {{ for (;;) {{}} }}
void SysTick_Handler(void) {{}}
void host_interrupt(void) {{}}
void transfers_interrupt(uint32_t link) {{ uart_link_interrupt(&board_link_uarts[link]); }}

static volatile bool is_awake; /* there is something to send */

static uint8_t pattern(uint32_t i) {{ return (uint8_t)(i * 167u + (i >> 8) * 13u); }}

void link_receive_bytes(link_t *link, const uint8_t *bytes, uint32_t count) {{
  (void)link;
  uint32_t at = received;
  for (uint32_t i = 0; IS_CHECKING && i < count; i++) wrong += bytes[i] != pattern(at + i);
  received = at + count;
}}

uint32_t link_fill(link_t *link, uint8_t *bytes, uint32_t room) {{
  (void)link;
  uint32_t at = sent;
  uint32_t left = is_awake ? BYTES - at : 0;
  uint32_t count = left < room ? left : room;
  for (uint32_t i = 0; IS_CHECKING && i < count; i++) bytes[i] = pattern(at + i);
  sent = at + count;
  return count;
}}

bool link_work(link_t *link) {{
  (void)link;
  return false;
}}

static bool is_moved(void) {{ return (!RECEIVES || received >= BYTES) && (!SENDS || sent >= BYTES); }}

/* The same loop with and without a transfer: what it lacks are the cycles of the driver. */
static uint32_t count_loops(uint32_t limit_ticks, bool is_moving) {{
  uint64_t start = cycle_counter_now();
  uint32_t count = 0;
  while (cycle_counter_now() - start < limit_ticks) {{
    if (is_moved() && is_moving) break; /* the same work in both cases */
    for (volatile uint32_t i = 0; !IS_POLLED && i < 20; i++) {{
    }}
    if (IS_POLLED) uart_link_poll(&board_link_uarts[0]); /* the other board may be earlier */
    count++;
  }}
  ticks = (uint32_t)(cycle_counter_now() - start);
  return count;
}}

int main(void) {{
  clock_begin();
  cycle_counter_begin();
  board_begin();
  uart_link_t *port = &board_link_uarts[0];
  uart_link_begin(port, port->uart.clock_hz, &board_links[0]);
  uint32_t millisecond = cycle_counter_hz(clock_core_hz) / 1000u;
  uint32_t idle = count_loops(5u * millisecond, false); /* until the other board listens */
  idle_loops = (uint32_t)((uint64_t)idle * 1000000u / ticks);
  uint32_t lock = interrupts_lock();
  is_awake = SENDS;
  uart_link_wake(port);
  interrupts_unlock(lock);
  if (IS_MEASURED) loops = count_loops(4000u * millisecond, true);
  while (!is_moved()) {{
    if (IS_POLLED) uart_link_poll(&board_link_uarts[0]);
    if (!IS_POLLED) __WFI();
  }}
  is_done = 1;
  for (;;) {{
    if (IS_POLLED) uart_link_poll(&board_link_uarts[0]); /* the last bytes of the polling driver leave */
    if (!IS_POLLED) __WFI();
  }}
}}
"""
_SOURCES = {
    "board.c",
    "clock.c",
    "clock_source.c",
    "clock_family.c",
    "cycle_counter.c",
    "frames.c",
    "mpu.c",
    "mpu_v8.c",
    "gpdma_items.c",
    "pins.c",
    "startup.c",
    "uart.c",
    "uart_host.c",
    "uart_link_bytes.c",
    "uart_link_dma.c",
    "vectors.c",
}


@dataclass(frozen=True)
class Traffic:
    """What a board does with its first link."""

    n_bytes: int
    sends: bool = True
    receives: bool = True
    is_polled: bool = False  # polls in a loop, else sleeps
    is_measured: bool = False  # counts how often a loop of its own runs meanwhile
    is_checking: bool = True  # makes and compares every byte


def build(folder: Path, board: Board, driving: LinkDriving, baud: int, traffic: Traffic) -> Path:
    """Return the ELF of a board whose first link UART is driven by `driving` at `baud`."""
    firmware = BoardFirmware(
        board=board, host_baud=115200, driving=driving, arena=board.near_memory, links=((board.link_uarts[0], baud),)
    )
    write_files(folder, render_board_files(firmware), firmware_sources(firmware))
    values = {name: int(value) for name, value in vars(traffic).items()}
    (folder / "src" / "test_main.c").write_text(MAIN.format(**values))
    sources = [path.relative_to(folder) for path in sorted(folder.rglob("*.c")) if path.name in _SOURCES]

    target = Target(board.device.core, ())

    def link() -> None:
        linked = link_sources(folder, target, [Path("src/test_main.c"), *sources], *WARNINGS)
        assert linked.returncode == 0, linked.stderr

    return program_cache.kept(folder / "firmware.elf", program_parts(folder, target, sources), link)
