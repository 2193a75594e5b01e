"""The message delays, the dense layer and the private memory of Dariol 2023, computed for comparison."""

from collections.abc import Iterator

from tinysplit.kernels.messages import MessageCycles
from tinysplit.papers.reproduce.dariol_platform import (
    DENSE,
    DENSE_ESTIMATED,
    INTERRUPT,
    POLLING,
    Procedure,
    conv_weights_bytes,
    dense_cycles,
    dense_weights_bytes,
    tile_bytes,
)
from tinysplit.papers.reproduce.division_figures import NO_NUMBER
from tinysplit.papers.reproduce.reproduction import Row

DARIOL = "Dariol 2023"  # docs/reference/references.md
DELAYS, DENSE_LAYER, MEMORY = "Message delays, cycles", "Dense layer, cycles", "Private memory of a tile, bytes"
PUBLISHED_LOOPS = {"polling": ("22", "18", "15"), "interrupt": ("22", "18", "0")}
TOKENS = (1, 10, 128)
OUTPUTS, INPUTS = 10, 128
PRINTED_CONV = "the printed formula adds the input channels to a filter's area: right is their product and a bias"


def dariol_rows() -> tuple[Row, ...]:
    """Return all rows."""
    return (*_delays("polling", POLLING), *_delays("interrupt", INTERRUPT), *_dense(), *_memory())


def _row(table: str, row: str, quantity: str, published: str, ours: float, why: str = NO_NUMBER) -> Row:
    text = f"{ours:.0f}"
    return Row(DARIOL, table, row, quantity, published, text, (), "" if text == published else why)


def _delays(name: str, procedure: Procedure) -> Iterator[Row]:
    messages = {"read": procedure.reading, "write": procedure.writing}
    loops = (*(each.token + each.loop for each in messages.values()), procedure.waiting)
    for what, published, ours in zip((*messages, "poll"), PUBLISHED_LOOPS[name], loops, strict=True):
        yield _row(DELAYS, name, f"{what} loop", published, ours, why="")
    for what, message in messages.items():
        yield Row(DARIOL, DELAYS, name, f"{what} of n tokens", "", _formula(message), (), NO_NUMBER)
        for n_tokens in TOKENS:
            yield _row(DELAYS, name, f"{what} of {n_tokens}", "", message.of(n_tokens))


def _formula(message: MessageCycles) -> str:
    return f"{message.setup - message.loop:g} + {message.token + message.loop:g} n"


def _dense() -> Iterator[Row]:
    for name, costs in (("calibrated", DENSE), ("estimated", DENSE_ESTIMATED)):
        yield _row(DENSE_LAYER, name, f"{OUTPUTS} outputs of {INPUTS}", "", dense_cycles(costs, OUTPUTS, INPUTS))


def _memory() -> Iterator[Row]:
    weights_bytes = dense_weights_bytes(OUTPUTS, INPUTS)
    sections = tile_bytes([weights_bytes], INPUTS, [INPUTS], n_channels=2)
    for section, n_bytes in {**sections, "all": sum(sections.values())}.items():
        yield _row(MEMORY, f"a layer of {OUTPUTS} outputs of {INPUTS}", section, "", n_bytes)
    for is_as_printed, why in ((True, PRINTED_CONV), (False, NO_NUMBER)):
        n_bytes = conv_weights_bytes(16, 3, 3, 8, is_as_printed=is_as_printed)
        quantity = "as printed" if is_as_printed else "right"
        yield _row(MEMORY, "weights of 16 filters 3x3 of 8 channels", quantity, "", n_bytes, why=why)
