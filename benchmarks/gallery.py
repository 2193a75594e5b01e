"""Networks of a folder: whether they are imported, and their accuracy beside ONNX Runtime's quantizers; on boards."""

import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import ClassVar

import numpy as np
import onnx

from common.benchmark import BITS, JSON, ONLY, benchmark, option
from common.equalization import equalized
from common.networks import MODELS, QUIET
from common.peers import peer_accuracies
from common.runs import ran
from common.tables import Cell, MarkdownTable, print_json
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.settings import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.samples import Samples, load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.choose_formats import choose_formats, quantize, widest
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.scale_search import TimeLimit
from tinysplit.quantize.statistics import Range, Statistics, decibels

FOLDER = option("--folder", type=Path, default=MODELS / "gallery", help="folder of .onnx files with .npz beside them")
BOARD = option("--board", default="nucleo_f446re", help="type of the boards")
PARTS = 4  # of the samples: each is evaluated by a calibration on the others
SEED = 0
OUTSIDE = 1e-4  # of the numbers of a value, with percentiles as its range


@benchmark("build", "1 minute", option("folder", type=Path, help="folder for the .onnx and .npz files"))
def build(options: Namespace) -> None:
    """Build networks with PyTorch and export each with both of its exporters, for the other benchmarks' `--folder`.

    Needs the extra `gallery`. The networks are untrained and their samples are random: they show which forms of
    exporters can be imported, and what they cost, but no accuracy that training would have.
    """
    try:
        from common.torch_networks import exported  # noqa: PLC0415 (an optional extra)
    except ImportError:
        sys.exit("not built: pip install 'tinysplit[gallery]'")
    options.folder.mkdir(parents=True, exist_ok=True)
    for path, samples, reason in exported(options.folder):
        if reason:
            print(f"{path.stem}: not exported by PyTorch ({reason})")
        else:
            np.savez_compressed(path.with_suffix(".npz"), allow_pickle=False, **samples)
            print(path.name)


@dataclass(frozen=True)
class Imported:
    """A network of the folder; `reason` is the importer's where it is refused."""

    model: Path
    graph: Graph | None = None
    reason: str = ""

    @classmethod
    def of(cls, model: Path) -> "Imported":
        """Import a network."""
        try:
            return cls(model, import_model(model))
        except TinysplitError as error:
            return cls(model, reason=str(error))


@dataclass(frozen=True)
class Found:
    """The accuracy of a quantizer over all parts of the samples: that of the mean noise, and of all samples."""

    sqnr_db: float
    agreement: float | None

    @classmethod
    def of(cls, parts: Iterable[Accuracy]) -> "Found":
        """Return the accuracy of all parts."""
        every = list(parts)
        noise = sum(10 ** (-own.sqnr_db / 10) for own in every) / len(every)
        same = [own.agreement * own.samples for own in every if own.agreement is not None]
        return cls(decibels(1.0, noise), sum(same) / sum(own.samples for own in every) if same else None)


@dataclass(frozen=True)
class Compared:
    """The accuracy of a network: ours in 8 and 16 bits, and that of each of ONNX Runtime's quantizers that takes it."""

    network: str
    layers: int = 0
    macc: int = 0
    ours: Found | None = None
    in_16_bits: Found | None = None
    peers: Mapping[str, Found] = field(default_factory=dict)
    refused: str = ""

    @property
    def best_peer(self) -> Found | None:
        """The quantizer with the highest SQNR."""
        return max(self.peers.values(), key=lambda peer: peer.sqnr_db, default=None)

    @property
    def difference_db(self) -> float | None:
        """SQNR of ours less that of the best of ONNX Runtime's."""
        return self.ours.sqnr_db - self.best_peer.sqnr_db if self.ours and self.best_peer else None


@benchmark("accuracy", "15 minutes", FOLDER, ONLY, JSON)
def accuracy(options: Namespace) -> None:
    """Compare the accuracy of networks in fixed point with that of ONNX Runtime's static quantizers.

    SQNR and agreement of the output (before a softmax) with the float network. Samples are divided at random into four
    parts; each part is evaluated with a calibration on the three others, by all quantizers alike. ONNX Runtime's are
    QDQ with int8 weights by channel and uint8 values: the best of MinMax, Percentile and Entropy. Networks that came
    quantized, with several inputs, or that end in the number of a class are not compared.
    """
    rows = []

    def passing() -> Iterator[Compared]:
        for each in imported(options.folder, options.only):
            rows.append(compared(each))
            yield rows[-1]

    if options.json:
        print_json(list(passing()))
        return
    ours = ("8 bits dB", "same class", "16 bits dB", "same class")
    numbers = ("layers", "MACC", *ours, "ONNX Runtime dB", "same class", "difference dB")
    MarkdownTable("network", numbers=numbers, last=("refused because",)).print(map(_cells, passing()))
    found = [row.difference_db for row in rows if row.difference_db is not None]
    if found:
        print(f"\n{len(found)} compared: worst {min(found):+.1f} dB, median {median(found):+.1f} dB")


def imported(folder: Path, only: str) -> Iterator[Imported]:
    """Yield the networks of a folder, in the order of their names."""
    return (Imported.of(model) for model in sorted(folder.glob("*.onnx")) if only in model.stem)


def compared(network: Imported) -> Compared:
    """Compare the quantizers on a network; a reason of the importer or quantizer takes the place of figures."""
    if network.graph is None:
        return Compared(network.model.stem, refused=network.reason)
    graph, name = network.graph, network.model.stem
    try:
        samples = load_samples(network.model.with_suffix(".npz"), graph)
        ours, in_16_bits = (_together(graph, network.model, samples, bits) for bits in (8, 16))
    except TinysplitError as error:
        return Compared(name, len(graph.layers), graph.macc, refused=str(error))
    peers = _peers(graph, network.model, samples) if is_comparable(graph) else {}
    return Compared(name, len(graph.layers), graph.macc, ours, in_16_bits, peers)


def is_comparable(graph: Graph) -> bool:
    """Return whether a network is in float, with one input, and gives numbers: those of classes have no noise."""
    decides = any(output.numbered_classes for output in graph.outputs)
    return not graph.qdq_formats and len(graph.inputs) == 1 and not decides


def divided(samples: Samples) -> Iterator[tuple[Samples, Samples]]:
    """Yield samples to calibrate on, and others to evaluate, until all were evaluated."""
    order = np.random.default_rng(SEED).permutation(len(samples.x))
    for part in range(PARTS):
        is_measured = np.arange(len(order)) % PARTS == part
        calibration, measured = (Samples(samples.x[order[each]]) for each in (~is_measured, is_measured))
        yield calibration, measured


def _together(graph: Graph, model: Path, samples: Samples, bits: int) -> Found:
    """Return our accuracy over all parts."""
    return Found.of(
        Accuracy.of(
            quantize_model(graph, model, calibration, bits, QUIET).quantized, FloatScores.of(graph, model, measured)
        )
        for calibration, measured in divided(samples)
    )


def _peers(graph: Graph, model: Path, samples: Samples) -> dict[str, Found]:
    """Return the accuracy of each of ONNX Runtime's quantizers over all parts; none where it cannot quantize."""
    found: dict[str, list[Accuracy]] = {}
    with suppress(Exception):  # ONNX Runtime's errors derive from nothing more specific
        for calibration, measured in divided(samples):
            floats = FloatScores.of(graph, model, measured)
            for name, own in peer_accuracies(graph, model, calibration.x, floats):
                found.setdefault(name, []).append(own)
    return {name: Found.of(own) for name, own in found.items() if len(own) == PARTS}


def _cells(row: Compared) -> Sequence[Cell]:
    peer, difference = row.best_peer, row.difference_db
    return (
        row.network,
        row.layers or None,
        row.macc or None,
        *(cell for each in (row.ours, row.in_16_bits) for cell in _figures(each)),
        *_figures(peer),
        None if difference is None else f"{difference:+.1f}",
        row.refused,
    )


def _figures(found: Found | None) -> tuple[Cell, Cell]:
    if found is None:
        return None, None
    return f"{found.sqnr_db:.1f}", None if found.agreement is None else f"{found.agreement:.2f}"


@benchmark("choices", "10 minutes", FOLDER, ONLY, JSON)
def choices(options: Namespace) -> None:
    """Measure what each choice of the 8-bit quantizer brings: SQNR in dB.

    One of the parts of the samples is evaluated with a calibration on the others. The first three columns have other
    ranges of the values, with weights rounded to nearest and powers of two where values are joined: minimum and
    maximum, all but one of 10 000 numbers, the range with the least error. To the last of them are added, one after
    the other: calibrated rounding of weights, bias correction, and free scales and zero points where they pay, with
    their predicted cycles on a Cortex-M4. The last column has all that and cross-layer equalization before it, of as
    many pairs of layers as it found. A second table has what each choice gains over the one before it, or over other
    ranges.
    """
    rows = []

    def passing() -> Iterator[Choices]:
        for each in imported(options.folder, options.only):
            if each.graph and is_comparable(each.graph):
                rows.append(Choices.of(each.model, each.graph))
                yield rows[-1]

    if options.json:
        print_json(list(passing()))
        return
    MarkdownTable("network", numbers=(*Choices.STEPS, "cycles", "pairs", "equalized")).print(
        row.cells for row in passing()
    )
    if rows:
        print()
        MarkdownTable("choice", "in place of", numbers=("networks", "median dB", "worst", "best")).print(_gains(rows))


def _gains(rows: Sequence["Choices"]) -> Iterator[Sequence[Cell]]:
    *other_ranges, least, rounding, bias, free = Choices.STEPS
    later = ((after, before) for before, after in pairwise((least, rounding, bias, free)))
    for name, before in (*((least, name) for name in other_ranges), *later):
        yield name, before, *_spread([row.sqnr_db[name] - row.sqnr_db[before] for row in rows])
    equal = [row.equalized_db - row.sqnr_db[free] for row in rows if row.equalized_db is not None]
    if equal:
        yield "equalization", "none", *_spread(equal)


def _spread(gains_db: Sequence[float]) -> Sequence[Cell]:
    return len(gains_db), *(f"{each:+.1f}" for each in (median(gains_db), min(gains_db), max(gains_db)))


@dataclass(frozen=True)
class Choices:
    """The SQNR of a network with each choice, and the cycles that free scales add.

    `equalized_db` is that of the equalized network, None where it has no `pairs` of layers.
    """

    STEPS: ClassVar = ("min-max", "percentile", "least error", "rounding", "bias", "free scales")

    network: str
    sqnr_db: Mapping[str, float]
    percent: float
    pairs: int
    equalized_db: float | None

    @classmethod
    def of(cls, model: Path, graph: Graph) -> "Choices":
        """Quantize a network in all ways."""
        calibration, measured = next(divided(load_samples(model.with_suffix(".npz"), graph)))
        floats, widths = FloatScores.of(graph, model, measured), BitWidths.of(graph, 8)
        usual, free = (
            Calibration.of(graph, model, calibration, QUIET, limit) for limit in (TimeLimit.usual(0), TimeLimit.usual())
        )
        nearest, best = usual.nearest(widths), usual.best(widths)
        networks = (
            with_ranges(usual, widths, lambda seen: seen.range),
            with_ranges(usual, widths, percentile),
            nearest,
            replace(best, layers=tuple(map(_without_correction, best.layers, nearest.layers))),
            best,
            free.best(widths),
        )
        found = (Accuracy.of(each, floats).sqnr_db for each in networks)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / model.name
            other, pairs = equalized(onnx.load(model), model, calibration.x)
            onnx.save(other, path)
            equal = _best_db(path, import_model(path), calibration, measured) if pairs else None
        return cls(model.stem, dict(zip(cls.STEPS, found, strict=True)), free.scales.percent, pairs, equal)

    @property
    def cells(self) -> Sequence[Cell]:
        """The cells of its line."""
        found = (f"{each:.1f}" for each in self.sqnr_db.values())
        equal = None if self.equalized_db is None else f"{self.equalized_db:.1f}"
        return self.network, *found, f"{self.percent:+.1f} %", self.pairs or None, equal


def with_ranges(calibration: Calibration, widths: BitWidths, held: Callable[[Statistics], Range]) -> QuantizedGraph:
    """Return the network with the formats of the nearest one, but other ranges, and weights rounded to nearest."""
    graph = calibration.graph
    layers = calibration.nearest(widths).layers
    usual = {graph.input_name: layers[0].formats.x, **{own.layer.output: own.formats.y for own in layers}}
    ranges = {name: held(calibration.statistics[name]) for name in graph.value_names}
    chosen = {name: _over(values, *ranges[name]) for name, values in usual.items()}
    formats = choose_formats(graph, ranges, widths, chosen)
    return quantize(graph, formats, widest(formats))


def percentile(seen: Statistics) -> Range:
    """Return the range of all but one of 10 000 numbers, as many on each side."""
    positive = np.maximum(np.cumsum(seen.bins[::-1])[::-1], 0)  # numbers from this bin on
    negative = np.cumsum(seen.bins)
    centers = (seen.first_bin + np.arange(len(seen.bins)) + 0.5) * seen.bin_width
    beyond = OUTSIDE / 2 * seen.count
    low = min(centers[negative > beyond], default=0.0)
    high = max(centers[positive > beyond], default=0.0)
    return max(seen.minimum, float(low)), min(seen.maximum, float(high))


def _over(usual: ValueFormat, low: float, high: float) -> ValueFormat:
    """Return a format of the kind of the `usual` one that holds a range: a power of two, symmetric, or any."""
    low, high = min(low, 0.0), max(high, 0.0)
    if isinstance(usual, QFormat) or low == high:
        return QFormat.for_range(usual.bits, low, high)
    if usual.zero_point == 0:
        return ValueFormat.of(usual.bits, max(low / usual.low, high / usual.high))
    step = (high - low) / (usual.high - usual.low)
    return ValueFormat.of(usual.bits, step, usual.low - round(low / step))


def _without_correction(best: QuantizedLayer, nearest: QuantizedLayer) -> QuantizedLayer:
    """Return a layer with the weights of the `best` one and the bias of the `nearest` one."""
    if best.parameters is None or nearest.parameters is None:
        return best
    return replace(best, parameters=replace(best.parameters, bias=nearest.parameters.bias))


def _best_db(model: Path, graph: Graph, calibration: Samples, measured: Samples) -> float:
    quantized = quantize_model(graph, model, calibration, 8, QUIET).quantized
    return Accuracy.of(quantized, FloatScores.of(graph, model, measured)).sqnr_db


@benchmark("boards", "2 hours", FOLDER, ONLY, BOARD, BITS, JSON)
def boards(options: Namespace) -> None:
    """Run networks on one and on two virtual boards: whether outputs are exact, cycles, flash and RAM.

    The first samples run, on boards of one type; with two, each has a part of the network.
    """
    numbers = ("bits", "boards", "cycles", "flash", "RAM")
    MarkdownTable("network", numbers=numbers, last=("bit-exact",)).print_rows(
        (
            ran(
                each.model,
                each.model.with_suffix(".npz"),
                (options.board,) * count,
                CostSettings(bits=bits, use_all=count > 1),
            )
            for each in imported(options.folder, options.only)
            if each.graph
            for bits in options.bits or (8, 16)
            for count in (1, 2)
        ),
        lambda row: (row.network, row.bits, len(row.boards), row.cycles, row.flash_bytes, row.ram_bytes, row.result),
        as_json=options.json,
    )
