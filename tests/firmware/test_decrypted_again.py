"""Words of a message that the firmware decrypts again: those of the sender, in the cycles that estimates count."""

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from programs.firmware_build import FLAGS
from programs.firmware_on_host import compile_host
from programs.gcm_messages import Message
from programs.virtual_firmware import build, clock_settings, symbols
from tinysplit.boards.catalog import load_board
from tinysplit.common.secret_key import SecretKey
from tinysplit.memory.constants_in_ram import FlashWaits, LayerConstants
from tinysplit.memory.decryption import BLOCK_BYTES, decrypt_cycles
from virtual_stm32 import VirtualBoard, VirtualRig

SOURCES = ("aes.c", "gcm.c")
TEXT_BYTES = 2048
SECOND_PS = 10**12
MOST_WORDS = 6  # of tests/c/gcm_again.c
IN_RAM, IN_DTCM = "static gcm_t gcm;", "#define gcm (*(gcm_t *)0x20000000)"  # as the firmware has it
PROGRAM = """
#include <stddef.h>
#include "clock.c"
#include "clock_source.c"
#include "clock_family.c"
#include "gcm.h"
enum {{ MESSAGES = {messages}, WORDS = {words}, FIRST = {first} }};
typedef struct __attribute__((aligned(4096))) {{ /* the same places in caches */
  uint8_t key[{key_bytes}], nonce[12], tag[16];
  uint32_t text[WORDS];
}} message_t;
const clock_settings_t board_clock = {{{clock}}};
static const message_t messages[MESSAGES] = {{{values}}};
{place}
static uint32_t out[WORDS];
uint32_t texts[MESSAGES][WORDS];
volatile uint32_t good[MESSAGES];

void *memset(void *to, int value, size_t size) {{
  for (volatile uint8_t *byte = to; size > 0; size--) *byte++ = (uint8_t)value;
  return to;
}}

__attribute__((noinline)) void mark(void) {{ __asm volatile("" ::: "memory"); }}

void reset(void) {{
  clock_begin();
  for (uint32_t i = 0; clock_ok && i < MESSAGES; i++) {{
    const message_t *own = &messages[i];
    gcm_begin(&gcm, own->key, sizeof own->key, own->nonce);
    gcm_pass(&gcm, (const uint8_t *)own->text, sizeof own->text);
    good[i] = gcm_end_with_key(&gcm, own->tag);
    for (volatile uint32_t times = 0; times < 3u; times++) {{
      mark();
      gcm_decrypt_words(&gcm, FIRST, own->text + FIRST, out, WORDS - FIRST);
      mark();
    }}
    for (uint32_t word = 0; word < WORDS; word++) texts[i][word] = ((volatile uint32_t *)out)[word];
  }}
  for (;;) __asm volatile("wfi");
}}
"""


@pytest.fixture(scope="module")
def on_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("gcm"), "gcm_again", *SOURCES)


def random_message(rng: np.random.Generator, key_bytes: int, text_bytes: int) -> tuple[Message, bytes]:
    plain = rng.bytes(text_bytes)
    return Message.encrypted(rng.bytes(key_bytes), rng.bytes(12), b"", plain), plain


def run_on_host(program: Path, message: Message, blocks_at_once: int) -> bytes:
    head = struct.pack("<BBH", len(message.key), blocks_at_once, len(message.text) // 4)
    content = message.key.ljust(32, b"\0") + message.nonce + message.tag + message.text
    return subprocess.run([program], input=head + content, capture_output=True, check=True).stdout


@pytest.mark.parametrize("key_bytes", [16, 32])
@pytest.mark.parametrize(("words", "blocks_at_once"), [(1, 0), (37, 0), (37, 3), (40, 10), (1100, 60)])
def test_any_words_are_those_of_the_sender(on_host: Path, key_bytes: int, words: int, blocks_at_once: int) -> None:
    """Counters beyond 255 among them."""
    message, plain = random_message(np.random.default_rng(words), key_bytes, 4 * words)
    found = run_on_host(on_host, message, blocks_at_once)
    assert found == b"\1" + b"".join(plain[4 * first : 4 * (first + MOST_WORDS)] for first in range(words))


def test_a_changed_message_leaves_no_key(on_host: Path) -> None:
    message, _ = random_message(np.random.default_rng(1), 16, 64)
    changed = replace(message, text=message.text[:-1] + bytes([message.text[-1] ^ 1]))
    assert run_on_host(on_host, changed, 2) == b"\0"


def run_on_board(folder: Path, name: str, messages: Sequence[tuple[Message, bytes]], first: int) -> set[int]:
    """Decrypt the words of messages from `first` on, and return the cycles that this took the last time."""
    board, words = load_board(name), TEXT_BYTES // 4
    values = (
        "{" + ", ".join(map(c_array, (own.key, own.nonce, own.tag))) + f", {c_array(own.text, '<u4')}" + "}"
        for own, _ in messages
    )
    fields = {"messages": len(messages), "words": words, "first": first, "key_bytes": len(messages[0][0].key)}
    place = IN_DTCM if board.near_memory.name == "dtcm" else IN_RAM
    source = PROGRAM.format(place=place, clock=clock_settings(board), values=", ".join(values), **fields)
    elf = build(folder, board, source, firmware=SOURCES, options=FLAGS)
    places = symbols(elf)
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False)
    rig.mark(0, [places["mark"]])
    rig.run_until(SECOND_PS)
    for index, (_, plain) in enumerate(messages):
        begin = places["texts"] + index * TEXT_BYTES
        found = [rig.read_word(0, begin + 4 * word) for word in range(words - first)]
        assert np.array(found, "<u4").tobytes() == plain[4 * first :]
        assert rig.read_word(0, places["good"] + 4 * index) == 1
    marks = np.array([cycles for _, cycles, _ in rig.marks(0)]).reshape(-1, 3, 2)
    return set(np.diff(marks[:, -1]).ravel().tolist())


def c_array(data: bytes, kind: str = "u1") -> str:
    return "{" + ", ".join(f"{value}u" for value in np.frombuffer(data, kind).tolist()) + "}"


@pytest.mark.parametrize(
    ("name", "key_bytes", "measured"),
    [
        ("nucleo_f091rc", 16, 2395),  # 321 KB/s
        ("nucleo_g071rb", 16, 2357),  # 434 KB/s
        ("nucleo_g071rb", 32, 3245),  # 316 KB/s
        ("nucleo_l4r5zi", 16, 1279),  # 1501 KB/s
        ("nucleo_l4r5zi", 32, 1731),  # 1109 KB/s
        ("nucleo_f446re", 16, 1255),  # 2295 KB/s
        ("nucleo_h743zi", 16, 731),  # 10506 KB/s
        ("nucleo_h743zi", 32, 999),  # 7688 KB/s
    ],
)
def test_boards_take_the_cycles_of_the_estimate_whatever_the_data(
    tmp_path: Path, name: str, key_bytes: int, measured: int
) -> None:
    rng, zeros = np.random.default_rng(key_bytes), bytes(TEXT_BYTES)
    same = Message.encrypted(bytes(key_bytes), bytes(12), b"", zeros), zeros
    messages = [*(random_message(rng, key_bytes, TEXT_BYTES) for _ in range(2)), same]
    [cycles] = run_on_board(tmp_path, name, messages, first=2)  # one number: no cycle depends on key or data
    board, constants = load_board(name), LayerConstants({"weights": TEXT_BYTES - 8}, TEXT_BYTES - 8)
    is_cached = board.caches.data_bytes > TEXT_BYTES  # here, but not from one inference to the next
    waits = 0 if is_cached else FlashWaits.of(board).copying(constants)
    estimated = decrypt_cycles(constants, SecretKey(bytes(key_bytes)).rounds, board) + waits
    assert cycles == pytest.approx(estimated, rel=0.02)
    assert BLOCK_BYTES * cycles / TEXT_BYTES == pytest.approx(measured, rel=0.015)
