"""Memory that links take only in splits that use them."""

from dataclasses import replace
from math import inf

import pytest

from tinysplit.memory.link_memory import all_link_bytes
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.memory import link_bytes
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem
from tinysplit.split.solve import solve

DRIVERS = (548, 52)
# A link with two tensors of 100 and 40 bytes, which need one word of a bitmap each.
LINK_BYTES = 256 + 2 * (64 + 4)


def problem(flash_bytes: int, ram_bytes: int, link_flash_bytes: int = 100) -> Problem:
    """Three layers on two devices; the second layer is much faster on the second device."""
    layers = tuple(
        LayerCosts(name, (100, 100), (200, 200), out_bytes, seconds)
        for name, out_bytes, seconds in (("a", 100, (1.0, inf)), ("b", 40, (9.0, 1.0)), ("c", 40, (1.0, inf)))
    )
    device = DeviceLimits("d", flash_bytes, ram_bytes, link_flash_bytes=link_flash_bytes, driver_bytes=DRIVERS)
    table = ((0.0, 0.5), (0.5, 0.0))
    return Problem(layers, (device, device), (table,) * 3)


def test_links_take_ram_of_the_boards_that_have_them() -> None:
    given = problem(1000, 2000)
    assert link_bytes(given, (0, 1, 0), (200, 200)) == (LINK_BYTES + 548,) * 2
    assert link_bytes(given, (0, 0, 0), (200, 0)) == (0, 0)


@pytest.mark.parametrize(("free_bytes", "driver_bytes"), [(LINK_BYTES + 548, 548), (LINK_BYTES + 547, 52), (0, 52)])
def test_the_first_driver_that_fits_is_taken(free_bytes: int, driver_bytes: int) -> None:
    assert all_link_bytes(1, [100, 40], DRIVERS, free_bytes) == LINK_BYTES + driver_bytes
    assert all_link_bytes(1, [100, 40], (), free_bytes) == LINK_BYTES


def test_a_split_needs_ram_for_its_links() -> None:
    enough = 200 + LINK_BYTES + 52
    assert evaluate(problem(1000, enough), (0, 1, 0)).is_feasible
    assert not evaluate(problem(1000, enough - 1), (0, 1, 0)).is_feasible
    assert solve(problem(1000, enough)).assignment == (0, 1, 0)
    assert solve(problem(1000, enough - 1)).assignment == (0, 0, 0)


def blocking_transfers(given: Problem) -> list[tuple[int, str]]:
    """Return device and kind of the transfers on links without buffers."""
    found = evaluate(given, (0, 1, 0)).blocking
    return [(step.device, step.kind) for step in found if step.kind in ("send", "receive")]


def test_buffers_get_the_ram_that_links_leave() -> None:
    without_links = replace(problem(1000, 500), devices=(DeviceLimits("d", 1000, 500),) * 2)
    assert blocking_transfers(without_links) == []
    with_one_buffer = problem(1000, 200 + LINK_BYTES + 52 + 100)
    assert blocking_transfers(with_one_buffer) == [(0, "send"), (1, "send")]


def test_one_board_alone_has_the_flash_of_the_links() -> None:
    given = problem(flash_bytes=200, ram_bytes=2000)
    assert evaluate(given, (0, 0, 0)).is_feasible  # 300 bytes, of which the links would take 100
    slow_links = replace(given, transfer_seconds=(((0.0, 9.0), (9.0, 0.0)),) * 3)
    split = solve(slow_links)
    assert split.assignment == (0, 0, 0)
    assert split.proved
    assert solve(given).assignment == (0, 1, 0)
    assert not evaluate(problem(flash_bytes=199, ram_bytes=2000), (0, 0, 0)).is_feasible


def test_a_slower_way_with_a_smaller_arena_is_kept_for_the_links_behind_it() -> None:
    # Layer b is faster on the first device, whose arena then leaves no room for the tensor that comes back from c.
    seconds = ((1.0, inf), (1.0, 3.0), (inf, 1.0), (1.0, inf))
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 100, 4, own) for k, own in enumerate(seconds))
    layers = (layers[0], replace(layers[1], ram_bytes=(1000, 100)), *layers[2:])
    devices = (DeviceLimits("d", 9, 1000 + 256 + 52 + 2 * 68 - 1, driver_bytes=DRIVERS), DeviceLimits("e", 9, 9999))
    given = Problem(layers, devices, (((0.0, 0.1), (0.1, 0.0)),) * 4)
    assert evaluate(given, (0, 0, 1, 0)).i_s < evaluate(given, (0, 1, 1, 0)).i_s
    split = solve(given)
    assert (split.assignment, split.proved) == ((0, 1, 1, 0), True)


def test_no_board_has_too_little_ram_because_another_one_has() -> None:
    # The arena of the second device leaves no byte, but no link reaches the device.
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 100, 4, (1.0, 1.0, 1.0)) for k in range(2))
    devices = tuple(
        DeviceLimits(f"d{k}", flash_bytes, ram_bytes, driver_bytes=DRIVERS)
        for k, (flash_bytes, ram_bytes) in enumerate(((1, 100 + LINK_BYTES), (2, 50), (1, 100 + LINK_BYTES)))
    )
    table = tuple(tuple(float(i != h) for h in range(3)) for i in range(3))
    assert set(solve(Problem(layers, devices, (table,) * 2)).assignment) == {0, 2}
