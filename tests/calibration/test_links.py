"""Costs of links as they are fitted to transfers, and the network that measures them."""

from itertools import pairwise, product

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.protocol_limits import frames_of
from tinysplit.costs.transfers import idle_seconds, pauses_seconds, wire_seconds
from tinysplit.kernels.cost_table import LinkCycles
from tinysplit_hil.calibration.links import Transfer, fit_links, to_and_fro

G0, F4, H7 = (load_board(name) for name in ("nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi"))
BAUD = 4_000_000
COSTS = {
    "stm32g0": LinkCycles(sending=3000, receiving=4000, sleeping=2000, restarting=500),
    "stm32f4": LinkCycles(sending=2000, receiving=3000, sleeping=1000, restarting=600),
    "stm32h7": LinkCycles(sending=2500, receiving=2600, sleeping=900, restarting=2700),
}


def transfer(driver: LinkDriver, ends: tuple[int, ...], n_bytes: int) -> Transfer:
    """Return a transfer with the costs above; where a receiver may sleep at its end, it does."""
    boards = G0, F4, H7
    sender, receiver = (boards[end] for end in ends)
    own, other = (COSTS[board.device.family] for board in (sender, receiver))
    uarts = sender.link_uarts[0], receiver.link_uarts[0]
    sleeps = driver is LinkDriver.DMA and n_bytes == 48
    idle_s = 10 / uarts[1].actual_baud(BAUD) if sleeps else idle_seconds(n_bytes, uarts[1], driver, BAUD)
    seconds = (
        wire_seconds(n_bytes, uarts[0], BAUD)
        + idle_s
        + (own.sending + n_bytes) / sender.clock.core_hz
        + (other.receiving + n_bytes + sleeps * other.sleeping) / receiver.clock.core_hz
        + pauses_seconds(n_bytes, uarts[0], driver, BAUD, 10, own.restarting / sender.clock.core_hz)
    )
    return Transfer(sender, receiver, driver, BAUD, n_bytes, (seconds,) * 3)


def test_costs_are_found_again() -> None:
    ends = [*product(range(3), repeat=2)]
    fitted = fit_links([transfer(*case) for case in product(LinkDriver, ends, (48, 512, 1536))])
    for (i, sender), (h, receiver) in product(enumerate((G0, F4, H7)), repeat=2):
        families = sender.device.family, receiver.device.family
        for driver in LinkDriver:
            (own, other), (real, real_other) = [fitted[f][driver] for f in families], [COSTS[f] for f in families]
            seconds = own.sending / sender.clock.core_hz + other.receiving / receiver.clock.core_hz
            real_s = real.sending / sender.clock.core_hz + real_other.receiving / receiver.clock.core_hz
            assert seconds == pytest.approx(real_s, rel=0.01), (i, h, driver)
        assert fitted[families[0]]["dma"].sleeping == pytest.approx(COSTS[families[0]].sleeping, rel=0.05)
        assert fitted[families[0]]["dma"].restarting == pytest.approx(COSTS[families[0]].restarting, rel=0.05)
        assert fitted[families[0]]["polling"].restarting == 0


def test_tensors_of_three_sizes_cross_both_ways() -> None:
    graph, assignment = to_and_fro((G0, H7))
    cut = [layer for layer, (a, b) in enumerate(pairwise(assignment)) if a != b]
    assert [graph.layers[layer].out_shape.size for layer in cut] == [1536, 1536, 512, 512, 48, 48]
    assert [assignment[layer] for layer in cut] == [0, 1] * 3
    assert all(frames_of(graph.layers[layer].out_shape.size) == 1 for layer in cut)
