import itertools

import numpy as np
import pytest

from tinysplit.arena import Arena, Block, place


def check(blocks: list[Block[int]], arena: Arena[int]) -> None:
    for a, b in itertools.combinations(blocks, 2):
        if a.meets(b):
            (a_at, b_at), leads = (arena.offsets[a.key], arena.offsets[b.key]), dict(a.leads) | dict(b.leads)
            apart = a_at + a.size_bytes <= b_at or b_at + b.size_bytes <= a_at
            over = b.key in dict(a.leads) and a_at + leads[b.key] <= b_at
            under = a.key in dict(b.leads) and b_at + leads[a.key] <= a_at
            assert apart or over or under
    assert all(arena.offsets[b.key] % 4 == 0 for b in blocks)
    assert arena.size_bytes >= max(arena.offsets[b.key] + b.size_bytes for b in blocks)


def alive(blocks: list[Block[int]]) -> int:
    return max(sum(-(-b.size_bytes // 4) * 4 for b in blocks if b.first <= t <= b.last) for t in range(40))


@pytest.mark.parametrize("seed", range(100))
def test_a_chain_needs_its_largest_pair(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(1, 1000, 12).tolist()
    blocks = [Block(i, size, i, i + 1) for i, size in enumerate(sizes)]
    arena = place(blocks)
    check(blocks, arena)
    assert arena.size_bytes == alive(blocks)


def test_random_lifetimes_are_packed_well() -> None:
    waste = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        firsts = rng.integers(0, 20, 12)
        blocks = [
            Block(i, int(size), int(first), int(first + length))
            for i, (size, first, length) in enumerate(
                zip(rng.integers(1, 1000, 12), firsts, rng.integers(0, 10, 12), strict=True)
            )
        ]
        arena = place(blocks)
        check(blocks, arena)
        waste.append(arena.size_bytes / alive(blocks) - 1)
    assert np.mean(waste) < 0.01
    assert max(waste) < 0.15


def test_outputs_may_lie_over_inputs() -> None:
    blocks = [Block(0, 100, 0, 1), Block(1, 100, 1, 2, leads=((0, 8),)), Block(2, 40, 0, 2)]
    arena = place(blocks)
    check(blocks, arena)
    assert arena.size_bytes == 100 + 8 + 40


def test_a_lead_beyond_the_output_is_none() -> None:
    blocks = [Block(0, 100, 0, 1), Block(1, 20, 1, 2, leads=((0, 50),))]
    arena = place(blocks)
    assert arena.size_bytes == 120
