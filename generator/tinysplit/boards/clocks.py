"""Clock trees: PLL settings and bus dividers for the maximum core frequency from HSI or HSE."""

from collections.abc import Iterator

from tinysplit.boards.board import ClockTree
from tinysplit.boards.schema import BusLimits, PllRules
from tinysplit.common.errors import InputError

_BUS_DIVIDERS = (1, 2, 4, 8, 16)


def clock_tree(pll: PllRules, limits: BusLimits, core_hz: int, wait_state_limits: tuple[int, ...]) -> ClockTree:
    """Return the clock tree with exactly `core_hz` at the core and the highest allowed frequency on every bus.

    `wait_state_limits` are the highest HCLK in Hz for 0, 1, 2, ... flash wait states. Raises InputError when the PLL
    cannot make `core_hz` or a limit is below what the dividers reach.
    """
    pll_m, pll_n, pll_r = best_pll(pll, core_hz)
    ahb_divider = bus_divider(core_hz, limits.ahb_max_hz)
    ahb_hz = core_hz // ahb_divider
    return ClockTree(
        oscillator_hz=pll.oscillator_hz,
        pll_m=pll_m,
        pll_n=pll_n,
        pll_r=pll_r,
        core_hz=core_hz,
        ahb_divider=ahb_divider,
        apb1_divider=bus_divider(ahb_hz, limits.apb1_max_hz),
        apb2_divider=bus_divider(ahb_hz, limits.apb2_max_hz),
        flash_wait_states=wait_states(ahb_hz, wait_state_limits),
        settings=tuple(sorted(limits.settings.items())),
    )


def check_limits(part: str, limits: BusLimits, line: BusLimits) -> None:
    """Raise InputError for limits of a board's file above those of its line of devices, or with other settings.

    `vddio2` is that of the board: it supplies pins that not every board connects.
    """
    for bus in ("ahb_max_hz", "apb1_max_hz", "apb2_max_hz"):
        if (own_hz := getattr(limits, bus)) > (highest_hz := getattr(line, bus)):
            raise InputError(f"clock.{bus} is {own_hz}, {part} takes at most {highest_hz} ({line.source})")
    for name in sorted({*limits.settings, *line.settings}):
        needed = {line.settings[name]} | ({0, 1} if name == "vddio2" else set()) if name in line.settings else set()
        if limits.settings.get(name) not in needed:
            wanted = (
                f"{part} needs {' or '.join(map(str, sorted(needed)))}" if needed else f"{part} has no such setting"
            )
            raise InputError(f"clock.settings.{name} is {limits.settings.get(name, 'missing')}: {wanted}")


def best_pll(pll: PllRules, core_hz: int) -> tuple[int, int, int]:
    """Return the PLL values M, N and R for exactly `core_hz` within all limits of `pll`.

    Prefers the highest input frequency of the phase detector (least jitter), then the lowest VCO frequency (least
    current). Raises InputError when no values meet the limits.
    """
    candidates = list(_candidates(pll, core_hz))
    if not candidates:
        raise InputError(_out_of_reach(pll, core_hz))
    return min(candidates, key=lambda values: (values[0], values[1], values[2]))


def _out_of_reach(pll: PllRules, core_hz: int) -> str:
    only = pll.m[0] if pll.m[0] == pll.m[1] else 1
    source = f"{pll.oscillator_hz} Hz{f' by {only}' if only > 1 else ''}"
    highest = max(_core_hz_of(pll), default=core_hz)
    most = f", at most {highest}: set a lower corrections.max_hz or hse.core_hz" if highest < core_hz else ""
    return f"the PLL cannot make {core_hz} Hz from {source}{most} ({pll.source})"


def _core_hz_of(pll: PllRules) -> Iterator[int]:
    """Yield the frequencies in Hz, rounded down, that the PLL makes within its limits."""
    for m in _dividers(pll):
        for n in pll.multipliers or range(pll.n[0], pll.n[1] + 1):
            if pll.vco_hz[0] * m <= pll.oscillator_hz * n <= pll.vco_hz[1] * m:
                yield from (pll.oscillator_hz * n // (m * r) for r in pll.r)


def _dividers(pll: PllRules) -> Iterator[int]:
    """Yield the values of M that keep the limits of the input."""
    for m in range(pll.m[0], pll.m[1] + 1):
        if pll.input_hz[0] * m <= pll.oscillator_hz <= pll.input_hz[1] * m:
            yield m


def _candidates(pll: PllRules, core_hz: int) -> Iterator[tuple[int, int, int]]:
    for m in _dividers(pll):
        for r in pll.r:
            vco_hz = core_hz * r
            n, remainder = divmod(vco_hz * m, pll.oscillator_hz)
            exists = not pll.multipliers or n in pll.multipliers
            if exists and remainder == 0 and pll.n[0] <= n <= pll.n[1] and pll.vco_hz[0] <= vco_hz <= pll.vco_hz[1]:
                yield m, n, r


def bus_divider(clock_hz: int, limit_hz: int) -> int:
    """Return the smallest bus divider that keeps `clock_hz` within `limit_hz`; raise InputError if there is none."""
    for divider in _BUS_DIVIDERS:
        if clock_hz <= limit_hz * divider:
            return divider
    raise InputError(f"no bus divider takes {clock_hz} Hz below {limit_hz} Hz")


def wait_states(ahb_hz: int, limits_hz: tuple[int, ...]) -> int:
    """Return the number of flash wait states at `ahb_hz`; raise InputError if it exceeds the flash's limit."""
    for states, limit_hz in enumerate(limits_hz):
        if ahb_hz <= limit_hz:
            return states
    raise InputError(f"the flash is too slow for {ahb_hz} Hz: its limit is {limits_hz[-1]} Hz")
