"""What the tool itself costs on the host.

Takes seconds.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from common.benchmark import benchmark
from common.tables import Cell, MarkdownTable
from tinysplit import api
from tinysplit.common.errors import CheckFailedError
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape

G0, F4, H7 = "nucleo_g071rb", "nucleo_f446re", "nucleo_h743zi"
SETS = ((F4,), (F4, F4), (F4, H7), (G0,), (G0, G0))
BAUD = 921_600
STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)  # of MobileNet v1


def ds_cnn(channels: int) -> Graph:
    """Return a network like the keyword spotting of MLPerf Tiny."""
    builder = api.NetworkBuilder("ds-cnn", Shape(49, 10, 1)).conv(channels, (10, 4), (2, 2))
    for _ in range(4):
        builder.depthwise().conv(channels)
    return builder.average_pool().dense(12).softmax().graph()


def mobilenet(channels: int) -> Graph:
    """Return a network like MobileNet v1 on images of 96 x 96."""
    builder = api.NetworkBuilder("mobilenet", Shape(96, 96, 3)).conv(channels, (3, 3), 2)
    for stride in STRIDES:
        channels *= stride
        builder.depthwise(stride=stride).conv(channels)
    return builder.average_pool().dense(2).softmax().graph()


NETWORKS: dict[str, tuple[Callable[[int], Graph], tuple[int, ...]]] = {
    "DS-CNN, 12 layers": (ds_cnn, (24, 32, 40, 56, 64)),
    "MobileNet, 30 layers": (mobilenet, (4, 6, 8, 10, 12)),
}


def milliseconds(graph: Graph, names: tuple[str, ...]) -> float:
    """Return the CPU time of a call, also where the network does not fit."""
    boards = [api.load_board(name) for name in names]
    begin_s = time.process_time()
    with suppress(CheckFailedError):
        api.predict(graph, boards, baud=BAUD)
    return 1000 * (time.process_time() - begin_s)


@benchmark("predict", "5 s")
def predict(_options: Namespace) -> None:
    """Measure the CPU time that `tinysplit.api.predict` takes for networks that it has not seen before, in ms.

    Each row is the median of some networks of one kind with different numbers of channels, whose weights are not
    trained.
    """
    MarkdownTable("network", "boards", numbers=("ms",)).print(_rows())


def _rows() -> Iterator[Sequence[Cell]]:
    for title, (make, widths) in NETWORKS.items():
        for names in SETS:
            found = [milliseconds(make(channels), names) for channels in widths]
            yield title, ", ".join(names), round(statistics.median(found))
