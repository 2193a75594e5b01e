"""Lines of the figures of a placement, the same in all commands: L, T and I, period and bottleneck, and energy."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tinysplit.boards.board import SUPPLY_V, board_title, no_energy_model
from tinysplit.common.choices import InputSource
from tinysplit.common.units import MILLI, MS, PERCENT
from tinysplit.split.problem import Period
from tinysplit.timing.bottleneck import Bottleneck, bottleneck_text

if TYPE_CHECKING:
    from tinysplit.split.solution import Split  # which `build` need not import

SHOWN_MS = 0.005
S_PER_H = 3600
S_PER_DAY = 24 * S_PER_H


def latency_text(l_s: float, t_s: float, i_s: float) -> str:
    """Return L, T and I, and what passes at the same time, or is neither in L nor in T: what the input takes."""
    overlapped_ms = (l_s + t_s - i_s) * MS
    more = ""
    if abs(overlapped_ms) >= SHOWN_MS:
        copied = f" + {-overlapped_ms:.2f} ms to take the input"
        more = f" - {overlapped_ms:.2f} ms at the same time" if overlapped_ms > 0 else copied
    return f"L {l_s * MS:.2f} ms + T {t_s * MS:.2f} ms{more} = I {i_s * MS:.2f} ms"


def period_text(period_s: float, definition: Period, source: InputSource) -> str:
    """Return the period; an ideal one counts no transfer of the host, so that inputs have no source."""
    rate = f", {1 / period_s:.4f} outputs per second" if period_s else ""
    where = f", {source.text}" if definition is Period.FIRMWARE else ""
    return f"period {period_s * MS:.2f} ms ({definition}){rate} (estimated){where}"


def energy_text(energy_j: float, interval_s: float) -> str:
    """Return the energy of an inference, with an input every `interval_s`; 0: as soon as there is room."""
    interval = f"an input every {interval_s * MS:.6g} ms" if interval_s else "inputs without pauses"
    return f"energy {energy_j * MILLI:.3f} mJ per inference, {interval} (MCUs only, estimated)"


def current_text(power_w: float) -> str:
    """Return the mean current of all boards at a mean power."""
    return f"{MILLI * power_w / SUPPLY_V:.4g} mA at {SUPPLY_V} V"


def battery_life_s(power_w: float, capacity_mah: float) -> float:
    """Return the seconds for which a battery of SUPPLY_V and this capacity lasts, without its self-discharge."""
    return capacity_mah / MILLI * SUPPLY_V / power_w * S_PER_H


def battery_text(power_w: float, capacity_mah: float) -> str:
    """Return how long a battery lasts."""
    days = battery_life_s(power_w, capacity_mah) / S_PER_DAY
    return f"a battery of {capacity_mah:g} mAh lasts {days:.1f} days at {current_text(power_w)} (MCUs only, estimated)"


def throughput_lines(split: "Split") -> Iterator[str]:
    """Yield the period with what sets it, and energy."""
    yield period_text(split.period_s, split.problem.period_definition, split.problem.handoff_parts.input_source)
    if split.timing:
        yield f"bottleneck: {bottleneck_of(split, split.timing.bottleneck)}"
    if unknown := split.without_currents:
        yield no_energy_model(unknown[0])
        return
    yield energy_text(split.energy_j, split.problem.frame_period_s)


def power_lines(split: "Split") -> Iterator[str]:
    """Yield mean power, and the time in stop mode."""
    if split.power and not split.without_currents:
        yield split.power.text
    if split.timing and any(each.stop_s for each in split.timing.activities_in_stream):
        shares = (f"{PERCENT * share:.1f} % (board {device + 1})" for device, share in split.timing.stopped_shares)
        yield f"in stop mode for {', '.join(shares)} of the time"


def figure_lines(split: "Split") -> Iterator[str]:
    """Yield all figures of a placement."""
    yield f"{latency_text(split.l_s, split.t_s, split.i_s)} (estimated{with_host(split)})"
    yield from throughput_lines(split)
    yield from power_lines(split)


def with_host(split: "Split") -> str:
    """Return whether L, T and I have transfers of the host."""
    return ", including host transfers" if split.problem.host_seconds else ""


def bottleneck_of(split: "Split", found: Bottleneck) -> str:
    """Return what sets the period, and for which share of it it is busy, as text."""
    ends = [number for number in (found.busy.device, found.busy.receiver) if number >= 0]
    titles = [board_title(number + 1, split.problem.devices[number].name) for number in ends]
    text = bottleneck_text(found.busy.place, titles, [number + 1 for number in found.layers], found.share)
    return f"{'of the slowest copy: ' if split.copies else ''}{text}"
