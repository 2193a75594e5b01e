"""The arithmetic of firmware/common/fixed_point.h, compiled for the host, with ties and limits by hand."""

import subprocess

import pytest

from programs.firmware_on_host import compile_host

EXAMPLES = {
    "shift 5 1": 3,  # 2.5
    "shift -5 1": -2,
    "shift 6 2": 2,  # 1.5
    "shift -6 2": -1,
    "shift -7 2": -2,  # -1.75
    "shift 9 0": 9,
    "shift 1610612735 30": 1,  # 1.4999...
    "quotient 5 2": 3,
    "quotient -5 2": -2,
    "quotient -3 2": -1,
    "quotient 7 3": 2,
    "quotient -7 3": -2,
    "quotient -8 3": -3,
    "long 50000000000 20000000000": 3,
    "long -50000000000 20000000000": -2,
    "long -80000000000 30000000000": -3,
    # (sum >> pre) * factor + offset, >> post, from low to high
    "requantize 11 2 3 4 3 -128 127": 1,  # 2 * 3 + 4 = 10
    "requantize -11 2 3 4 3 -128 127": -1,  # -3 * 3 + 4 = -5
    "requantize 1000 0 1 0 2 -128 127": 127,
    "requantize -1000 0 1 0 2 -128 127": -128,
    "requantize -1000 0 1 0 2 0 127": 0,
    "clamp 5 -3 4": 4,
    "clamp -5 -3 4": -3,
    "clamp 2 -3 4": 2,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    program = compile_host(tmp_path_factory.mktemp("fixed_point"), "fixed_point_values")
    stream = "".join(f"{example}\n" for example in EXAMPLES)
    done = subprocess.run([program], input=stream, capture_output=True, text=True, check=True)
    return dict(zip(EXAMPLES, map(int, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_value_by_hand(example: str, results: dict[str, int]) -> None:
    assert results[example] == EXAMPLES[example]
