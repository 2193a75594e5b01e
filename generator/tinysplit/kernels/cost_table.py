"""The cost table: calibrated cycles of the parts of each kernel and bytes of code; cycles.json is the one shipped."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, NonNegativeInt, ValidationError

from tinysplit.boards.board import Device
from tinysplit.boards.device_identity import DeviceIdentity
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import ToolError
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.common.protocol_limits import frames_of
from tinysplit.kernels.messages import MessageCycles
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.permute import LONG_LOOP, Permute
from tinysplit.network.layers.recurrent import Cell, Recurrent
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.layers.window import Window, layer_window
from tinysplit.network.quantized_graph import QuantizedLayer

Work = Mapping[str, float]  # executions of each part of a kernel, by the part's name

TABLE_NAME = "cycles.json"
VIEW = "view"  # the kind of what is not computed: it costs nothing
STRAIGHT_WORDS = 2  # of an input's pixel: the compiler copies as few without a loop
PEELED_COLUMNS = 7  # of a window: loops over them, of which the compiler makes four iterations one, run once
IDEAL_MEMORY = "ideal"  # of a target: never makes the core wait
ONCE = "layer"  # the part that runs once per call: its overhead


class PartCycles(FileModel):
    """The cycles of the parts of one kernel for layers of one kind, with values of one width."""

    cycles: dict[str, NonNegativeFloat]  # of an execution of each part

    def of(self, work: Work, times: int = 1) -> float:
        """Return the cycles of `times` executions of `work`; parts without a measurement cost nothing."""
        once = sum(self.cycles.get(part, 0.0) * count for part, count in work.items())
        return self.cycles.get(ONCE, 0.0) + times * once


class FitErrors(FileModel):
    """Errors of the fit of some layers, relative to the cycles of each layer and without sign."""

    layers: int
    mean: float
    worst: float


class FitQuality(FileModel):
    """Errors on all layers, errors on shapes held out from a fit, and the 95 % intervals of parts."""

    fitted: FitErrors
    held_out: FitErrors | None = None  # where too few shapes were measured
    intervals: dict[str, tuple[float, float]]


class KernelCosts(PartCycles):
    """The costs of one kernel on one core."""

    code_bytes: NonNegativeInt
    quality: FitQuality | None = None


PartBytes = dict[str, NonNegativeFloat]  # of each part, by name; `ONCE`: beside all parts


def bytes_of(costs: PartBytes, parts: Work) -> float:
    """Return the expected bytes of code or tables with `parts`."""
    return costs.get(ONCE, 0.0) + sum(costs.get(part, 0.0) * count for part, count in parts.items())


class CodeCosts(FileModel):
    """Expected bytes of the parts of kernels' code, by core, bits and kind, and of functions that layers share.

    Functions have a core and a kind (`kernels/code_parts.py`).
    """

    kernels: dict[str, dict[str, dict[str, PartBytes]]]
    functions: dict[str, dict[str, PartBytes]]

    def own_bytes(self, core: str, bits: int, kind: str, parts: Work) -> float:
        """Return the bytes of a layer's own code; of a kernel that was not measured those of the plain loops."""
        costs = self.kernels.get(core, {}).get(str(bits), {})
        return bytes_of(costs.get(kind) or costs.get(kind.split("/", maxsplit=1)[0], {}), parts)

    def shared_bytes(self, core: str, kind: str, parts: Work) -> float:
        """Return the bytes of a function that layers share."""
        return bytes_of(self.functions.get(core, {}).get(kind, {}), parts)


class FirmwareBytes(FileModel):
    """Memory of the firmware without layers: upper bounds for the search, and what is expected of each part.

    `ram_bytes` includes the stack. Links add `link_flash_bytes`, however many there are; their RAM:
    `memory/link_memory.py`. Parts: `plan/predicted_memory.py`.
    """

    flash_bytes: NonNegativeInt
    ram_bytes: NonNegativeInt
    link_flash_bytes: NonNegativeInt
    flash_parts: PartBytes
    ram_parts: PartBytes


class HandoffCosts(FileModel):
    """Cycles of a core for hand-offs.

    Of each frame of a tensor on a link at either end, with its share of replies; of the network's input from the host
    and its output to the host, beside their bytes; of each byte of a tensor: copied between buffer and arena, sent and
    received, by link driver, of the network's input (`feeding`) and of its output (`reading`). Part of `input` and
    `feeding` passes between START and the first layer: `starting`, and for each byte `checking`; the interrupts that
    tell the host that the input was taken are in the time of the first layer (`taking`). Of a core that sleeps
    while it waits: of each millisecond (`tick`), what a byte's interrupt takes beyond that of a computing core
    (`wake`), and from when it knows that it has a tensor until its next step, with the replies that interrupt that
    (`resuming`).
    """

    frame: NonNegativeFloat
    input: NonNegativeFloat
    output: NonNegativeFloat
    copying: NonNegativeFloat
    sending: dict[str, NonNegativeFloat]
    receiving: dict[str, NonNegativeFloat]
    feeding: NonNegativeFloat
    reading: NonNegativeFloat
    starting: NonNegativeFloat
    checking: NonNegativeFloat
    taking: NonNegativeFloat
    resuming: NonNegativeFloat
    tick: NonNegativeFloat
    wake: NonNegativeFloat

    def sent(self, n_bytes: int, driver: str) -> float:
        """Return the cycles of sending a tensor; a driver without costs works only while its board waits."""
        return self._message(n_bytes, self.sending.get(driver, 0.0))

    def received(self, n_bytes: int, driver: str) -> float:
        """Return the cycles of receiving a tensor."""
        return self._message(n_bytes, self.receiving.get(driver, 0.0))

    def _message(self, n_bytes: int, cycles_per_byte: float) -> float:
        return MessageCycles(frames_of(n_bytes) * self.frame, cycles_per_byte).of(n_bytes)

    def fed(self, n_bytes: int) -> float:
        """Return the cycles of taking the network's input from the host before it is there, or beside layers."""
        return max(0.0, self.input + self.feeding * n_bytes - self.started(n_bytes))

    def started(self, n_bytes: int) -> float:
        """Return the cycles from START to the first layer beside the copy of the input: of START, and of the CRC."""
        return self.starting + self.checking * n_bytes

    def read(self, n_bytes: int) -> float:
        """Return the cycles of giving the network's output to the host."""
        return self.output + self.reading * n_bytes


class LinkCycles(FileModel):
    """Cycles of a core between the bits of a tensor on a link and those of its acknowledgement.

    At the sender; at the receiver, and what is more there of a tensor that it takes as a whole, as it sleeps until the
    end (`sleeping`); from the end of one chunk that the sender's DMA moves until the next one begins (`restarting`).
    """

    sending: NonNegativeFloat
    receiving: NonNegativeFloat
    sleeping: NonNegativeFloat = 0.0
    restarting: NonNegativeFloat = 0.0


class MeasuredCurrents(FileModel):
    """Mean currents of a board in mA, of all that was measured: see `calibration/power_trace.py`."""

    run_ma: NonNegativeFloat
    sleep_ma: NonNegativeFloat
    samples: NonNegativeInt
    source: str  # name of the file


class CostTarget(FileModel):
    """What the costs of a core were measured on: a board, its core clock, its memory, and its part where it is known.

    Costs with `IDEAL_MEMORY` hold at every clock, as waits are computed.
    """

    board: str
    core_hz: NonNegativeInt
    memory: str
    device: DeviceIdentity | None = None


class CycleTable(FileModel):
    """The file: cores are GCC's -mcpu names, widths "8" and "16", kinds the values of `Kernel.cost_kind`."""

    schema_version: Literal[4]
    tinysplit_version: str | None = None  # that wrote it; None of the shipped one
    made_by: str  # command
    compiler: str
    flags: str
    firmware_sha256: str | None = None  # of the C sources and templates that were measured; as tinysplit_version
    targets: dict[str, CostTarget]  # by core
    cores: dict[str, dict[str, dict[str, KernelCosts]]]
    code: CodeCosts
    firmware: dict[str, FirmwareBytes]  # by family
    link: dict[str, dict[str, LinkCycles]]  # by family, or series, and link driver
    handoff: dict[str, HandoffCosts]  # by family
    code_waits: dict[str, dict[str, dict[str, PartCycles]]]  # for code in flash, of a wait state; by family, bits, kind
    currents: dict[str, MeasuredCurrents] = Field(default_factory=dict)  # by board, in place of those of its file

    def measured(self, core: str, bits: int, kind: str) -> KernelCosts | None:
        """Return the costs of a kind of layer, None if it was not measured."""
        return self.cores.get(core, {}).get(str(bits), {}).get(kind)

    def kernel(self, core: str, bits: int, kind: str) -> KernelCosts:
        """Return the costs of a kind of layer; a kernel that was not measured has those of the plain loops.

        Raises ToolError if these were never measured, either.
        """
        if kind == VIEW:
            return KernelCosts(cycles={}, code_bytes=0)
        costs = self.measured(core, bits, kind) or self.measured(core, bits, kind.split("/", maxsplit=1)[0])
        if costs is None:
            raise ToolError(f"{TABLE_NAME} has no {kind} with {bits} bits on {core}: run {self.made_by}")
        return costs

    def link_of(self, device: Device, driver: LinkDriver) -> LinkCycles:
        """Return the costs of links of a device: those of its series where there are such, else of its family."""
        return self.link.get(device.series, {}).get(driver) or self.link[device.family][driver]

    def without(self, kernels: Collection[str]) -> Self:
        """Return the table as if kernels of these names had not been measured: then none is chosen."""
        cores = {
            core: {
                bits: {kind: costs for kind, costs in kinds.items() if kind.rpartition("/")[2] not in kernels}
                for bits, kinds in widths.items()
            }
            for core, widths in self.cores.items()
        }
        return self.model_copy(update={"cores": cores})


def shipped_path() -> Path:
    """Return the file of the table of this installation."""
    return Path(__file__).with_name(TABLE_NAME)


@cache
def shipped_table() -> CycleTable:
    """Return the table of this installation. Raises ToolError if its file is damaged."""
    text = shipped_path().read_text(encoding="utf-8")
    try:
        return CycleTable.model_validate(json.loads(text))
    except ValueError as error:
        reason = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        raise ToolError(f"{TABLE_NAME} of this installation is damaged ({reason}): install tinysplit again") from None


def plain_work(layer: Layer) -> Work:
    """Return the work of the plain loops, which skip padding.

    Parts: `macc`: products, comparisons or elements, `border_macc` of windows that extend beyond the input, `mixed` of
    the others where there are such, which share registers with their loops, `far_macc` of factors that lie apart;
    `row`: kernel rows of each output; `border`: outputs of such windows; `pixel`; `signed`: outputs of inputs that may
    be negative; `group` of values that are normalized together; `masked` elements of a softmax; `column`s of windows
    whose inputs do not lie together, for two outputs each, `looped_column`s of several inputs.
    """
    if isinstance(layer, Permute):
        return _copy_work(layer)
    if isinstance(layer, Recurrent):
        return recurrent_work(layer, 1)
    height, width, channels = layer.out_shape
    window = layer_window(layer)
    size = layer.out_shape.size
    share = layer.computed_share if isinstance(layer, Softmax) else 1.0
    work = {
        "macc": layer.operator_macc * share,
        "pixel": height * width,
        "signed": size * (layer.x_clamp.low < 0),
    } | rounded_work(layer, "output", size)
    if share < 1:
        work["masked"] = size * (1 - share)
    if isinstance(layer, MatMul) and not layer.transposed:
        return work | {"macc": 0.0, "far_macc": float(layer.operator_macc)}
    if isinstance(layer, Normalization):
        return work | {"group": size // layer.elements}
    if window is None:
        return work
    rows, columns = window.covered(layer.in_shape)
    whole = int((rows == window.kernel[0]).sum() * (columns == window.kernel[1]).sum())
    pixel_macc = layer.operator_macc / (height * width)
    return work | {
        "macc": pixel_macc * whole,
        "border_macc": pixel_macc * (float(rows.sum() * columns.sum()) / window.elements - whole),
        "mixed": pixel_macc * whole * (whole < height * width),
        "row": channels * float(rows.sum() * columns.size),
        "border": channels * (height * width - whole),
        **_column_work(layer, window, float(rows.sum() * columns.sum())),
    }


def _column_work(layer: Layer, window: Window, positions: float) -> Work:
    """Return the columns of all windows, which have `positions` inside the input, in loops of their own."""
    if not isinstance(layer, Conv) or (layer.groups == 1 and window.dilation[1] == 1):
        return {}
    part = "looped_column" if layer.in_shape.channels > layer.groups else "column"
    return {part: layer.groups * -(-layer.out_shape.channels // layer.groups // 2) * positions}


def rounded_work(layer: Layer, part: str, count: float) -> dict[str, float]:
    """Return a part, and if sums are rounded as in TensorFlow Lite once more with the name of the rounding."""
    return {part: count} | ({f"{layer.rounding}_{part}": count} if layer.rounding else {})


def recurrent_work(layer: Recurrent, together: int) -> Work:
    """Return the work of a recurrent layer whose loops take values `together`.

    Parts: `loop`: iterations, in each of which every gate of a unit has a product (`gate`); `unit`s, by their cell;
    `input` values and `output`s.
    """
    steps, units, inputs = layer.steps, layer.units, layer.in_shape.channels
    cell = f"{layer.cell}{'_at_once' if layer.resets_product else ''}{'_relu' if layer.is_relu else ''}"
    values = -(-inputs // together) + -(-units // together)
    passes = 2 if layer.cell is Cell.GRU and not layer.resets_product else 1
    return {
        "loop": float(steps * units * values * passes),
        "gate": float(steps * units * values * layer.cell.gates),
        f"{cell}_unit": float(steps * units),
        "input": float(steps * inputs),
        "output": float(layer.out_shape.size),
        "step": float(steps),
    }


def _copy_work(layer: Permute) -> Work:
    """Return the work of loops that copy value by value.

    Parts: values of long innermost loops over neighbours, which are a `block` to the compiler if input and output never
    overlap, else a `line`; `near`: of short ones; `far`: of other strides, `offset`: of tables; `run`: starts of long
    innermost loops, `peeled`: of short ones, which the compiler has no loops for.
    """
    *_, (turns, stride, offsets) = layer.loops or ((1, 1, ()),)
    size, is_long = layer.out_shape.size, turns > LONG_LOOP
    neighbours = ("line" if layer.copies_lines else "block") if is_long else "near"
    kind = "offset" if offsets else neighbours if stride == 1 else "far"
    return {kind: size, "run" if is_long else "peeled": size / turns}


def concat_work(layer: Concat, lanes: int, shifts: Sequence[int | None] = ()) -> Work:
    """Return the work of a concatenation that copies words of `lanes` values.

    Parts: `pixel`; `run`s of loops over an input's words in a pixel, and the `output` values that they copy; `straight`
    values of inputs of so few words that the compiler needs no loop; `element`s of inputs whose shift is None, which
    are copied one by one, in loops (`element_run`).
    """
    pixels = layer.out_shape.height * layer.out_shape.width
    work = dict.fromkeys(("run", "output", "straight", "element", "element_run"), 0.0)
    for shape, shift in zip(layer.in_shapes, shifts or (0,) * len(layer.in_shapes), strict=True):
        channels, is_looped = shape.channels, shape.channels > STRAIGHT_WORDS * (1 if shift is None else lanes)
        if shift is None:
            work["element"] += pixels * channels
            work["element_run"] += pixels * is_looped
        elif is_looped:
            work["output"] += pixels * channels
            work["run"] += pixels
        else:
            work["straight"] += pixels * channels
    return {"pixel": float(pixels)} | work


def expected_concat_work(layer: Concat, lanes: int) -> Work:
    """Return the work of a concatenation before values have formats: all inputs but the first are taken as halved."""
    halved = sum(shape.size for shape in layer.in_shapes[1:])
    return {**concat_work(layer, lanes), "scaled" if lanes == 1 else "halved": float(halved)}


def exact_concat_parts(quantized: QuantizedLayer, layer: Concat, shifts: Sequence[int | None] = ()) -> Work:
    """Return the parts of a concatenation that depend on formats.

    Of values that are copied one by one, all without `shifts`: those of `exact_sum_parts`. Of words, `halved` ones, a
    value for each bit.
    """
    alignments = layer.alignments(quantized.formats)
    inputs = list(zip(layer.in_shapes, alignments, shifts or (None,) * len(alignments), strict=True))
    apart = (_aligned_parts(quantized, shape.size, each) for shape, each, shift in inputs if shift is None)
    return {**sum_of(*apart), "halved": sum(shape.size * abs(shift) for shape, _, shift in inputs if shift is not None)}


def pool_work(layer: Layer, window: Window, straight: int) -> Work:
    """Return the work of a pool, whose inner loops run over the window of a channel.

    The compiler unrolls loops over up to `straight` columns, and over the rows of windows that small: in windows inside
    the input, such parts are `straight`. In larger windows, `looped` outputs, rows of so few columns are `peeled`, and
    those of up to `PEELED_COLUMNS` are `unrolled`. Parts: `division` by a number of elements that is no power of two, a
    `product` for averages of others, until formats decide; `signed`: elements that may be negative.
    """
    rows, columns = window.covered(layer.in_shape)
    whole, size = int((rows == window.kernel[0]).sum() * (columns == window.kernel[1]).sum()), layer.out_shape.size
    channels, every = layer.out_shape.channels, rows.size * columns.size
    has_rows = window.elements > 2 * straight
    name = "peeled_" if window.kernel[1] <= straight else "unrolled_" if window.kernel[1] <= PEELED_COLUMNS else ""
    name = name if has_rows or not name else "straight_"
    work = {
        "output": size,
        "pixel": every,
        "border": channels * (every - whole),
        "border_macc": channels * (float(rows.sum() * columns.sum()) - whole * window.elements),
        f"{name}macc": channels * whole * window.elements,
        "division": size * (window.elements.bit_count() > 1),
        "product": size * (window.elements.bit_count() <= 1 and isinstance(layer, AveragePool)),
        "signed": channels * whole * window.elements * (layer.x_clamp.low < 0),
    }
    if has_rows:
        work |= {f"{name}row": channels * whole * window.kernel[0], "looped": channels * whole}
    return work


def exact_average_work(quantized: QuantizedLayer, layer: AveragePool, work: Work) -> Work:
    """Return the part of an average pool that depends on formats.

    An exact `product` for whole windows, where there is one, `unclamped` where the compiler sees that no sum exceeds
    the limits; else a `division`, or a `long` one of 64 bits.
    """
    size, is_single = layer.out_shape.size, layer.window.elements.bit_count() <= 1
    if layer.needs_64_bits(quantized.formats):
        return {"product": 0, "long": size}
    product = layer.whole_window(quantized.formats)
    if product is None:
        return {"product": 0} if is_single else {"product": 0, "division": size}
    x, (low, high) = quantized.formats.x, quantized.clamp
    least, most = (product.quotient(layer.window.elements * bound) for bound in (x.low, x.high))
    is_unclamped = "straight_macc" in work and low <= least and most <= high
    return {"product": size * (not is_unclamped), "unclamped": size * is_unclamped}


def exact_sum_parts(quantized: QuantizedLayer, layer: Add) -> Work:
    """Return the parts of plain sums that depend on formats.

    Parts: `scaled` inputs, whose factor is not 1, `multiplied` ones, whose factor is no power of two; `shifted` and
    `offset` sums; `lower` and `upper`: sums with a clamp that their format does not have.
    """
    return _aligned_parts(quantized, layer.out_shape.size, layer.alignment(quantized.formats))


def _aligned_parts(quantized: QuantizedLayer, size: int, alignment: tuple[Sequence[int], int, int]) -> Work:
    """Return the parts of `exact_sum_parts` of values whose inputs are aligned so: factors, offset, shift."""
    factors, offset, shift = alignment
    y, (low, high) = quantized.formats.y, quantized.clamp
    return {
        "scaled": size * sum(abs(each) != 1 for each in factors),
        "multiplied": size * sum(abs(each).bit_count() > 1 for each in factors),
        "shifted": size * (shift > 0),
        "offset": size * (offset != 0),
        "lower": size * (low > y.low),
        "upper": size * (high < y.high),
    }


def sum_of(*works: Work) -> dict[str, float]:
    """Return the counts of every part, added up over `works`."""
    total: dict[str, float] = {}
    for work in works:
        for part, count in work.items():
            total[part] = total.get(part, 0.0) + count
    return total
