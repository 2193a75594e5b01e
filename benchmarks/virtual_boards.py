"""Virtual boards themselves: beside what others measured on hardware, and the speed of the simulation.

Takes some minutes in all.
"""

import subprocess
import tempfile
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from common.bare_network import BOARDS, build_flags, run_bare, set_memory, symbols_of
from common.benchmark import JSON, ONLY, benchmark, option
from common.networks import NETWORKS, calibrated
from common.published import Comparison, Images, code_figures, compare, figures, geometric_mean
from common.published_assembler import LINKER_SCRIPT, Routine, run_routines
from common.tables import Cell, MarkdownTable, percent
from programs.virtual_firmware import build
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_all, load_board, load_boards
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from virtual_stm32 import BoardStoppedError, Stalls, VirtualBoard, VirtualRig
from virtual_stm32.timing_rules import SHIPPED, Rule, TimingFile, shipped_rules

PUBLISHED_NUMBERS = ("published ms", "virtual ms", "waits", "virtual / published")
SOURCES = ("core_list_join.c", "core_main.c", "core_matrix.c", "core_state.c", "core_util.c")
ITERATIONS = 2
ENDED = 0x600D  # RAM is random at first
TIME_LIMIT_PS = 10**13
PUBLISHED = {  # CoreMark of the part at the clock of our board, by ST's product page or data sheet
    "stm32g071": (142.0, "DS12232"),
    "stm32f401": (285.0, "ST, STM32F401RE product page"),
    "stm32f446": (608.0, "ST, STM32F446RE product page"),
    "stm32l412": (273.55, "DS12469"),
    "stm32l433": (273.55, "DS11449"),
    "stm32l452": (273.55, "DS11912"),
    "stm32l4r5": (409.20, "DS12023"),
    "stm32h743": (2424.0, "ST, STM32H743ZI product page"),
    "stm32h723": (2777.0, "DS13313"),
}
COREMARK_HEADER = """
#include <stddef.h>
#include <stdint.h>
#define HAS_FLOAT 0
#define HAS_TIME_H 0
#define USE_CLOCK 0
#define HAS_STDIO 0
#define HAS_PRINTF 0
#define SEED_METHOD SEED_VOLATILE
#define MEM_METHOD MEM_STATIC
#define MULTITHREAD 1
#define MAIN_HAS_NOARGC 1
#define MAIN_HAS_NORETURN 0
#define TOTAL_DATA_SIZE 2000
#define COMPILER_VERSION "GCC"
#define COMPILER_FLAGS ""
#define MEM_LOCATION "RAM"
#define PERFORMANCE_RUN 1
typedef int16_t ee_s16;
typedef uint16_t ee_u16;
typedef int32_t ee_s32;
typedef uint8_t ee_u8;
typedef uint32_t ee_u32;
typedef uint32_t ee_ptr_int;
typedef size_t ee_size_t;
typedef uint32_t CORE_TICKS;
#define CORETIMETYPE uint32_t
#define align_mem(x) (void *)(4 + (((ee_ptr_int)(x) - 1) & ~3u))
typedef struct { ee_u8 portable_id; } core_portable;
extern ee_u32 default_num_contexts;
void portable_init(core_portable *p, int *argc, char *argv[]);
void portable_fini(core_portable *p);
int ee_printf(const char *format, ...);
"""
COREMARK_PORT = """
#include "coremark.h"
volatile ee_s32 seed1_volatile = 0, seed2_volatile = 0, seed3_volatile = 0x66, seed4_volatile = {iterations};
volatile ee_s32 seed5_volatile = 0;
ee_u32 default_num_contexts = 1;
volatile uint32_t wrong_sums, right_sums, done;
extern uint32_t data_begin[], data_end[], data_in_flash[], bss_begin[], bss_end[];
extern const uint8_t stack_top[];
void portable_init(core_portable *p, int *argc, char *argv[]) {{ p->portable_id = 1; }}
void portable_fini(core_portable *p) {{ p->portable_id = 0; }}
__attribute__((noinline)) void start_time(void) {{ __asm__ volatile(""); }}
__attribute__((noinline)) void stop_time(void) {{ __asm__ volatile("nop"); }}
__attribute__((noinline)) void finished(void) {{ done = {ended}; }}
CORE_TICKS get_time(void) {{ return 1000; }}
secs_ret time_in_secs(CORE_TICKS ticks) {{ return ticks / 100; }}
/* What it prints: "[0]ERROR! list crc ..." for a wrong sum, "[0]crclist ..." for each of the sums. */
int ee_printf(const char *format, ...) {{
  if (format[0] == '[' && format[4] == 'E') wrong_sums++;
  if (format[0] == '[' && format[4] == 'c') right_sums++;
  return 0;
}}
int main(void);
void reset(void) {{
{memory}
  for (uint32_t *to = data_begin, *from = data_in_flash; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;) *to++ = 0;
  main();
  finished();
  for (;;) __asm__ volatile("wfi");
}}
__attribute__((section(".vectors"), used)) const void *const vectors[] = {{stack_top, (const void *)reset}};
"""


@dataclass(frozen=True)
class Score:
    """CoreMarks a MHz of a board; `stalls` are the cycles of real memory, a share of all."""

    board: str
    mhz: float
    ideal: float
    real: float
    code_stalls: float
    constant_stalls: float
    value_stalls: float
    published: float | None
    source: str


@benchmark(
    "coremark",
    "2 minutes",
    option("folder", type=Path, metavar="FOLDER", help="CoreMark's sources"),
    option("--flags", default="-O3", help="optimisation of the compiler (default: -O3)"),
    JSON,
)
def coremark(options: Namespace) -> None:
    """Measure CoreMark a MHz with ideal and with real memory, beside the scores that ST publishes for the parts.

    FOLDER has CoreMark's sources (github.com/eembc/coremark; Apache 2.0 with its own acceptable use agreement): they
    are no part of this project. Scores here are no CoreMark results by that agreement: the run is two iterations, which
    takes less than its ten seconds. The published ones are of other compilers, which are named.
    """
    missing = [name for name in (*SOURCES, "coremark.h") if not (options.folder / name).is_file()]
    if missing:
        raise UsageError(f"{options.folder} is not CoreMark's folder: {', '.join(missing)} missing")
    numbers = ("MHz", "ideal", "real", "code", "constants", "values", "published", "real / published")
    MarkdownTable("board", numbers=numbers).print_rows(
        (score(board, options.folder, options.flags.split()) for board in load_boards()),
        _score_cells,
        as_json=options.json,
    )


def score(board: Board, sources: Path, flags: Sequence[str]) -> Score:
    """Return the scores of a board. Raises CheckFailedError if CoreMark finds its results wrong."""
    with tempfile.TemporaryDirectory() as name:
        elf = _build(board, sources, Path(name), flags)
        ideal, _ = _run(board, elf, is_ideal=True)
        cycles, stalls = _run(board, elf, is_ideal=False)
    mhz = board.clock.core_hz / 1e6
    published, source = next(
        (each for part, each in PUBLISHED.items() if board.device.name.startswith(part)), (None, "")
    )
    return Score(
        board=board.name,
        mhz=mhz,
        ideal=_per_mhz(ideal),
        real=_per_mhz(cycles),
        code_stalls=stalls.code / cycles,
        constant_stalls=stalls.constants / cycles,
        value_stalls=stalls.values / cycles,
        published=published / mhz if published else None,
        source=source,
    )


def _per_mhz(cycles: int) -> float:
    return ITERATIONS * 1e6 / cycles


def _build(board: Board, sources: Path, folder: Path, flags: Sequence[str]) -> Path:
    device, ram = board.device, board.near_memory
    script = LINKER_SCRIPT.format(
        flash=device.flash.start, flash_bytes=device.flash.size_bytes, ram=ram.start, ram_bytes=ram.size_bytes
    )
    (folder / "link.ld").write_text(script)
    (folder / "core_portme.h").write_text(COREMARK_HEADER)
    (folder / "core_portme.c").write_text(
        COREMARK_PORT.format(iterations=ITERATIONS, ended=ENDED, memory=set_memory(board))
    )
    elf = folder / "coremark.elf"
    core = [flag for flag in build_flags(board) if flag.startswith("-m")]
    command = [COMPILER, *core, *flags, "-w", f"-I{folder}", f"-I{sources}", f"-T{folder / 'link.ld'}"]
    files = [*(sources / name for name in SOURCES), folder / "core_portme.c"]
    subprocess.run(
        [*command, "-nostartfiles", "--specs=nano.specs", *map(str, files), "-o", str(elf)], check=True, timeout=120
    )
    return elf


def _run(board: Board, elf: Path, *, is_ideal: bool) -> tuple[int, Stalls]:
    """Return cycles and stalls from the start of the clock to its end."""
    symbols = {name: address for name, address, _ in symbols_of(elf)}
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=is_ideal)
    rig.mark(0, [symbols["start_time"] & ~1, symbols["stop_time"] & ~1])
    rig.run_until(TIME_LIMIT_PS, lambda: rig.read_word(0, symbols["done"]) == ENDED)
    found = [rig.read_word(0, symbols[name]) for name in ("done", "wrong_sums", "right_sums")]
    if found[:2] != [ENDED, 0] or not found[2]:
        raise CheckFailedError(f"CoreMark did not end, or with wrong results: done, wrong and right sums are {found}")
    (_, begin, before), (_, end, after) = rig.marks(0)
    return end - begin, after - before


def _score_cells(each: Score) -> Sequence[Cell]:
    stalls = (f"{100 * share:.1f} %" for share in (each.code_stalls, each.constant_stalls, each.value_stalls))
    against = (f"{each.published:.2f}", f"{each.real / each.published:.2f}") if each.published else (None, None)
    return each.board, round(each.mhz), f"{each.ideal:.2f}", f"{each.real:.2f}", *stalls, *against


@benchmark(
    "published",
    "1 minute",
    option("folder", type=Path, metavar="FOLDER", help="repositories with images, as checkouts or git directories"),
    ONLY,
    JSON,
)
def published(options: Namespace) -> None:
    """Run firmware images that others measured on hardware, and compare the times of an inference.

    FOLDER has clones of github.com/mlcommons/tiny_results_v1.1 and tiny_results_v1.2 (MLPerf Tiny), which are no part
    of this project. Core and memories are those of virtual boards, the peripherals stand-ins; no compiler lies between.
    """
    images = Images(options.folder)
    wanted = (each for each in figures() if options.only in each.title)
    table = MarkdownTable("image", numbers=PUBLISHED_NUMBERS)
    rows = table.print_rows((compare(each, images) for each in wanted), _comparison_cells, as_json=options.json)
    if options.json:
        return
    for core in dict.fromkeys(row.core for row in rows):
        ratios = [row.ratio for row in rows if row.core == core and row.ratio]
        if ratios:
            print(
                f"\n{core}: {len(ratios)} images, geometric mean {geometric_mean(ratios):.3f}, "
                f"from {min(ratios):.3f} to {max(ratios):.3f}"
            )
    for why_not, count in Counter(row.why_not for row in rows if row.why_not).items():
        print(f"\n{count} not run: {why_not}")
    print("\nNot run, because their sources are no part of this project:\n")
    MarkdownTable("code", numbers=("published cycles",), last=("source",)).print(
        (each.title, each.cycles, each.source) for each in code_figures()
    )


@benchmark(
    "assembler",
    "10 s",
    option("folder", type=Path, metavar="FOLDER", help="the sources, a checkout of github.com/jnk0le/cortexm-AES"),
    JSON,
)
def assembler(options: Namespace) -> None:
    """Run assembler of others (AES), of which cycles on hardware are published, on virtual boards.

    Both have some cycles of the caller, which is not published. Results are compared with FIPS 197.
    """
    table = MarkdownTable("function", "board", numbers=("published cycles", "virtual", "virtual / published"))
    rows = table.print_rows(run_routines(options.folder), _routine_cells, as_json=options.json)
    for board in dict.fromkeys(row.board for row in rows) if not options.json else ():
        ratios = [row.ratio for row in rows if row.board == board]
        print(f"\n{board}: {len(ratios)} functions, geometric mean {geometric_mean(ratios):.3f}")


def _routine_cells(row: Routine) -> Sequence[Cell]:
    return row.title, row.board, row.published, row.virtual, f"{row.ratio:.3f}"


def _comparison_cells(row: Comparison) -> Sequence[Cell]:
    if row.ratio is None or row.stall_share is None:
        return row.figure.title, f"{row.figure.ms:.2f}", "not run", None, None
    waits = f"{100 * row.stall_share:.1f} %"
    return row.figure.title, f"{row.figure.ms:.2f}", f"{row.virtual_ms:.2f}", waits, f"{row.ratio:.3f}"


@dataclass(frozen=True)
class RuleRow:
    """A rule of a core or family; `kws_cycles` are those of KWS in 8 bits with another value, 0 if it has none."""

    of: str
    name: str
    rule: Rule
    kws_cycles: int


@benchmark("rules", "3 minutes")
def rules(_options: Namespace) -> None:
    """List the timing rules with their sources, and what KWS in 8 bits would take without each.

    Without a rule, what it adds is 0; one that says that something happens says that it does not, and the other way.
    Real memory of a board of each core, with constants in RAM, and code, too, where it is on the code buses.
    """
    for board_name in BOARDS.values():
        board = load_board(board_name)
        usual = _kws_cycles(board_name, SHIPPED)
        print(f"\n{board_name}: KWS in 8 bits takes {usual} cycles\n")
        MarkdownTable("rule of", "rule", "cycles", "meaning", "sources", "evidence", numbers=("KWS without it",)).print(
            _rule_cells(row, usual) for row in _rule_rows(board)
        )


def _rule_rows(board: Board) -> Iterator[RuleRow]:
    for of in (board.device.core, board.device.family):
        for name, rule in shipped_rules(of).items():
            changes = {} if rule.without is None else {of: {name: rule.without}}
            kws_cycles = _kws_cycles(board.name, TimingFile(board.device.name, changes)) if changes else 0
            yield RuleRow(of, name, rule, kws_cycles)


def _kws_cycles(board_name: str, timing: TimingFile) -> int:
    quantized, x = calibrated(NETWORKS["KWS"], NETWORKS["KWS"].graph(), 8)
    values = quantize_input(quantized, x)
    run = run_bare(
        shipped_table(),
        quantized,
        board_name,
        values,
        has_real_memory=True,
        copied=range(len(quantized.layers)),
        has_ram_code=load_board(board_name).code_ram is not None,
        timing=timing,
    )
    return sum(run.real.cycles) if run.real else 0


def _rule_cells(row: RuleRow, usual: int) -> Sequence[Cell]:
    value, rule = row.rule.value, row.rule
    shown = str(value) if isinstance(value, int) else ", ".join(map(str, value))
    change = percent(row.kws_cycles / usual - 1, 2) if row.kws_cycles else None
    return row.of, f"`{row.name}`", shown, rule.what, "; ".join(rule.sources), rule.evidence, change


BANK_BOARDS = ("nucleo_l4r5zi", "nucleo_l4r5zi_dbank0")
AUTOENCODER = (128, 128, 128, 128, 8, 128, 128, 128, 128, 640)  # outputs of the layers of MLPerf Tiny's


@benchmark("banks", "1 minute")
def banks(_options: Namespace) -> None:
    """Measure what the option bit DBANK = 0 of the L4R5 gains: its flash in one bank is read by 128 bits.

    KWS, and a network with the layers of MLPerf Tiny's autoencoder and random weights, in 8 bits; code in flash, and in
    SRAM2 on the code buses, weights in flash, and copied to RAM by each layer.
    """
    places = product(_bank_networks(), (False, True), (False, True))
    MarkdownTable("network", "code", "weights", numbers=(*BANK_BOARDS, "difference")).print(
        _bank_cells(name, *quantized, has_ram_code=has_ram_code, copies=copies)
        for (name, quantized), has_ram_code, copies in places
    )


def _bank_networks() -> Iterator[tuple[str, tuple[QuantizedGraph, IntArray]]]:
    quantized, x = calibrated(NETWORKS["KWS"], NETWORKS["KWS"].graph(), 8)
    yield "KWS", (quantized, quantize_input(quantized, x))
    net = NetworkBuilder("autoencoder", Shape(1, 1, 640))
    for outputs in AUTOENCODER:
        net.dense(outputs)
    yield "autoencoder", quantize_randomly(net.graph(), 8)


def _bank_cells(
    name: str, quantized: QuantizedGraph, x: IntArray, *, has_ram_code: bool, copies: bool
) -> Sequence[Cell]:
    copied = range(len(quantized.layers) if copies else 0)
    runs = [
        run_bare(
            shipped_table(),
            quantized,
            board,
            x,
            has_real_memory=True,
            copied=copied,
            has_ram_code=has_ram_code,
        ).real
        for board in BANK_BOARDS
    ]
    two, one = (sum(run.cycles) if run else 0 for run in runs)
    places = ("SRAM2" if has_ram_code else "flash", "copied" if copies else "flash")
    return name, *places, two, one, percent(one / two - 1)


ROUNDS = 2_000_000
INSTRUCTIONS_PER_ROUND = 12
VALUES_OFFSET = 1024  # in the RAM next to the core, where arenas lie
PROGRAM = f"""
#include <stdint.h>
#include "mpu.h"
__asm__(".global _spare_start; .set _spare_start, %d");
void reset(void) {{
%s
  mpu_begin();
  __asm volatile(
      "movs r0, #0\\n movs r1, #3\\n ldr r3, =%d\\n ldr r4, ={ROUNDS}\\n"
      "1:\\n"
      "ldr r2, [r3]\\n muls r2, r1\\n adds r0, r2\\n str r0, [r3, #4]\\n"
      "ldr r2, [r3, #8]\\n muls r2, r1\\n adds r0, r2\\n str r0, [r3, #12]\\n"
      "adds r1, #1\\n mov r5, r1\\n subs r4, #1\\n bne 1b\\n"
      "bkpt #0\\n .ltorg\\n");
}}
"""


@benchmark("speed", "5 s")
def speed(_options: Namespace) -> None:
    """Measure simulated instructions per CPU second on this machine, of a loop similar to a kernel's.

    Real memory has the wait states, prefetch and caches that the firmware sets, which also sets the regions of the MPU;
    the loop's values are where arenas lie, in the RAM next to the core.
    """
    boards = load_all(("nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi"))
    MarkdownTable("core", "memory", numbers=("million instructions a second",)).print(
        (board.device.core, "ideal" if is_ideal else "real", f"{_speed(board, is_ideal=is_ideal) / 1e6:.0f}")
        for board, is_ideal in product(boards, (True, False))
    )


def _speed(board: Board, *, is_ideal: bool) -> float:
    """Return instructions per CPU second."""
    near = board.near_memory.start
    program = PROGRAM % (near, set_memory(board), near + VALUES_OFFSET)
    with tempfile.TemporaryDirectory() as folder:
        rig = VirtualRig(
            [VirtualBoard(board, build(Path(folder), board, program, firmware=["mpu.c"]))], has_ideal_memory=is_ideal
        )
        start = time.process_time()
        try:
            rig.run_until(10**15)
        except BoardStoppedError as end:
            if "BKPT" not in str(end):
                raise
    return ROUNDS * INSTRUCTIONS_PER_ROUND / (time.process_time() - start)
