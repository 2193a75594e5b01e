"""The timers that count cycles where a core has no counter: 32 bits, or 16 and the updates of them."""

from virtual_stm32.peripherals.timer import cycle_timers

CR1, CR2, SMCR, EGR, CNT, ARR = 0x00, 0x04, 0x08, 0x14, 0x24, 0x2C
TRIGGER = 3  # cycles from an update to the other timer


def test_one_timer_of_32_bits() -> None:
    ((base, timer),) = cycle_timers([("TIM2", 0x40000000)], lambda: 2)
    timer.write(ARR, 0xFFFFFFFF, 0)
    timer.write(CR1, 1, 10)
    assert (base, timer.read(CNT, 10 + 2 * 70_000)) == (0x40000000, 70_000)


def test_a_timer_of_16_bits_counts_the_updates_of_another() -> None:
    (_, low), (_, high) = cycle_timers([("TIM1", 0), ("TIM3", 0x400)], lambda: 1)
    for timer in (low, high):
        timer.write(ARR, 0xFFFF, 0)
    low.write(EGR, 1, 0)  # before it is connected
    low.write(CR2, 2 << 4, 0)
    high.write(SMCR, 7, 5)
    high.write(CR1, 1, 5)
    low.write(CR1, 1, 100)
    wraps = 100 + 0x10000
    assert (low.read(CNT, wraps - 1), high.read(CNT, wraps - 1)) == (0xFFFF, 0)
    assert (low.read(CNT, wraps), high.read(CNT, wraps)) == (0, 0)
    assert [high.read(CNT, wraps + TRIGGER + late) for late in (-1, 0, 0x20000)] == [0, 1, 3]
    now = wraps + 1000
    low.write(CNT, 0, now)  # no update
    high.write(CNT, 0x1234, now)
    low.write(CNT, 0xFFF0, now)
    assert (low.read(CNT, now + 0x20), high.read(CNT, now + 0x20)) == (0x10, 0x1235)
