"""What the tool itself costs on the host.

`predict` takes seconds, `commands` some minutes.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from common.benchmark import ONLY, benchmark
from common.networks import NETWORKS as MODELS
from common.tables import Cell, MarkdownTable
from tinysplit import api
from tinysplit.cli.web.explorer import Explorer
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


def milliseconds_of_cut(graph: Graph, names: tuple[str, ...]) -> float:
    """Return the CPU time of what `explore --serve` answers when the cut was moved, after one answer before."""
    explorer = Explorer(graph, Path("model.onnx"), names, Path("split.json"))
    count, spent_s = len(graph.layers), 0.0
    for last in (count // 2, count // 2 + 1):
        assignment = f"1-{last}:1,{last + 1}-{count}:2"
        choice = {"boards": names, "bits": 8, "baud": BAUD, "objective": "latency", "assignment": assignment}
        begin_s = time.process_time()
        with suppress(CheckFailedError):
            explorer.predict(choice)
        spent_s = time.process_time() - begin_s
    return 1000 * spent_s


@benchmark("predict", "5 s")
def predict(_options: Namespace) -> None:
    """Measure the CPU time that `tinysplit.api.predict` takes for networks that it has not seen before, in ms.

    Each row is the median of some networks of one kind with different numbers of channels, whose weights are not
    trained. The last column has what the page of `tinysplit explore --serve` takes when the cut of two boards is moved.
    """
    MarkdownTable("network", "boards", numbers=("ms", "moved cut")).print(_rows())


def _rows() -> Iterator[Sequence[Cell]]:
    for title, (make, widths) in NETWORKS.items():
        for names in SETS:
            graphs = [make(channels) for channels in widths]
            found = round(statistics.median(milliseconds(graph, names) for graph in graphs))
            moved = [milliseconds_of_cut(graph, names) for graph in graphs] if names[1:] else []
            yield title, ", ".join(names), found, round(statistics.median(moved)) if moved else "-"


FOUR = ("nucleo_g071rb", "nucleo_l452re", "nucleo_f446re", "nucleo_h743zi")
FEW, MANY = 200, 800  # layers
STEADY = 2.9  # variance of the weights times their number, with which values neither vanish nor grow
KWS = MODELS["KWS"]
RUN = ("run", str(KWS.model), "-b", "nucleo_l4r5zi", "-s", str(KWS.samples), "-o", "kws", "--rig", "virtual")
COMMANDS = {
    "--version": ("--version",),
    "--help": ("--help",),
    "boards": ("boards",),
    "run of KWS, 20 samples": RUN,
    f"split of {MANY} layers, 4 boards": ("split", f"{MANY}.onnx", *(word for name in FOUR for word in ("-b", name))),
    **{
        f"{stage} of {count} layers": (stage, f"{count}.onnx", *options)
        for count in (FEW, MANY)
        for stage, options in {
            "split": ("-b", H7, "-o", f"{count}.json"),
            "generate": ("--split", f"{count}.json", "-s", "x.npz", "-o", str(count), "--max-time-increase", "0"),
        }.items()
    },
}


@benchmark("commands", "10 minutes", ONLY)
def commands(options: Namespace) -> None:
    """Measure the CPU time of commands as whole processes, compilers and virtual boards included, in s.

    The networks of many layers are 1x1 and depthwise 3x3 convolutions of 8 channels on maps of 8 x 8, in turn; their
    scales are not searched for, which takes time with the square of the layers. Commands of one word find no bytecode;
    the others have run once before. The changed layer is one of Tiny-CNN.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "x.npz", x=np.random.default_rng(0).normal(size=(100, 8, 8, 8)).astype(np.float32))
        for count in (FEW, MANY):
            onnx.save(deep(count), folder / f"{count}.onnx")
        cases = {title: partial(_seconds_again, words, folder) for title, words in COMMANDS.items()}
        cases["build of one changed layer"] = partial(_seconds_of_changed_layer, folder)
        rows = ((title, f"{seconds():.2f}") for title, seconds in cases.items() if options.only in title)
        MarkdownTable("command", numbers=("CPU s",)).print(rows)


def _seconds_again(words: Sequence[str], folder: Path) -> float:
    """Return the CPU time of a command that has run before; of a single word, without bytecode."""
    if len(words) == 1:
        return cpu_seconds(words, folder, "-B", "-X", f"pycache_prefix={folder / 'none'}")
    cpu_seconds(words, folder)
    return cpu_seconds(words, folder)


def _seconds_of_changed_layer(folder: Path) -> float:
    """Return the CPU time of the build of a project of which one layer has changed."""
    own = MODELS["Tiny-CNN"]
    cpu_seconds(("split", str(own.model), "-b", G0, "-o", "tiny.json"), folder)
    cpu_seconds(("generate", str(own.model), "--split", "tiny.json", "-s", str(own.samples), "-o", "tiny"), folder)
    cpu_seconds(("build", "tiny"), folder)
    layer = next(folder.glob("tiny/*/src/layer_01_*.c"))
    layer.write_text(f"{layer.read_text()}\nextern const int changed;\nconst int changed = 1;\n")
    return cpu_seconds(("build", "tiny"), folder)


def cpu_seconds(words: Sequence[str], folder: Path, *python: str) -> float:
    """Return the CPU time of a command with these options of Python, and of the processes that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = (sys.executable, *python, "-m", "tinysplit", *words)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def deep(n_layers: int) -> onnx.ModelProto:
    """Return a chain of convolutions that are neither wide nor large, with random weights."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []
    for number in range(n_layers):
        groups, size = (8, 3) if number % 2 else (1, 1)
        shape = (8, 8 // groups, size, size)
        values = rng.normal(size=shape, scale=np.sqrt(STEADY / np.prod(shape[1:])))
        weights.append(numpy_helper.from_array(values.astype(np.float32), f"w{number}"))
        nodes += [
            helper.make_node("Conv", [f"x{number}", f"w{number}"], [f"y{number}"], group=groups, pads=[size // 2] * 4),
            helper.make_node("Relu", [f"y{number}"], [f"x{number + 1}"]),
        ]
    ends = [helper.make_tensor_value_info(f"x{end}", TensorProto.FLOAT, [1, 8, 8, 8]) for end in (0, n_layers)]
    graph = helper.make_graph(nodes, "deep", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
