"""Costs of hand-offs as they are fitted to measured cycles."""

import pytest

from tinysplit.boards.link_driver import LinkDriver
from tinysplit_hil.calibration.handoffs import FedAsleep, HandoffCycles, fit_handoffs

FEEDING, INPUT, OUTPUT, STARTING, CHECKING, WAKE, RESUMING, TAKING = 300, 20_000, 25_000, 9_000, 6, 90, 5_000, 3_000


def sending(in_bytes: int, out_bytes: int) -> HandoffCycles:
    """Return the cycles of a board that takes inputs, and gives outputs of which a byte takes 200 and its copy 1."""
    cycles = INPUT + (FEEDING + 1) * in_bytes + OUTPUT + (200 + 1) * out_bytes
    return HandoffCycles(False, False, LinkDriver.DMA, in_bytes, 0, out_bytes, cycles, 1_000)


def asleep(in_bytes: int) -> FedAsleep:
    cycles = INPUT + (FEEDING + WAKE + 1) * in_bytes + OUTPUT
    return FedAsleep(in_bytes, cycles, STARTING + (CHECKING + 1) * in_bytes)


def test_what_passes_from_start_on_is_part_of_what_an_input_takes() -> None:
    measured = [sending(*sizes) for sizes in ((64, 64), (640, 64), (64, 640), (640, 640))]
    costs = fit_handoffs(measured, iter([asleep(256), asleep(4096)]), RESUMING, TAKING)
    assert (costs.starting, costs.checking, costs.wake, costs.resuming) == (STARTING, CHECKING, WAKE, RESUMING)
    assert (costs.feeding, costs.taking) == (FEEDING, TAKING)
    assert costs.started(100) == STARTING + 100 * CHECKING
    whole = costs.input + costs.feeding * 100
    assert costs.fed(100) + costs.started(100) == pytest.approx(whole)
