"""The functions of firmware/common/dsp_conv.h that a layer of `dual_mac` needs, by which its code is predicted."""

from collections.abc import Iterator, Sequence

from tinysplit.kernels.code_parts import Code, SharedFunction
from tinysplit.kernels.dsp.parts import ConvPart
from tinysplit.kernels.dsp.strips import StripLayout, Strips
from tinysplit.network.bit_widths import Widths

SHARED_CODE = "dsp_conv_"
DESCRIPTION_BYTES = 116  # of a part, beside its weights
_WIDENED_ROWS = {StripLayout.ROWS, StripLayout.ROWS_TWICE}
_PADDED = {*_WIDENED_ROWS, StripLayout.DILATED, StripLayout.SOME_CHANNELS}


def sums_layout(weight_layout: str) -> str:
    """Return the layout of weights that has sums like this one: single bytes have those of wide weights."""
    return "packed" if weight_layout == "packed" else "wide"


def two_pixels(strips: Strips, weight_layout: str, variant: str) -> str:
    """Return the name of the inner loop for two pixels: a `variant` for the most frequent outputs, or of any."""
    return f"{SHARED_CODE}{weight_layout}_{strips.suffix}{variant and f'_{variant}'}"


def one_pixel(weight_layout: str, variant: str) -> str:
    """Return the name of the inner loop for a single pixel."""
    return f"{SHARED_CODE}{weight_layout}_one{variant and f'_{variant}'}"


def two_rows(weight_layout: str, variant: str) -> str:
    """Return the name of the inner loop for the last pixels of two rows."""
    return f"{SHARED_CODE}{weight_layout}_interleaved{variant and f'_{variant}'}"


def kind_of(variant: str) -> str:
    """Return a variant without the shift that its functions have as a constant."""
    return variant.partition("_")[0]


def conv_code(parts: Sequence[ConvPart], widths: Widths, weight_layout: str, variant: str, any_outputs: str) -> Code:
    """Return the code of the parts of a layer; `any_outputs` names the function that others outputs take, if any."""
    shared: dict[str, SharedFunction] = {}
    for part in parts:
        strips = part.strips(widths.x // 8)
        kind, is_own = kind_of(variant), kind_of(variant) != variant
        shared |= {name: SharedFunction(name) for name in _library(strips, weight_layout, variant, any_outputs)}
        if strips.out_size[1] % 2:
            name = one_pixel(weight_layout, variant)
            shared[name] = SharedFunction(one_pixel(weight_layout, kind), is_in_layers=is_own)
        if strips.joins_rows:
            name = two_rows(weight_layout, variant)
            shared[name] = SharedFunction(two_rows(weight_layout, kind), is_in_layers=is_own)
        if strips.pixels > 1:
            name = two_pixels(strips, weight_layout, variant)
            in_library = SharedFunction(two_pixels(strips, weight_layout, kind), is_in_layers=is_own)
            shared[name] = _own_loop(strips, weight_layout, kind) if strips.has_own_loop else in_library
    own = {"parts": len(parts) - 1, "repeats": any(part.repeats > 1 for part in parts)}
    return Code({name: float(count) for name, count in own.items()}, shared, len(parts) * DESCRIPTION_BYTES)


def _own_loop(strips: Strips, weight_layout: str, variant: str) -> SharedFunction:
    """Return an inner loop that is generated: `pairs` one after the other, `gaps` between kernel rows; or a loop."""
    kind = f"{SHARED_CODE}{weight_layout}{variant and f'_{variant}'}"
    if not strips.is_short:
        return SharedFunction(f"{kind}_loop", is_in_layers=True)
    rows = strips.kernel_rows
    parts = {"pairs": float(rows * strips.pairs), "gaps": float(rows - 1)}
    return SharedFunction(f"{kind}_short", parts, is_in_layers=True)


def _library(strips: Strips, weight_layout: str, variant: str, any_outputs: str) -> Iterator[str]:
    """Yield the functions of the firmware library, with those that only these call."""
    yield from (f"{SHARED_CODE}layer", "begin", "compute_rest")
    yield f"{SHARED_CODE}fill_{strips.layout.value}"
    yield strips.widen
    if strips.layout in _WIDENED_ROWS:
        yield "widen_rows"
    if strips.layout in _PADDED:
        yield "pad"
    for is_used, count in ((strips.pixels > 1 or strips.joins_rows, "two"), (strips.out_size[1] % 2, "one")):
        if any_outputs and is_used and not variant:
            yield f"{SHARED_CODE}{sums_layout(weight_layout)}_{any_outputs}_of_{count}"
