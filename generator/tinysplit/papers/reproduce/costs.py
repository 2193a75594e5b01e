"""The published networks with the cost model of Santamaria 2021: how it counts layers, flash, RAM and time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Conv, DepthwiseConv, Layer
from tinysplit.network.layers.base import FLOAT_BITS
from tinysplit.papers.published_costs import COST_MODEL, counted_as_one
from tinysplit.papers.reproduce import networks
from tinysplit.split.problem import LayerCosts, Problem, last_two

FLOAT_BYTES = FLOAT_BITS // 8


@dataclass(frozen=True)
class PublishedNetwork:
    """How a network's layers are counted.

    `normalization_bytes`: additional flash per output channel of a convolution, if the published figure includes
    batch normalization that is not folded.
    """

    make: Callable[[], Graph]
    normalization_bytes: int = 0


NETWORKS: Mapping[str, PublishedNetwork] = {
    "MobileNet v1 025": PublishedNetwork(partial(networks.mobilenet_v1, 0.25)),
    "MobileNet v1 030": PublishedNetwork(partial(networks.mobilenet_v1, 0.30)),
    "MobileNet v1 035": PublishedNetwork(partial(networks.mobilenet_v1, 0.35)),
    "YAMNet 256": PublishedNetwork(networks.yamnet_256),
    "KWS CNN": PublishedNetwork(networks.kws_cnn),
    "KWS DS-CNN": PublishedNetwork(
        networks.kws_ds_cnn, normalization_bytes=3 * FLOAT_BYTES
    ),  # 4 numbers instead of the bias
    "Tiny-CNN": PublishedNetwork(networks.tiny_cnn),
}


def counted_layers(graph: Graph) -> tuple[tuple[Layer, ...], ...]:
    """Return the layers as the document counts them: a max pool belongs to the convolution before it."""
    return tuple(tuple(graph.layers[number] for number in group) for group in counted_as_one(graph))


def published_flash_bytes(network: PublishedNetwork, layers: Sequence[Layer]) -> int:
    """Return the bytes of `layers` in float32."""
    channels = sum(layer.out_shape.channels for layer in layers if isinstance(layer, Conv | DepthwiseConv))
    return sum(layer.weights_bytes(FLOAT_BITS) for layer in layers) + channels * network.normalization_bytes


def published_ram_bytes(layers: Sequence[Layer]) -> int:
    """Return the RAM that X-CUBE-AI 7.1 needs for one counted layer, whose output overwrites its input row by row.

    A convolution needs the input plus one row and one pixel of the output; a depthwise convolution another row of the
    input. All other layers, and 1x1 depthwise convolutions, run in place. The rule was derived from the published
    figures.
    """
    first, out = layers[0], layers[-1].out_shape
    kept = 0
    if isinstance(first, Conv):
        kept = (out.width + 1) * out.channels
    elif isinstance(first, DepthwiseConv) and first.window.elements > 1:
        kept = (first.in_shape.width + 1 + out.width) * out.channels
    return max(first.in_shape.size + kept, out.size) * FLOAT_BYTES


def published_problem(model: str, boards: Sequence[str]) -> Problem:
    """Return the problem of Table 4: costs of Table 3, every board used, the last two layers on one board."""
    network = NETWORKS[model]
    graph = network.make()
    own, settings = [load_board(name) for name in boards], CostSettings(cost_model=COST_MODEL)
    problem = make_problem(shipped_table(), graph, own, settings)
    costs_of = dict(zip(graph.layers, zip(problem.layers, problem.transfer_seconds, strict=True), strict=True))
    layers: list[LayerCosts] = []
    transfers = []
    for counted in counted_layers(graph):
        costs, transfer = costs_of[counted[-1]]
        seconds = zip(*(costs_of[layer][0].seconds for layer in counted), strict=True)
        layers.append(
            LayerCosts.alike(
                name=costs.name,
                flash_bytes=published_flash_bytes(network, counted),
                ram_bytes=max(counted[0].in_shape.size, counted[-1].out_shape.size) * FLOAT_BYTES,
                out_bytes=costs.out_bytes,
                seconds=tuple(map(sum, seconds)),  # no inputs: a chain, also where several layers are counted as one
            )
        )
        transfers.append(transfer)
    return replace(problem, layers=tuple(layers), transfer_seconds=tuple(transfers), joined=last_two(len(layers)))
