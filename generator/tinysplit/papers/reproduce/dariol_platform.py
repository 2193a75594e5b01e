"""The platform of Dariol 2023 by the models of costs here, with its own constants: tiles that share a memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinysplit.kernels.cost_table import ONCE, PartCycles
from tinysplit.kernels.messages import MessageCycles

WORD_BYTES = 4  # of a weight or a token


@dataclass(frozen=True)
class Procedure:
    """Delays of a communication procedure in cycles (appendix, communication time model), by their symbols there.

    `read` and `write` are those of a token, `read_loop` and `write_loop` what lies between two tokens, `poll` and
    `poll_loop` the same of a look at a channel without tokens.
    """

    read: int
    poll: int
    status: int
    read_loop: int
    write_loop: int
    poll_loop: int
    before_read: int
    behind_read: int
    before_write: int
    behind_write: int
    init_read: int
    init_write: int

    @property
    def reading(self) -> MessageCycles:
        """Cycles of reading n tokens that are there."""
        setup = self.init_read + self.poll + self.before_read + self.behind_read + self.status
        return MessageCycles(setup, self.read, self.read_loop)

    @property
    def writing(self) -> MessageCycles:
        """Cycles of writing n tokens for which there is room; a token takes as long as a status."""
        setup = self.init_write + self.poll + self.before_write + self.behind_write + self.status
        return MessageCycles(setup, self.status, self.write_loop)

    @property
    def waiting(self) -> int:
        """Cycles of each further look while a processor polls; 0 where its clock is gated."""
        return self.poll + self.poll_loop


POLLING = Procedure(8, 8, 5, 14, 13, 7, 15, 11, 15, 9, 15, 16)
INTERRUPT = Procedure(8, 0, 5, 14, 13, 0, 15, 11, 15, 9, 348, 349)

DENSE = PartCycles(cycles={"macc": 47.0, "output": 146.0, ONCE: 39.0})  # D_sum, D_phi, D_setup, calibrated
DENSE_ESTIMATED = PartCycles(cycles={"macc": 30.0, "output": 61.0, ONCE: 6.0})


def dense_cycles(costs: PartCycles, outputs: int, inputs: int) -> float:
    """Return D_dense of a layer with so many outputs, each of all inputs."""
    return costs.of({"macc": outputs * inputs, "output": outputs})


def dense_weights_bytes(neurons: int, inputs: int) -> int:
    """Return W_a of an actor of a dense layer, with a bias for each neuron."""
    return WORD_BYTES * neurons * (inputs + 1)


def conv_weights_bytes(filters: int, height: int, width: int, inputs: int, *, is_as_printed: bool = True) -> int:
    """Return W_a of an actor of a convolution layer; the printed formula holds for one input channel only."""
    weights = height * width + inputs if is_as_printed else height * width * inputs + 1
    return WORD_BYTES * filters * weights


def tile_bytes(
    weights_bytes: Sequence[int], input_values: int, buffers: Sequence[int], n_channels: int
) -> Mapping[str, int]:
    """Return the private memory of a tile by section (appendix, private memory model).

    `weights_bytes` are those of its actors, `input_values` is B_0 and `buffers` are all B_l, in values. In `.data` B_0
    counts as bytes, as printed.
    """
    return {
        ".vectors": 128,
        ".text": 8192 + 512 * len(weights_bytes),
        ".data": input_values + sum(weights_bytes),
        ".bss": 256,
        ".heap": 2048,
        ".stack": WORD_BYTES * (2 * n_channels + sum(buffers)),
    }
