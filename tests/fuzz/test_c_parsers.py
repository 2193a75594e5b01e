"""The C code that parses what others send, with sanitizers, on mutated inputs: no memory error, no endless loop.

`./run test tests/fuzz --profile nightly` tries a million inputs each. Inputs are the same for the same seed; a failure
prints the one that caused it.
"""

import os
import subprocess
from pathlib import Path

import pytest

from programs.firmware_on_host import LINK_SOURCES, RUN_SOURCES, compile_files
from session.profiles import cases

HERE = Path(__file__).parent
N_INPUTS = cases(quick=2_000, full=50_000, nightly=1_000_000)
SEED = 1
HOST = ("host", "host_diagnostics", "host_events", "host_queue", "host_send", "frames", *RUN_SOURCES)
MLPERF = ("mlperf_events", "mlperf_host", "mlperf_infer", "mlperf_input", "mlperf_results", "text_out", *RUN_SOURCES)
PARSERS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "host": ("host", tuple(f"{name}.c" for name in HOST), ("STAGED=1",)),
    "host-unstaged": ("host", tuple(f"{name}.c" for name in HOST), ("STAGED=0",)),
    "mlperf": ("mlperf", tuple(f"{name}.c" for name in MLPERF), ("VALUE_BYTES=1", "MAPPED=1", "REALS=0")),
    "mlperf-reals": ("mlperf", tuple(f"{name}.c" for name in MLPERF), ("VALUE_BYTES=2", "MAPPED=0", "REALS=1")),
    "links": ("links", LINK_SOURCES, ()),
    "weights": ("weights", ("weights_file.c", "crc32.c"), ()),
}


def compiled(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the program that feeds a parser, and its corpus."""
    program, firmware, defines = PARSERS[name]
    files = [HERE / "driver.c", HERE / f"{program}.c"]
    output = compile_files(folder / name, files, *firmware, defines=defines)
    return output, HERE / "corpus" / f"{program}.txt"


def fed(program: Path, corpus: Path, n_inputs: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, str(SEED), str(n_inputs), corpus],
        env={**os.environ, "UBSAN_OPTIONS": "abort_on_error=1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=max(60, n_inputs / 1000),
    )


@pytest.mark.parametrize("name", PARSERS)
def test_parsers_survive_any_input(tmp_path: Path, name: str) -> None:
    program, corpus = compiled(tmp_path, name)
    done = fed(program, corpus, N_INPUTS)
    assert done.returncode == 0, done.stderr[-4000:]


def test_an_overflow_is_found(tmp_path: Path) -> None:
    """The check of the checks: a parser that trusts a length fails, and the driver names the input."""
    source = tmp_path / "broken.c"
    source.write_text(
        """
#include <string.h>
#include "driver.h"
static volatile unsigned char to[40];
int main(int argc, char **argv) {
  fuzz_begin(argc, argv);
  size_t size;
  for (const uint8_t *input; (input = fuzz_next(&size));) {
    if (size > 2 && input[0] == 7) for (int i = 0; i < input[1]; i++) to[i] = input[2];
  }
  return 0;
}
"""
    )
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("# a length\n07 03 01*40\n")
    program = compile_files(tmp_path / "broken", [HERE / "driver.c", source])
    done = fed(program, corpus, 20_000)
    assert done.returncode != 0
    assert "out of bounds" in done.stderr
    assert "\ninput " in done.stderr
