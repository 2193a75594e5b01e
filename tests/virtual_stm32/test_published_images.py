"""Firmware images that others measured: run by the protocol that they speak, and found in repositories."""

import subprocess
from pathlib import Path

import pytest

from common.image_run import ImageMachine, infer
from common.published import Images, code_figures, compare, figures
from common.published_parts import PARTS
from programs.virtual_firmware import address_of, build
from themes import main
from tinysplit.common.errors import CheckFailedError, UsageError
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.symbols import load_program

PART = "stm32l4r5"
OVERHEAD = 100  # cycles between the two times beside the inference
# One inference is timed before anything else, from `first` to `last`; then commands are answered over USART2.
PROGRAM = """
#include <stdint.h>
#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CR1 REGISTER(0x40004400)
#define ISR REGISTER(0x4000441C)
#define RDR REGISTER(0x40004424)
#define TDR REGISTER(0x40004428)
#define TIM2_CNT REGISTER(0x40000024)
static void print(const char *text) {
  for (; *text; text++) {
    while (!(ISR & 1u << 7)) {}
    TDR = (uint8_t)*text;
  }
}
static uint32_t receive(void) {
  while (!(ISR & 1u << 5)) {}
  return RDR;
}
static __attribute__((noinline)) void infer(void) {
  __asm volatile("ldr r0, =10000\\n 1: ldr r1, =0x08000000\\n ldr r1, [r1]\\n subs r0, #1\\n bne 1b"
                 ::: "r0", "r1", "cc");
}
__attribute__((noinline)) void first(void) { __asm volatile(""); }
__attribute__((noinline)) void last(void) { __asm volatile("nop"); }
static void lap(void) {
  uint32_t value = TIM2_CNT;
  print("m-lap-us-");
  char digits[11] = "";
  uint32_t i = 10;
  do digits[--i] = (char)('0' + value % 10); while (value /= 10);
  print(digits + i);
  print("\\r\\n");
}
void reset(void) {
  infer();
  first();
  infer();
  last();
  REGISTER(0x40021000) |= 1u << 24;
  while (!(REGISTER(0x40021000) & 1u << 25)) {}
  CR1 = 0xD;
  for (;;) {
    print("m-ready\\r\\n");
    uint32_t numbers[2] = {0, 0}, at = 0, byte;
    while ((byte = receive()) != '%') {
      if (byte == ' ' && numbers[0]) at = 1;
      if (byte >= '0' && byte <= '9') numbers[at] = 10 * numbers[at] + byte - '0';
    }
    for (uint32_t i = 0; i < numbers[1]; i++) infer();
    lap();
    for (uint32_t i = 0; i < numbers[0]; i++) infer();
    lap();
  }
}
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("image"), PARTS[PART]().board, PROGRAM, options=["-mgeneral-regs-only"])


@pytest.fixture(scope="module")
def image(elf: Path) -> bytes:
    """Return the contents of flash."""
    board = PARTS[PART]().board
    return load_program(elf).flash_image(board, elf).rstrip(b"\xff")


def test_an_image_takes_as_long_as_on_a_virtual_board(elf: Path, image: bytes) -> None:
    rig = VirtualRig([VirtualBoard(PARTS[PART]().board, elf)])
    rig.mark(0, [address_of("first", elf), address_of("last", elf)])
    rig.run_until(10**11, lambda: len(rig.marks(0)) > 1)
    (_, begin, _), (_, end, _) = rig.marks(0)[:2]
    assert 0 <= infer(PARTS[PART](), image).cycle - (end - begin) < OVERHEAD


def test_an_image_prints_the_times_of_its_timer(image: bytes) -> None:
    machine = ImageMachine(PARTS[PART](), image)
    machine.say("")
    machine.say("infer 3 1%")
    first, last = (line for line in machine.lines if "m-lap-us" in line.text)
    before, after = (int(line.text.split("-")[-1]) for line in (first, last))
    assert after - before == last.timer.cycle - first.timer.cycle


def test_an_image_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.image_run._LIMIT_PS", 10**10)
    stack_and_loop = b"\x00\x80\x00\x20" + b"\x09\x00\x00\x08" + b"\xfe\xe7"
    with pytest.raises(CheckFailedError, match="did not answer"):
        infer(PARTS[PART](), stack_and_loop)


def test_images_are_found_in_checkouts_and_git_directories(tmp_path: Path) -> None:
    figure = next(figures())
    checkout = tmp_path / "checkouts" / "tiny"
    path = checkout / figure.path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"image")
    assert Images(tmp_path / "checkouts").find(figure.path) == b"image"
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "images"]):
        subprocess.run([*git, *command], check=True, timeout=60)
    clone = ["git", "clone", "-q", "--bare", str(checkout), str(tmp_path / "mirror" / "repo")]
    subprocess.run(clone, check=True, timeout=60)
    images = Images(tmp_path / "mirror")
    assert images.find(figure.path) == b"image"
    assert images.find("closed/nothing") is None


def test_a_figure_without_its_image_says_so(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    figure = next(figures())
    found = compare(figure, Images(tmp_path))
    assert (found.virtual_ms, found.ratio) == (None, None)
    assert figure.repository in found.why_not


def test_a_folder_without_repositories_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        UsageError, match=r"has no repository with published images: clone https://github\.com/mlcommons/tiny"
    ):
        Images(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["virtual_boards", "published", str(tmp_path)])
    assert end.value.code == UsageError.exit_code
    assert capsys.readouterr().err.count("\n") == 1


def test_every_figure_has_a_part_a_time_and_an_image_of_its_own() -> None:
    found = list(figures())
    assert all(each.part in PARTS and each.ms > 0 for each in found)
    assert len({(each.repository, each.path) for each in found}) == len(found)
    assert all(each.cycles > 0 and each.source for each in code_figures())
