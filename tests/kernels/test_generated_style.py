"""Generated C is laid out as an engineer would write it: see also tests/golden."""

import re
from collections.abc import Iterator
from itertools import pairwise
from math import prod

import numpy as np
import pytest

from kernel_cases.kernels_on_host import all_kernels
from kernel_cases.layer_cases import MAKERS, random_quantized
from tinysplit.codegen.layer_source import render_header, render_layer

COLUMNS = 120
HAS_LOOPS = {"arg_max", "recurrent", "softmax"}  # over a single channel, unit or step
COUNTED_LOOP = re.compile(r"for \(int32_t (\w+) = (\w+); \1 < ([^;]+); \1(?:\+\+| \+= (\w+))\)")
INLINE_FUNCTION = re.compile(r"^TINYSPLIT_INLINE .*?(\w+)\(", re.MULTILINE)
PROTOTYPE = re.compile(r"^void (\w+)\([^;]*\);", re.MULTILINE)
ENUMERATOR = re.compile(r"^ +(\w+) = ([^,]+),", re.MULTILINE)


def product(text: str, constants: dict[str, int]) -> int | None:
    """Return the value of a C product of integers and constants, None for any other expression."""
    factors = [int(factor) if factor.isdigit() else constants.get(factor) for factor in text.split(" * ")]
    return prod(factor for factor in factors if factor is not None) if None not in factors else None


def loops_that_run_once(text: str) -> Iterator[str]:
    """Yield the heads of loops with constant bounds that do not repeat."""
    constants: dict[str, int] = {}
    for name, value in ENUMERATOR.findall(text):
        found = product(value, constants)
        if found is not None:
            constants[name] = found
    for loop in COUNTED_LOOP.finditer(text):
        first, end, step = (product(loop[i] or "1", constants) for i in (2, 3, 4))
        if first is not None and end is not None and step is not None and len(range(first, end, step)) == 1:
            yield loop[0]


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_c_has_short_lines_and_blank_lines_and_no_loop_that_runs_once(kind: str) -> None:
    rng = np.random.default_rng(10)
    layers = [random_quantized(rng, kind, bits) for bits in (8, 16) for _ in range(12)]
    for number, source in all_kernels(layers).items():
        text = render_layer(source, number)
        lines = text.splitlines()
        assert [line for line in lines if len(line) > COLUMNS or line != line.rstrip()] == []
        assert kind in HAS_LOOPS or list(loops_that_run_once(text)) == [], text
        assert "\n\n\n" not in text
        assert all(line != "}" or following in {"", "#else", "#endif"} for line, following in pairwise(lines)), text


@pytest.mark.parametrize("kind", sorted(MAKERS))
def test_inline_functions_are_called_and_prototypes_are_those_of_definitions(kind: str) -> None:
    rng = np.random.default_rng(11)
    kernels = all_kernels([random_quantized(rng, kind, bits) for bits in (8, 16) for _ in range(6)])
    prototypes = {found[1]: found[0] for found in PROTOTYPE.finditer(render_header(kernels))}
    for number, source in kernels.items():
        text = render_layer(source, number)
        for name in INLINE_FUNCTION.findall(text):
            assert len(re.findall(rf"\b{name}\(", text)) > 1, f"{name}() is not called:\n{text}"
        assert prototypes[f"layer_{number}"].replace(";", " {") in text
