"""AES-GCM of the firmware on virtual boards with the wait states of their flash: results, cycles and sizes."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from programs.firmware_build import FLAGS, WARNINGS
from programs.gcm_messages import Message
from programs.virtual_firmware import MEMORY_FUNCTIONS, build, clock_settings, symbol_sizes, symbols
from session.compiler_cache import path_in
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig

ROOT = Path(__file__).parents[2]
SOURCES = ("aes.c", "gcm.c")
G0, L4PLUS, F4, H7 = "nucleo_g071rb", "nucleo_l4r5zi", "nucleo_f401re", "nucleo_h743zi"
TEXT_BYTES = 1024
SECOND_PS = 10**12
GOOD = 1
HASH_BYTES, MULTIPLES_END, ROUND_KEYS_BYTES = 16, 16 + 256, 240  # of gcm_t, which begins with these
STACK_BYTES = 1024  # of the board that are searched
ANYWHERE = "gcm_t gcm;"
IN_DTCM = "#define gcm (*(gcm_t *)0x20000000)"
MOST_CODE_BYTES, MOST_RAM_BYTES = 2688, 832  # of code with its constants, and of gcm_t
MOST_OTHER_CYCLES = 85_000  # of S-box, key schedule, tables, associated data and tag

# Each message is copied to RAM, where all of them lie at the same addresses, and decrypted twice, the second time from
# the state of caches and flash that the first leaves. Texts of odd lengths are written to odd addresses.
PROGRAM = """
#include <stddef.h>
#include "clock.c"
#include "clock_source.c"
#include "clock_family.c"
#include "gcm.h"
enum {{ MESSAGES = {messages}, ADDED_BYTES = {added_bytes}, TEXT_BYTES = {text_bytes} }};
typedef struct {{
  uint32_t key_bytes;
  uint8_t key[32], nonce[12], tag[16], added[ADDED_BYTES], text[TEXT_BYTES];
}} message_t;
const clock_settings_t board_clock = {{{clock}}};
static const message_t messages[MESSAGES] = {{{values}}};
static message_t message;
static uint8_t out[TEXT_BYTES + 3] __attribute__((aligned(4)));
{place}
gcm_t begun; /* as it was */
uint8_t texts[MESSAGES][TEXT_BYTES] __attribute__((aligned(4)));
volatile uint32_t good[MESSAGES];

{memory}
__attribute__((noinline)) void mark(void) {{ __asm volatile("" ::: "memory"); }}

__attribute__((noinline)) static uint32_t decrypt(const uint8_t *text) {{
  mark();
  bool has_begun = gcm_begin(&gcm, message.key, message.key_bytes, message.nonce);
  gcm_add(&gcm, message.added, ADDED_BYTES);
  {begun}
  mark();
  gcm_decrypt(&gcm, text, out + TEXT_BYTES % 4, TEXT_BYTES);
  mark();
  bool is_good = gcm_end(&gcm, message.tag);
  mark();
  return has_begun && is_good ? 1u : 2u;
}}

void reset(void) {{
  clock_begin();
  for (uint32_t i = 0; clock_ok && i < MESSAGES; i++) {{
    memcpy(&message, &messages[i], sizeof message);
    const uint8_t *text = {text};
    for (volatile uint32_t times = 0; times < 2u; times++) good[i] = decrypt(text);
    memcpy(texts[i], out + TEXT_BYTES % 4, TEXT_BYTES);
  }}
  for (;;) __asm volatile("wfi");
}}
"""


@dataclass(frozen=True)
class Decrypted:
    """A message on a board: whether it is good, its text, and the cycles of three parts."""

    is_good: bool
    text: bytes
    begin_cycles: int  # with the associated data
    decrypt_cycles: int
    end_cycles: int

    @property
    def cycles(self) -> tuple[int, int, int]:
        return self.begin_cycles, self.decrypt_cycles, self.end_cycles


def c_array(data: bytes) -> str:
    return "{" + ", ".join(map(str, data)) + "}"


def program(board: Board, messages: Sequence[Message], place: str, begun: str = "", *, from_flash: bool) -> str:
    """Return a program that decrypts messages of one length; `place` declares gcm, `begun` is C behind its begin."""
    arrays = [(each.key, each.nonce, each.tag, each.added, each.text) for each in messages]
    values = [f"{{{len(key)}, {', '.join(map(c_array, (key, *rest)))}}}" for key, *rest in arrays]
    return PROGRAM.format(
        messages=len(messages),
        added_bytes=len(messages[0].added),
        text_bytes=len(messages[0].text),
        clock=clock_settings(board),
        memory=MEMORY_FUNCTIONS,
        values=", ".join(values),
        place=place,
        begun=begun,
        text="messages[i].text" if from_flash else "message.text",
    )


def run(
    folder: Path, board_name: str, messages: Sequence[Message], place: str = ANYWHERE, *, from_flash: bool = False
) -> list[Decrypted]:
    """Decrypt messages on a board; the cycles are those of the second time."""
    board = load_board(board_name)
    elf = build(folder, board, program(board, messages, place, from_flash=from_flash), firmware=SOURCES)
    places = symbols(elf)
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False)
    rig.mark(0, [places["mark"]])
    rig.run_until(SECOND_PS)
    marks = np.array([cycles for _, cycles, _ in rig.marks(0)])
    assert marks.size == 2 * 4 * len(messages), "the program does not end"
    cycles = np.diff(marks.reshape(-1, 2, 4)[:, 1]).tolist()
    size = len(messages[0].text)
    words = [rig.read_word(0, places["texts"] + offset) for offset in range(0, len(messages) * size, 4)]
    texts = np.array(words, "<u4").tobytes()
    return [
        Decrypted(
            rig.read_word(0, places["good"] + 4 * index) == GOOD,
            texts[index * size : (index + 1) * size],
            *cycles[index],
        )
        for index in range(len(messages))
    ]


def random_messages(
    count: int, key_bytes: int, text_bytes: int = TEXT_BYTES, added_bytes: int = 20
) -> tuple[list[Message], list[bytes]]:
    """Return messages of one length, and their texts."""
    rng = np.random.default_rng(key_bytes)
    plain = [rng.bytes(text_bytes) for _ in range(count)]
    return [
        Message.encrypted(rng.bytes(key_bytes), rng.bytes(12), rng.bytes(added_bytes), each) for each in plain
    ], plain


def with_changed_byte(message: Message, index: int) -> Message:
    """Return the message with another tag."""
    tag = bytearray(message.tag)
    tag[index] ^= 0xFF
    return replace(message, tag=bytes(tag))


@pytest.mark.parametrize(
    ("board_name", "key_bytes", "most_cycles"),
    [
        (G0, 16, 270),  # 237 KB/s
        (G0, 32, 330),  # 194 KB/s
        (F4, 16, 151),  # 559 KB/s
        (F4, 32, 180),  # 468 KB/s
        (L4PLUS, 16, 155),  # 778 KB/s
        (L4PLUS, 32, 184),  # 653 KB/s
        (H7, 16, 85),  # 5647 KB/s
        (H7, 32, 102),  # 4706 KB/s
    ],
)
def test_boards_decrypt_from_flash_within_cycles_per_byte(
    tmp_path: Path, board_name: str, key_bytes: int, most_cycles: int
) -> None:
    messages, plain = random_messages(2, key_bytes)
    found = run(tmp_path, board_name, messages, from_flash=True)
    assert [(each.is_good, each.text) for each in found] == [(True, each) for each in plain]
    for each in found:
        assert each.decrypt_cycles <= most_cycles * TEXT_BYTES
        assert each.begin_cycles + each.end_cycles <= MOST_OTHER_CYCLES


@pytest.mark.parametrize("board_name", [G0, L4PLUS])
def test_boards_decrypt_from_and_to_odd_addresses(tmp_path: Path, board_name: str) -> None:
    messages, plain = random_messages(2, 32, text_bytes=1021, added_bytes=21)
    found = run(tmp_path, board_name, messages, from_flash=True)
    assert [(each.is_good, each.text) for each in found] == [(True, each) for each in plain]


@pytest.mark.parametrize("key_bytes", [16, 32])
@pytest.mark.parametrize(("board_name", "place"), [(G0, ANYWHERE), (F4, ANYWHERE), (L4PLUS, ANYWHERE), (H7, IN_DTCM)])
def test_no_cycle_depends_on_the_data(tmp_path: Path, board_name: str, place: str, key_bytes: int) -> None:
    messages, _ = random_messages(3, key_bytes)
    plain = bytes(TEXT_BYTES)
    uniform = [Message.encrypted(bytes([value]) * key_bytes, bytes(12), bytes(20), plain) for value in (0, 0xFF)]
    wrong = [with_changed_byte(messages[0], index) for index in (0, 15)]
    found = run(tmp_path, board_name, [*messages, *uniform, *wrong], place)
    assert [each.is_good for each in found] == [True] * 5 + [False] * 2
    assert len({each.cycles for each in found}) == 1


@pytest.mark.parametrize("key_bytes", [16, 32])
@pytest.mark.parametrize("board_name", [G0, L4PLUS, H7])
def test_no_secret_stays_on_the_stack_or_in_the_message(tmp_path: Path, board_name: str, key_bytes: int) -> None:
    [message], [plain] = random_messages(1, key_bytes)
    board = load_board(board_name)
    source = program(board, [message], ANYWHERE, "memcpy(&begun, &gcm, sizeof gcm);", from_flash=True)
    elf = build(tmp_path, board, source, firmware=SOURCES)
    places, ram = symbols(elf), board.device.largest_ram
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False)
    rig.run_until(SECOND_PS)

    def words(first: int, size: int) -> list[int]:
        return [rig.read_word(0, address) for address in range(first, first + size, 4)]

    begun = words(places["begun"], MULTIPLES_END + ROUND_KEYS_BYTES)
    stream = np.frombuffer(message.text, "<u4") ^ np.frombuffer(plain, "<u4")
    secrets = {*begun[HASH_BYTES // 4 :], *stream.tolist()} - {0}
    assert len(secrets) > (MULTIPLES_END - HASH_BYTES) // 4 + 40 + TEXT_BYTES // 4 - 10
    assert set(words(places["gcm"], MULTIPLES_END + ROUND_KEYS_BYTES)) == {0}
    assert not secrets & set(words(ram.start + ram.size_bytes - STACK_BYTES, STACK_BYTES))


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7"])
def test_code_and_memory_are_small(tmp_path: Path, core: str) -> None:
    (tmp_path / "message.c").write_text('#include "gcm.h"\nextern gcm_t message;\ngcm_t message;\n')
    common = ROOT / "firmware" / "common"
    compiler = ("arm-none-eabi-gcc", f"-mcpu={core}", *FLAGS, *WARNINGS, f"-I{path_in(tmp_path, common)}")
    for source in (*(common / name for name in SOURCES), tmp_path / "message.c"):
        subprocess.run([*compiler, "-c", path_in(tmp_path, source)], cwd=tmp_path, check=True)
    code = [size for name in ("aes.o", "gcm.o") for size in symbol_sizes(tmp_path / name, "tT")]
    variables = [size for name in ("aes.o", "gcm.o") for size in symbol_sizes(tmp_path / name, "bBdDrR")]
    assert variables == []  # no static RAM, no constants beside those among the code
    assert 0 < sum(code) <= MOST_CODE_BYTES
    [message_bytes] = symbol_sizes(tmp_path / "message.o", "B")
    assert message_bytes <= MOST_RAM_BYTES
