"""Firmware compiled without PlatformIO, which takes seconds a board: that of generated folders, and that of a two-layer
network which is easy to compute by hand.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from session import program_cache
from tinysplit.boards.board import Board, Uart
from tinysplit.boards.link_driver import LinkDriver, usual_driving
from tinysplit.codegen.board_files import firmware_sources, render_board_files, write_files
from tinysplit.codegen.board_firmware import BoardFirmware
from tinysplit.codegen.platformio_ini import COMPILER, NOTHING, Flags, Parts, macros
from tinysplit.common.output_folder import source_files
from tinysplit.common.project_files import APPLICATION_HEADER, BUILD_FOLDER

CHECKSUM = Path(__file__).parents[3] / "boards" / "platform" / "checksum.py"
FLAGS = (*Flags().machine, *(flag for flag in Flags().compiler if flag != "-g"))
LANGUAGE_FLAGS = {".c": Flags().c, ".cpp": Flags().cxx}
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion")
INCLUDE_FOLDERS = ("include", "lib/tinysplit_firmware/src")
INCLUDES = tuple(f"-I{folder}" for folder in INCLUDE_FOLDERS)
LINKING = (
    "-nostartfiles",
    "--specs=nano.specs",
    "-Wl,--gc-sections",
    "-Wl,--fatal-warnings",
    "-Wl,--no-warn-rwx-segments",
)

# Layer 1 adds its weight to every byte, layer 2 doubles every byte.
NETWORK = """
#include "network.h"
{includes}
uint8_t network_arena[{arena}] __attribute__((section(".arena"), aligned(4)));
static const int8_t weights[4] __attribute__((section(".weights"))) = {{1, 2, 3, 4}};

static void run_layer_1(void) {{
  const uint8_t *x = network_arena;
  uint8_t *y = network_arena + {size};
  for (uint32_t i = 0; i < {size}u; i++) y[i] = (uint8_t)(x[i] + weights[i % 4u]);
}}

static void run_layer_2(void) {{
  const uint8_t *x = network_arena + {size};
  uint8_t *y = network_arena;
  for (uint32_t i = 0; i < {size}u; i++) y[i] = (uint8_t)(2 * x[i]);
}}

extern void (*const all_layers[2])(void);
void (*const all_layers[])(void) = {{run_layer_1, run_layer_2}}; /* no warning where only one is a step */
"""
NETWORK_FACTS = """
void network_begin_run(void) {{}}
const network_step_t network_steps[] = {{{steps}}};
const uint16_t network_step_count = {count};
const uint32_t network_project_hash = 0x12345678u;
const uint8_t network_board_index = {board_index};
const char *const network_note = "";
const uint16_t network_note_bytes = 0;
const network_tensor_t network_input = {{.offset = 0, .stage = 0, .bytes = {input_bytes}}};
const network_tensor_t network_output = {{.offset = 0, .stage = 0, .bytes = {output_bytes}}};
const uint16_t network_watchdog_ms = 0;
const bool network_has_long_layers = false;
network_time_t network_times[{count}];
uint32_t network_ended[{count}];
uint32_t network_link_ticks[{count}];
"""
LINK_INCLUDES = """
#include "link_ports.h"
#include "network_links.h"
#include "transfers.h"
"""
LINK_FACTS = """
extern uint8_t blocks[{room}][LINK_BITMAP_BYTES({size}u)];
uint8_t blocks[{room}][LINK_BITMAP_BYTES({size}u)];
static link_channel_t channels[{room}];
static const link_channel_plan_t plans[{room}] = {{{plans}}};
const link_settings_t network_link_settings[] = {{{links}}};
const network_transfer_t network_transfers[{room}] = {{{transfers}}};
const uint16_t network_transfer_count = {channels};
network_sending_t network_sendings[{room}];
"""
INPUT, OUTPUT = ("{.kind = NETWORK_INPUT},\n", "{.kind = NETWORK_OUTPUT},\n")
RUN = "{{.kind = NETWORK_RUN, .index = {number}, .what.run = run_layer_{number}}},\n"
TRANSFER_STEP = "{{.kind = NETWORK_{kind}, .index = {cut}, .what.transfer = &network_transfers[{index}]}},\n"
TRANSFER = (
    "{{.take = transfers_{take}, .tensor = {{{offset}, {offset}, {size}}}, .link = {link}, .channel = {cut}, "
    ".record = {record}}},\n"
)
PLAN = "{{.channel = {cut}, .is_out = {is_out}, .bytes = {size}, .blocks = blocks[{index}]}},\n"
LINK = (
    "{{.identity = &transfers_identity, .plans = plans + {first}, .channels = channels + {first}, "
    ".channel_count = {count}, .peer = {peer}, .baud = 115200, .port = &board_link_uarts[{link}], "
    ".wake = uart_link_wake, .left = uart_link_left, .event = transfers_on_event}},\n"
)
HOST = 0xFF


class CompilerError(AssertionError):
    """What the compiler or the linker refuses, in its words."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.done = done
        super().__init__(done.stderr)


@dataclass(frozen=True)
class Target:
    """The core that programs are compiled for, and the macros of their board."""

    core: str
    macros: tuple[str, ...]

    @staticmethod
    def of_board(board: Board, parts: Parts = NOTHING) -> "Target":
        """Return that of a board."""
        return Target(board.device.core, macros(board, parts))

    @staticmethod
    def of_folder(folder: Path) -> "Target":
        """Return that of a generated project."""
        text = (folder / "platformio.ini").read_text(encoding="utf-8")
        (core,) = re.findall(r"^ +-mcpu=(\S+)", text, re.MULTILINE)
        return Target(core, tuple(re.findall(r"^ +-D (\S+)", text, re.MULTILINE)))


@dataclass(frozen=True)
class Transfer:
    """A step that sends or receives a cut over a link, by index; `offset` in the arena."""

    is_out: bool
    link: int
    cut: int
    offset: int


@dataclass(frozen=True)
class SubModel:
    """Layers `first` to `last` (1 or 2) between two links by index, or HOST; layer 1 reads cut 1, layer 2 cut 0."""

    first: int
    last: int
    source: int = HOST
    destination: int = HOST

    def steps(self, size: int) -> list[int | Transfer]:
        """Return the layers and transfers in their order."""
        steps: list[int | Transfer] = list(range(self.first, self.last + 1))
        if self.source != HOST:
            steps.insert(0, Transfer(False, self.source, self.first % 2, (self.first - 1) * size))
        if self.destination != HOST:
            steps.append(Transfer(True, self.destination, (self.last + 1) % 2, size if self.last == 1 else 0))
        return steps


def network_source(
    sub_models: Sequence[SubModel], size: int, board_index: int = 0, arena: int = 0, n_links: int = 0
) -> str:
    """Return a network.c; tensors have `size` bytes, and no buffers beside the arena.

    The board has `n_links` links, or more if the sub-models use them.
    """
    steps = [step for sub_model in sub_models for step in sub_model.steps(size)]
    takes, gives = sub_models[0].source == HOST, sub_models[-1].destination == HOST
    transfers = [step for step in steps if isinstance(step, Transfer)]
    n_links = max([n_links, *(step.link + 1 for step in transfers)])
    texts = [
        RUN.format(number=step)
        if isinstance(step, int)
        else TRANSFER_STEP.format(kind="SEND" if step.is_out else "RECEIVE", cut=step.cut, index=transfers.index(step))
        for step in steps
    ]
    texts = [*([INPUT] if takes else []), *texts, *([OUTPUT] if gives else [])]
    network = NETWORK.format(arena=arena or 2 * size, size=size, includes=LINK_INCLUDES if n_links else "")
    records = [index + takes for index, step in enumerate(steps) if isinstance(step, Transfer)]
    facts = NETWORK_FACTS.format(
        steps="".join(texts),
        count=len(texts),
        board_index=board_index,
        input_bytes=size if takes else 0,
        output_bytes=size if gives else 0,
    )
    return network + (_link_facts(transfers, records, size, board_index, n_links) if n_links else "") + facts


def _link_facts(
    transfers: Sequence[Transfer], records: Sequence[int], size: int, board_index: int, n_links: int
) -> str:
    """Return the tables of links, whose other ends are all at board 1 - `board_index`."""
    by_link = sorted(transfers, key=lambda each: each.link)
    return LINK_FACTS.format(
        channels=len(transfers),
        room=max(len(transfers), 1),
        size=size,
        plans="".join(
            PLAN.format(cut=each.cut, is_out=str(each.is_out).lower(), size=size, index=index)
            for index, each in enumerate(by_link)
        ),
        links="".join(
            LINK.format(
                first=sum(each.link < link for each in by_link),
                count=sum(each.link == link for each in by_link),
                peer=1 - board_index,
                link=link,
            )
            for link in range(n_links)
        ),
        transfers="".join(
            TRANSFER.format(
                take="send" if each.is_out else "receive",
                offset=each.offset,
                size=size,
                link=each.link,
                cut=each.cut,
                record=record,
            )
            for each, record in zip(transfers, records, strict=True)
        ),
    )


def write_project(
    folder: Path,
    board: Board,
    links: Sequence[Uart],
    network: str,
    link_baud: int = 115200,
    driver: LinkDriver = LinkDriver.DMA,
) -> None:
    """Write the files of a generated project, in its layout."""
    firmware = firmware_of(board, links, driver, link_baud)
    write_files(folder, {**render_board_files(firmware), "src/network.c": network}, firmware_sources(firmware))


def firmware_of(
    board: Board, links: Sequence[Uart] = (), driver: LinkDriver = LinkDriver.DMA, link_baud: int = 115200
) -> BoardFirmware:
    """Return the firmware of a board with these link UARTs, and the arena next to its core."""
    return BoardFirmware(
        board=board,
        host_baud=115200,
        driving=usual_driving(driver),
        arena=board.near_memory,
        links=tuple((link, link_baud) for link in links),
    )


def link_project(folder: Path, board: Board) -> subprocess.CompletedProcess[str]:
    """Compile and link a project into firmware.elf, in the order of PlatformIO."""
    parts = Parts(
        has_application=(folder / APPLICATION_HEADER).exists(),
        is_standalone=(folder / "include" / "standalone_settings.h").exists(),
        has_stop_mode=(folder / "lib/tinysplit_firmware/src/stop_mode.c").exists(),
    )
    return _link_all(folder, Target.of_board(board, parts))


def _link_all(folder: Path, target: Target) -> subprocess.CompletedProcess[str]:
    sources = sorted(path.relative_to(folder) for path in folder.rglob("*.c*") if path.suffix in LANGUAGE_FLAGS)
    linked = link_sources(folder, target, sources, *WARNINGS)
    if linked.returncode == 0:
        subprocess.run([sys.executable, CHECKSUM, "firmware.elf"], cwd=folder, check=True)
    return linked


def link_sources(
    folder: Path, target: Target, sources: Sequence[Path], *options: str
) -> subprocess.CompletedProcess[str]:
    """Compile each source on its own, to know it again, and link them; return what failed, or the link."""
    flags = (f"-mcpu={target.core}", *FLAGS)
    own = (*(f"-D{macro}" for macro in target.macros), *options, *INCLUDES)
    objects = [f"{BUILD_FOLDER}/objects/{source}.o" for source in sources]
    texts = program_cache.Sources(folder, INCLUDE_FOLDERS)
    for source, made in zip(sources, objects, strict=True):
        (folder / made).parent.mkdir(parents=True, exist_ok=True)
        command = (*flags, *LANGUAGE_FLAGS[source.suffix], *own, "-c", str(source), "-o")
        parts = texts.parts(source)
        try:
            if parts is None:
                _compile(folder, *command, made)
            else:
                make = partial(_compile, folder, *command, made)
                program_cache.kept(folder / made, (*command, *parts), make)
        except CompilerError as error:
            return error.done
    return _run_compiler(folder, *flags, *LINKING, "-Tlinker.ld", "-o", "firmware.elf", *objects, "-lc", "-lgcc")


def _compile(folder: Path, *arguments: str) -> None:
    """Raise CompilerError for a source that is refused."""
    done = _run_compiler(folder, *arguments)
    if done.returncode != 0:
        raise CompilerError(done)


def _run_compiler(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMPILER, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def build(
    folder: Path,
    board: Board,
    links: Sequence[Uart],
    network: str,
    link_baud: int = 115200,
    driver: LinkDriver = LinkDriver.DMA,
) -> Path:
    """Return the ELF of a project."""
    write_project(folder, board, links, network, link_baud, driver)
    return linked_elf(folder, board)


def linked_elf(folder: Path, board: Board) -> Path:
    """Return the ELF of a project whose files are written."""
    return _kept_elf(folder, Target.of_board(board), lambda: link_project(folder, board))


def linked_elf_of_folder(folder: Path) -> Path:
    """Return the ELF of a generated project by its platformio.ini. Raises CompilerError with what the tools say."""
    target = Target.of_folder(folder)
    return _kept_elf(folder, target, lambda: _link_all(folder, target))


def _kept_elf(folder: Path, target: Target, make: Callable[[], subprocess.CompletedProcess[str]]) -> Path:
    def link() -> None:
        linked = make()
        if linked.returncode != 0:
            raise CompilerError(linked)

    return program_cache.kept(folder / "firmware.elf", program_parts(folder, target), link)


def program_parts(folder: Path, target: Target, sources: Sequence[Path] = ()) -> Iterator[str | bytes]:
    """Yield what the ELF of a project, or of some of its sources, follows from, but for the compiler."""
    yield repr((sources, target, FLAGS, LANGUAGE_FLAGS, WARNINGS, INCLUDES, LINKING))
    yield CHECKSUM.read_bytes()
    yield Path(__file__).read_bytes()  # the order of what is linked
    for path in source_files(folder):
        if path.is_file() and path.suffix not in {".elf", ".md"}:
            yield str(path.relative_to(folder))
            yield path.read_bytes()
