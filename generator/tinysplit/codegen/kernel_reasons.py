"""Why a layer has its kernel, in words: the scheme, the cycles of the alternatives, and what excludes others."""

from collections.abc import Iterator, Sequence

from tinysplit.common.choices import Optimize
from tinysplit.common.units import PERCENT
from tinysplit.kernels import Kernel, candidates, predicted_cycles
from tinysplit.kernels.scheme import Scheme, SchemeRule
from tinysplit.kernels.selection import KERNELS, table_error
from tinysplit.memory.kernel_choice import LEAST_SAVING, KernelChoice
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import Layer
from tinysplit.plan.plan import BoardPlan

OBJECTIVE = {Optimize.RAM: "less RAM", Optimize.FLASH: "less flash"}
UNBUFFERED = {Scheme.ELEMENTWISE: "one value at a time", Scheme.COPY: "values are only moved"}
SMALLEST_BITS = 8
TIMES = 1.5  # from here on a factor is easier to read than a percentage


def kernel_reasons(choice: KernelChoice, board_plan: BoardPlan, number: int) -> Iterator[str]:
    """Yield why layer `number` (from 0) has its kernel: what was requested, compared and excluded, by computation only.

    First comes the scheme by the rule of Singh 2024.
    """
    layer, own = choice.graph.layers[number], board_plan.memory.kernels[number]
    widths, core = choice.widths.of_layer(layer), choice.board.device.core
    kernels = candidates(layer, core, widths)
    rule, scheme = SchemeRule.of(layer, widths, board_plan.near_bytes), own.scheme(layer)
    yield str(rule) if rule else f"{scheme}: {UNBUFFERED[scheme]}"
    fastest = choice.kernel(number)
    if number in board_plan.named:
        yield f"{board_plan.named[number]} was requested"
    elif own is not fastest and board_plan.optimize in OBJECTIVE:
        yield f"{OBJECTIVE[board_plan.optimize]} than {fastest.name}"
    if rule and rule.scheme and rule.scheme not in {kernel.scheme(layer) for kernel in kernels}:
        yield f"no {rule.scheme} kernel for this layer on {core}"
    if kernels == (own,):
        yield f"{own.name} is the only kernel for this layer on {core} with {_bits(widths)}"
    yield from _compared_cycles(kernels, own, choice, number)
    small = own if own is not fastest and board_plan.optimize is Optimize.CYCLES else None
    yield from _without_memory(kernels, own, choice, number, small)
    yield from _needing_fewer_bits(layer, core, widths, kernels)


def _bits(widths: Widths) -> str:
    values = f"{widths.x}-bit values"
    return values if widths.w == widths.x else f"{values} and {widths.w}-bit weights"


def _compared_cycles(kernels: Sequence[Kernel], own: Kernel, choice: KernelChoice, number: int) -> Iterator[str]:
    """Yield the cycles by which kernels were compared, of those that are in the cost table, its own first.

    They are those of the layer alone, with waits for constants where these were expected to lie: the plan may fuse the
    layer or place them elsewhere. Nothing is said of a kernel that cannot be compared.
    """
    layer, core = choice.graph.layers[number], choice.board.device.core
    widths = choice.widths.of_layer(layer)
    known = [kernel for kernel in kernels if predicted_cycles(choice.table, kernel, layer, core, widths) is not None]
    if own not in known or len(known) == 1:
        return
    own_cycles = round(choice.cycles(number, own))
    others = ((kernel, round(choice.cycles(number, kernel))) for kernel in known if kernel is not own)
    compared = ", ".join(
        f"{kernel.name} {_against(kernel, cycles, own_cycles, table_error(kernel, own, layer))}"
        for kernel, cycles in others
    )
    yield f"the layer alone is expected to take {own_cycles} cycles with {own.name}, {compared}"


def _against(kernel: Kernel, cycles: int, own: int, error: float) -> str:
    """Return cycles of a kernel compared with those of the chosen one: "200 (2.0 times as many)"."""
    if cycles == own:
        return f"{cycles} (as many)"
    if cycles >= TIMES * own > 0:
        return f"{cycles} ({cycles / own:.1f} times as many)"
    share = abs(cycles - own) / own if own else 0.0
    text = f"{cycles} ({PERCENT * share:.0f} % {'more' if cycles > own else 'fewer'}"
    if cycles < own and kernel.takes_much_flash and share <= LEAST_SAVING:
        text += f", and a kernel with much flash has to save more than {PERCENT * LEAST_SAVING:.0f} %"
    elif cycles < own and not kernel.takes_much_flash and share <= error:
        text += f", within the {PERCENT * error:.0f} % by which estimates may err"
    return f"{text})"


def _without_memory(
    kernels: Sequence[Kernel], own: Kernel, choice: KernelChoice, number: int, small: Kernel | None
) -> Iterator[str]:
    """Yield the kernels that RAM or flash excluded, with the bytes that decided; `small`: see `lacks_flash_for`."""
    for kernel in kernels:
        if kernel is own:
            continue
        needed_bytes = choice.live_bytes(number, kernel)
        if kernel.takes_much_ram and not choice.is_alone:
            yield f"{kernel.name} takes much RAM, which only a board that has the whole network may leave free"
        elif choice.waits(number, kernel) == float("inf"):
            yield f"{kernel.name} needs {needed_bytes} bytes of RAM with its tensors, of {choice.limit_bytes}"
        elif flash_bytes := choice.lacks_flash_for(number, kernel, small):
            yield f"{kernel.name} takes {flash_bytes} bytes more flash, which the whole network does not leave free"


def _needing_fewer_bits(layer: Layer, core: str, widths: Widths, kernels: Sequence[Kernel]) -> Iterator[str]:
    """Yield the kernels that can compute the layer in 8 bits only."""
    smallest = Widths.all(SMALLEST_BITS)
    if widths == smallest:
        return
    names = [kernel.name for kernel in KERNELS if kernel not in kernels and kernel.fits(layer, core, smallest)]
    if names:
        yield f"{', '.join(names)}: for {SMALLEST_BITS}-bit values and weights only"
