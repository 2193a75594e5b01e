"""Networks that benchmarks measure, and cases of them: the example, those of ../shared/models, and random ones."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from rich.console import Console

from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.removal.cropped_maps import cropped
from tinysplit.network.samples import Samples, load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.quantize.scale_search import USUAL_CORE, TimeLimit

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLE = ROOT / "examples" / "tiny_cnn"
MODELS = ROOT.parent / "shared" / "models"
CALIBRATION_COUNT = 100
RANDOM_CALIBRATION_COUNT = 8
QUIET = Console(quiet=True)


class Network(NamedTuple):
    """A model with its samples, or with the range of random ones."""

    model: Path
    samples: Path | None = None
    low: float = 0.0
    high: float = 1.0

    def graph(self) -> Graph:
        """Import the model."""
        return import_model(self.model)


NETWORKS = {
    "Tiny-CNN": Network(EXAMPLE / "tiny_cnn.onnx", EXAMPLE / "samples.npz"),
    "KWS": Network(MODELS / "mlperf_tiny_kws_dscnn.onnx", MODELS / "mlperf_tiny_kws01_samples.npz"),
    "ResNet-8": Network(MODELS / "mlperf_tiny_ic_resnet8.onnx", low=0, high=255),
    "MobileNet v1 0.25": Network(MODELS / "mobilenet_v1_025_128.onnx", low=-1, high=1),
}


@dataclass(frozen=True)
class Case:
    """A network of `NETWORKS` on boards whose links have one baud rate."""

    network: str
    boards: tuple[str, ...]
    baud: int

    @property
    def title(self) -> str:
        """The network and the boards."""
        return f"{self.network} on {', '.join(self.boards)}"

    @property
    def boards_text(self) -> str:
        """The boards, those of one type together."""
        runs = [(name, len(list(run))) for name, run in groupby(self.boards)]
        return " + ".join(f"{count} x {name}" for name, count in runs)

    def graph(self) -> Graph:
        """Import the network, as boards compute it: without rows and columns that nobody reads."""
        return cropped(NETWORKS[self.network].graph())


class NamedCase(Protocol):
    """A case of a benchmark."""

    @property
    def network(self) -> str:
        """The name of its network in `NETWORKS`."""

    @property
    def title(self) -> str:
        """What `--only` searches."""


C = TypeVar("C", bound=NamedCase)


def chosen(cases: Iterable[C], only: str) -> Iterator[C]:
    """Yield the cases that `--only` chooses, and say which are left out as their network is absent."""
    for case in cases:
        if only in case.title:
            if NETWORKS[case.network].model.exists():
                yield case
            else:
                print(f"{case.title} is left out: {NETWORKS[case.network].model} is absent", file=sys.stderr)


def chosen_networks(only: str) -> dict[str, Network]:
    """Return the networks that `--only` chooses and whose files are there."""
    return {name: network for name, network in NETWORKS.items() if only in name and network.model.exists()}


def calibrated(network: Network, graph: Graph, bits: int, core: str = USUAL_CORE) -> tuple[QuantizedGraph, np.ndarray]:
    """Return the network for a core, calibrated on its first samples or on a few random ones, and one input."""
    if network.samples:
        x = load_samples(network.samples, graph).x[:CALIBRATION_COUNT]
    else:
        x = random_samples(network, graph, RANDOM_CALIBRATION_COUNT, seed=0).x
    limit = TimeLimit(shipped_table(), (core,))
    return quantize_model(graph, network.model, Samples(x), bits, QUIET, limit).quantized, x[:1]


def random_samples(network: Network, graph: Graph, count: int, seed: int) -> Samples:
    """Return samples of the network's range."""
    shape = (count, *graph.sample_shape)
    return Samples(np.random.default_rng(seed).uniform(network.low, network.high, shape).astype(np.float32))


def small_network(seed: int) -> Graph:
    """Return a network of a few random layers with windows, and a dense layer or none."""
    rng = np.random.default_rng(seed)
    height, width = (4 * int(rng.integers(2, 6)) for _ in range(2))
    net = NetworkBuilder(f"random {seed}", Shape(height, width, int(rng.integers(1, 5))), rng=rng)
    net.conv(4 * int(rng.integers(1, 5)), (3, 3))
    for _ in range(int(rng.integers(3, 5))):
        match rng.integers(4):
            case 0:
                net.conv(4 * int(rng.integers(1, 7)))
            case 1:
                net.conv(4 * int(rng.integers(1, 5)), (3, 3), int(rng.integers(1, 3)))
            case 2:
                net.depthwise((3, 3))
            case _:
                net.max_pool(2, 2)
    return (net.dense(10) if rng.integers(2) else net).graph()
