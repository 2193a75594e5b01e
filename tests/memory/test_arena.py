import itertools

import numpy as np
import pytest

from session.profiles import cases
from tinysplit.kernels.in_place import Lead
from tinysplit.memory.arena import Arena, Buffer, FirstFit, InPlace, allocate


def check(buffers: list[Buffer[int]], arena: Arena[int]) -> None:
    for a, b in itertools.combinations(buffers, 2):
        assert (
            a.last < b.first
            or b.last < a.first
            or disjoint(a, b, arena)
            or in_place(a, b, arena)
            or in_place(b, a, arena)
        )
    assert all(arena.offsets[b.key] % 4 == 0 for b in buffers)
    assert arena.size_bytes >= max(arena.offsets[b.key] + b.size_bytes for b in buffers)


def disjoint(a: Buffer[int], b: Buffer[int], arena: Arena[int]) -> bool:
    a_at, b_at = arena.offsets[a.key], arena.offsets[b.key]
    return a_at + a.size_bytes <= b_at or b_at + b.size_bytes <= a_at


def in_place(a: Buffer[int], b: Buffer[int], arena: Arena[int]) -> bool:
    found = dict(a.in_place).get(b.key)
    return found is not None and found.allows(arena.offsets[b.key] - arena.offsets[a.key])


def alive(buffers: list[Buffer[int]]) -> int:
    return max(sum(-(-b.size_bytes // 4) * 4 for b in buffers if b.first <= t <= b.last) for t in range(40))


@pytest.mark.parametrize("seed", range(cases(quick=20, full=100, nightly=1000)))
def test_a_chain_needs_its_largest_pair(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, 1000, 12).tolist()
    buffers = [Buffer(i, size, i, i + 1) for i, size in enumerate(sizes)]
    arena = allocate(buffers)
    check(buffers, arena)
    assert arena.size_bytes == alive(buffers)


def test_equal_buffers_elsewhere_have_the_same_offsets() -> None:
    over = InPlace(((-4, 12),))
    buffers = [Buffer(1, 40, 0, 2), Buffer(2, 30, 2, 3, ((1, over), (9, over))), Buffer(3, 16, 1, 2)]
    later = [
        Buffer(-b.key, b.size_bytes, b.first + 7, b.last + 7, ((-1, over),) if b.in_place else ()) for b in buffers
    ]
    first, second = allocate(buffers), allocate(later)
    assert {-key: offset for key, offset in first.offsets.items()} == second.offsets
    assert first.size_bytes == second.size_bytes


def test_random_lifetimes_leave_little_waste() -> None:
    waste = []
    for seed in range(cases(quick=20, full=200, nightly=2000)):
        rng = np.random.default_rng(seed)
        firsts = rng.integers(0, 20, 12)
        buffers = [
            Buffer(i, int(size), int(first), int(first + length))
            for i, (size, first, length) in enumerate(
                zip(rng.integers(1, 1000, 12), firsts, rng.integers(0, 10, 12), strict=True)
            )
        ]
        arena = allocate(buffers)
        check(buffers, arena)
        waste.append(arena.size_bytes / alive(buffers) - 1)
    assert np.mean(waste) < 0.004
    assert max(waste) < 0.09


def test_outputs_overwrite_inputs_in_place() -> None:
    buffers = [Buffer(0, 100, 0, 1), Buffer(1, 100, 1, 2, in_place=((0, InPlace.of(Lead(8))),)), Buffer(2, 40, 0, 2)]
    arena = allocate(buffers)
    check(buffers, arena)
    assert arena.size_bytes == 100 + 8 + 40


def test_a_lead_longer_than_the_output_keeps_buffers_disjoint() -> None:
    buffers = [Buffer(0, 100, 0, 1), Buffer(1, 20, 1, 2, in_place=((0, InPlace.of(Lead(50))),))]
    arena = allocate(buffers)
    check(buffers, arena)
    assert arena.size_bytes == 120


def test_leads_keep_whole_pixels() -> None:
    buffers = [Buffer(0, 100, 0, 1), Buffer(1, 100, 1, 2, in_place=((0, InPlace.of(Lead(1, 10))),))]
    arena = allocate(buffers)
    check(buffers, arena)
    assert arena.offsets[0] - arena.offsets[1] == 20  # whole pixels of 10 bytes, and whole words


def test_an_output_may_have_one_place_over_its_input() -> None:
    """Above its rows come those of another board, so that its input lies neither there nor further on."""
    in_place = InPlace(((-40, 52), (53, 100)), 4)
    buffers = [Buffer(0, 40, 0, 1), Buffer(1, 100, 1, 2, in_place=((0, in_place),)), Buffer(2, 8, 0, 2)]
    arena = allocate(buffers)
    check(buffers, arena)
    assert arena.offsets[0] - arena.offsets[1] == 52
    assert arena.size_bytes == 100 + 8


def test_an_output_may_begin_after_its_input() -> None:
    buffers = [
        Buffer(0, 100, 0, 1),
        Buffer(1, 20, 1, 2, in_place=((0, InPlace.of(Lead(-50))),)),
        Buffer(2, 40, 2, 3),
        Buffer(3, 100, 3, 3),
    ]
    arena = allocate(buffers)
    check(buffers, arena)
    assert arena.size_bytes == 140


def test_what_is_enough_is_not_made_smaller() -> None:
    buffers = [Buffer(0, 8, 0, 1), Buffer(1, 12, 1, 2), Buffer(2, 4, 0, 3), Buffer(3, 16, 3, 4), Buffer(4, 8, 4, 4)]
    smallest = allocate(buffers).size_bytes
    assert allocate(buffers, smallest) == allocate(buffers, smallest - 4) == allocate(buffers)
    assert smallest <= allocate(buffers, 100).size_bytes <= 100


@pytest.mark.parametrize("seed", range(cases(quick=10, full=40, nightly=400)))
def test_no_order_of_in_place_tensors_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (4 * rng.integers(10, 25, 4)).tolist()
    leads = [Lead(int(lead), int(unit)) for lead, unit in rng.integers((-10, 1), (30, 9), (4, 2))]
    buffers = [Buffer(0, sizes[0], 0, 1)]
    buffers += [Buffer(i, sizes[i], i, i + 1, in_place=((i - 1, InPlace.of(leads[i])),)) for i in range(1, 4)]
    buffers += [Buffer(100 + i, 8, i, i) for i in range(2, 4)]
    arena = allocate(buffers)
    check(buffers, arena)
    arenas = (FirstFit(order).arena() for order in itertools.permutations(buffers))
    assert arena.size_bytes == min(other.size_bytes for other in arenas if other)
