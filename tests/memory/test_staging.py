"""Which transfers get a buffer beside the arena."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinysplit.common.alignment import aligned
from tinysplit.memory.staging import Stages, choose_stages

SIZES = st.lists(st.integers(1, 100), max_size=4)


def test_everything_is_staged_where_there_is_room() -> None:
    stages = choose_stages(100, [10], [20], 30, 4)
    assert stages == Stages((True,), (True,), input=True, output=True, size_bytes=12 + 20 + 32 + 4)


@pytest.mark.parametrize(
    ("free_bytes", "expected"),
    [
        (67, Stages((True,), (True,), input=True, output=False, size_bytes=64)),
        (63, Stages((True,), (True,), input=False, output=True, size_bytes=36)),
        (31, Stages((True,), (False,), input=False, output=True, size_bytes=16)),
        (11, Stages((False,), (False,), input=False, output=True, size_bytes=4)),
        (3, Stages((False,), (False,), input=False, output=False, size_bytes=0)),
        (-5, Stages((False,), (False,), input=False, output=False, size_bytes=0)),
    ],
)
def test_received_tensors_come_first_and_whole_words_count(free_bytes: int, expected: Stages) -> None:
    assert choose_stages(free_bytes, [10], [20], 30, 4) == expected


def test_what_a_board_does_not_have_is_not_staged() -> None:
    assert choose_stages(100, [], [], 0, 0) == Stages((), (), input=False, output=False, size_bytes=0)


@given(st.integers(-10, 300), SIZES, SIZES, st.integers(0, 50), st.integers(0, 50))
def test_stages_fit_and_none_is_left_out_for_which_there_is_room(
    free_bytes: int, in_tensors: list[int], out_tensors: list[int], input_bytes: int, output_bytes: int
) -> None:
    stages = choose_stages(free_bytes, in_tensors, out_tensors, input_bytes, output_bytes)
    assert stages.size_bytes <= max(free_bytes, 0)
    sizes = (*in_tensors, *out_tensors, input_bytes, output_bytes)
    staged = (*stages.in_tensors, *stages.out_tensors, stages.input, stages.output)
    left = [size for size, is_staged in zip(sizes, staged, strict=True) if size and not is_staged]
    assert all(stages.size_bytes + aligned(size) > free_bytes for size in left)
