"""The rule of schemes of Singh 2024, the memory traffic of kernels, and which kernel is chosen, counted by hand."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from example_folders.example import MODEL
from kernel_cases.layer_cases import MAKERS
from tinysplit.boards.catalog import load_board
from tinysplit.cli.options import parse_kernels
from tinysplit.codegen.memory_report import describe_memory
from tinysplit.common.choices import Optimize
from tinysplit.common.errors import UsageError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels import candidates, choose, selection
from tinysplit.kernels.cost_table import ONCE, CycleTable, KernelCosts, shipped_table
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.scheme import Scheme, SchemeRule
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import (
    Add,
    Conv,
    ConvTranspose,
    Dense,
    DepthwiseConv,
    Lookup,
    MaxPool,
    PRelu,
    Softmax,
    Upsample,
)
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.window import Pads, Window
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import BoardPlan, make_plan
from tinysplit.project.manifest import ProjectMemory

BYTES = Widths.all(8)
KERNELS_BY_NAME = {kernel.name: kernel for kernel in selection.KERNELS}
SAME = Pads(1, 1, 1, 1)


def conv(shape: Shape, channels: int, kernel: int, pads: Pads = SAME) -> Conv:
    return Conv(
        name="conv",
        inputs=("x",),
        output="y",
        in_shape=shape,
        weights=np.ones((channels, kernel, kernel, shape.channels), np.float32),
        bias=np.zeros(channels, np.float32),
        window=Window((kernel, kernel), pads=pads),
    )


def depthwise(shape: Shape) -> DepthwiseConv:
    return DepthwiseConv(
        name="depthwise",
        inputs=("x",),
        output="y",
        in_shape=shape,
        weights=np.ones((3, 3, shape.channels), np.float32),
        bias=np.zeros(shape.channels, np.float32),
        window=Window((3, 3), pads=SAME),
    )


def dense(inputs: int, outputs: int) -> Dense:
    return Dense(
        name="dense",
        inputs=("x",),
        output="y",
        in_shape=Shape(1, 1, inputs),
        weights=np.ones((outputs, inputs), np.float32),
        bias=np.zeros(outputs, np.float32),
    )


RGB = conv(Shape(480, 640, 3), 8, 3)  # examples of Singh 2024: three rows of 640 pixels of 3 channels,
DEEP = conv(Shape(15, 20, 512), 8, 3)  # 3 rows x 512 channels x 20 columns,
POINTWISE = conv(Shape(15, 20, 512), 8, 1, Pads())  # and as many pixels with 512 channels as fit


@pytest.mark.parametrize(
    ("layer", "near_bytes", "scheme", "buffer_bytes"),
    [
        (RGB, 5760, Scheme.INTERLEAVED, 3 * 640 * 3),
        (RGB, 5759, None, 3 * 640 * 3),  # its plane is larger still
        (DEEP, 30720, Scheme.INTERLEAVED, 3 * 512 * 20),
        (DEEP, 30719, Scheme.NON_INTERLEAVED, 20 * 15 + 20 * 8 * 4),
        (DEEP, 939, None, 20 * 15 + 20 * 8 * 4),
        (POINTWISE, 1500, Scheme.POINTWISE, 2 * 512),
        (POINTWISE, 1 << 20, Scheme.POINTWISE, 20 * 15 * 512),
        (POINTWISE, 511, None, 512),
        (dense(64, 10), 100, Scheme.POINTWISE, 64),
        (depthwise(Shape(8, 8, 64)), 1535, Scheme.NON_INTERLEAVED, 8 * 8 + 8 * 4),
    ],
)
def test_the_rule_of_seed_004(layer: Layer, near_bytes: int, scheme: Scheme | None, buffer_bytes: int) -> None:
    rule = SchemeRule.of(layer, BYTES, near_bytes)
    assert rule is not None
    assert (rule.scheme, rule.buffer_bytes) == (scheme, buffer_bytes)
    assert str(buffer_bytes) in str(rule)


def loads(layer: Layer, core: str, kernel: str, widths: Widths = BYTES) -> Loads:
    return next(each for each in candidates(layer, core, widths) if each.name == kernel).loads(layer, widths)


def test_what_kernels_read() -> None:
    pointwise = conv(Shape(4, 4, 8), 16, 1, Pads())
    assert loads(pointwise, "cortex-m4", "direct") == Loads(16 * (16 * 8 + 16 * 6), 16 * 16 * 8)
    # Two pixels share weights, four channels share values, which were widened from bytes once.
    assert loads(pointwise, "cortex-m4", "dual_mac") == Loads(8 * 16 * (8 + 8), 16 * 4 * 8 * 2 + 16 * 8)
    packed = next(each for each in candidates(pointwise, "cortex-m0plus", BYTES) if each.name == "packed")
    weights_bytes = packed.weights_bytes(pointwise, BYTES)
    assert packed.loads(pointwise, BYTES) == Loads(16 * weights_bytes, 16 * 4 * 8)
    channels = depthwise(Shape(4, 4, 8))
    assert loads(channels, "cortex-m4", "direct").ram_bytes == 4 * 4 * 8 * 9
    assert loads(channels, "cortex-m4", "planes").ram_bytes == 4 * 4 * 8 * 15 + 4 * 4 * 8
    assert loads(channels, "cortex-m0plus", "sliding").ram_bytes == 4 * (3 * 6 * 8) + 4 * 4 * 8


def test_tables_are_read_an_entry_a_value() -> None:
    shape = Shape(4, 4, 8)
    lookup = Lookup(name="tanh", inputs=("x",), output="y", in_shape=shape, function=np.tanh)
    assert loads(lookup, "cortex-m4", "direct") == Loads(128, 128)
    assert loads(lookup, "cortex-m4", "direct", Widths.all(16)) == Loads(2 * 2 * 128, 2 * 128)  # two neighbours
    softmax = Softmax(name="softmax", inputs=("x",), output="y", in_shape=shape)
    assert loads(softmax, "cortex-m4", "direct") == Loads(2 * 2 * 128, 3 * 128)  # largest, sum, quotients
    prelu = PRelu(name="prelu", inputs=("x",), output="y", in_shape=shape, slopes=np.ones(8, np.float32))
    assert loads(prelu, "cortex-m4", "direct") == Loads(4 * 128, 128)


def test_the_kernel_may_have_another_scheme_than_the_rule() -> None:
    pool = MaxPool(name="pool", inputs=("x",), output="y", in_shape=Shape(4, 4, 8), window=Window((2, 2), (2, 2)))
    assert SchemeRule.of(pool, BYTES, 1000) == SchemeRule(Scheme.INTERLEAVED, 2 * 4 * 8, 1000)
    schemes = {
        each.name: each.scheme(depthwise(Shape(4, 4, 8)))
        for each in candidates(depthwise(Shape(4, 4, 8)), "cortex-m4", BYTES)
    }
    assert schemes == {"planes": Scheme.NON_INTERLEAVED, "direct": Scheme.INTERLEAVED}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_layer_has_a_scheme(kind: str) -> None:
    layer = MAKERS[kind](np.random.default_rng(0))
    others = {
        "elementwise": {"add", "mul", "lookup", "normalization", "prelu"},
        "copy": {"concat", "pad", "permute", "upsample"},
        "1x1-non-interleaved": {"arg_max", "dense", "matmul", "recurrent", "softmax"},
    }
    expected = {name for name, kinds in others.items() if kind in kinds}
    expected = expected or {"interleaved", "non-interleaved", "1x1-non-interleaved"}
    for core in ("cortex-m0plus", "cortex-m4"):
        assert {each.scheme(layer).value for each in candidates(layer, core, BYTES)} <= expected
    assert (SchemeRule.of(layer, BYTES, 1 << 20) is None) == (expected <= {"elementwise", "copy"})


def test_a_transposed_convolution_reads_the_rows_that_its_kernel_spreads() -> None:
    layer = ConvTranspose(
        name="up",
        inputs=("x",),
        output="y",
        in_shape=Shape(4, 5, 8),
        weights=np.ones((2, 3, 3, 8), np.float32),
        bias=np.zeros(2, np.float32),
        stride=(2, 2),
        dilation=(1, 1),
        pads=Pads(),
        growth=(0, 0),
    )
    assert SchemeRule.of(layer, BYTES, 1000) == SchemeRule(Scheme.INTERLEAVED, 2 * 5 * 8, 1000)


def costs(cycles: float, code_bytes: int = 0) -> KernelCosts:
    return KernelCosts(cycles={ONCE: cycles}, code_bytes=code_bytes)


def table_with(kinds: dict[str, KernelCosts]) -> CycleTable:
    return shipped_table().model_copy(update={"cores": {"cortex-m4": {"8": kinds}}})


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [
        ({"conv": costs(2), "conv/dual_mac": costs(1)}, "dual_mac"),
        ({"conv": costs(1), "conv/dual_mac": costs(2)}, "direct"),
        ({"conv": costs(1), "conv/dual_mac": costs(0.9)}, "dual_mac"),  # within the table's error
        ({"conv": costs(1)}, "dual_mac"),  # never measured: the order of the list
        ({}, "dual_mac"),
    ],
)
def test_the_table_decides_where_both_were_measured(kinds: dict[str, KernelCosts], chosen: str) -> None:
    assert choose(table_with(kinds), conv(Shape(8, 8, 8), 8, 3), "cortex-m4", BYTES).name == chosen


def test_little_flash_counts_before_cycles_and_a_tenth_more_is_little() -> None:
    layer = conv(Shape(8, 8, 8), 8, 3)
    for code_bytes, chosen in ((1000, "dual_mac"), (1300, "direct")):
        kinds = {"conv": costs(2, 1000), "conv/dual_mac": costs(1, code_bytes)}
        table = table_with(kinds)
        assert choose(table, layer, "cortex-m4", BYTES, Optimize.FLASH).name == chosen
        assert choose(table, layer, "cortex-m4", BYTES).name == "dual_mac"


def test_kernels_and_schemes_can_be_named() -> None:
    layer = depthwise(Shape(8, 8, 8))
    assert choose(shipped_table(), layer, "cortex-m4", BYTES, name="interleaved").name == "direct"
    assert choose(shipped_table(), layer, "cortex-m4", BYTES, name="non-interleaved").name == "planes"
    on_m0plus = choose(shipped_table(), layer, "cortex-m0plus", BYTES, name="planes")  # a board that it is not for
    assert on_m0plus.name == "runs"
    assert choose(shipped_table(), layer, "cortex-m4", BYTES, Optimize.RAM).name == "direct"
    assert choose(shipped_table(), layer, "cortex-m4", BYTES, Optimize.RAM, "planes").name == "planes"


def plan_of(graph: Graph, board: str, bits: int = 8) -> BoardPlan:
    boards, settings, assignment = (load_board(board),), CostSettings(bits=bits), (0,) * len(graph.layers)
    problem = make_problem(shipped_table(), graph, boards, settings)
    return make_plan(
        shipped_table(), graph, bits, boards, problem, assignment, settings.link_settings_on(boards)
    ).boards[0]


def planned(board: str, named: tuple[tuple[int, str], ...]) -> BoardPlan:
    graph, boards = import_model(MODEL), (load_board(board),)
    settings = CostSettings(kernels=named)
    problem, assignment = make_problem(shipped_table(), graph, boards, settings), (0,) * len(graph.layers)
    plan = make_plan(
        shipped_table(), graph, 8, boards, problem, assignment, settings.link_settings_on(boards), kernels=named
    )
    return plan.boards[0]


def why_of_first(own: BoardPlan, graph: Graph) -> str:
    return describe_memory(own.kernel_choice(graph, BitWidths.all(graph, 8)), own, 0).why


def test_what_is_named_is_planned_and_said() -> None:
    own = planned("nucleo_f401re", ((2, "direct"),))
    assert [own.memory.kernels[number].name for number in (0, 2)] == ["dual_mac", "direct"]
    described = describe_memory(own.kernel_choice(import_model(MODEL), BitWidths.all(import_model(MODEL), 8)), own, 2)
    assert (described.kernel, described.scheme) == ("direct", "interleaved")
    fits = f"interleaved: 624 bytes of inputs fit into {own.near_bytes} of RAM"
    assert described.why.startswith(f"{fits}; direct was requested")
    assert described.ram_read_bytes == 11 * 11 * 32 * 3 * 3 * 16


def test_cycles_are_compared_with_all_kernels_of_a_layer() -> None:
    own, graph = planned("nucleo_f401re", ()), import_model(MODEL)
    why = why_of_first(own, graph).split("; ")
    choice = KernelChoice(shipped_table(), graph, BitWidths.all(graph, 8), own.board)
    kernels = {kernel.name: kernel for kernel in candidates(graph.layers[0], "cortex-m4", BYTES)}
    dual_mac, direct = (choice.cycles(0, kernels[name]) for name in ("dual_mac", "direct"))
    times = f"direct {direct:.0f} ({direct / dual_mac:.1f} times as many)"
    assert f"the layer alone is expected to take {dual_mac:.0f} cycles with dual_mac, {times}" in why
    assert not any("faster" in reason for reason in why)


def test_a_tie_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    own, graph = planned("nucleo_f401re", ()), import_model(MODEL)
    monkeypatch.setattr(KernelChoice, "cycles", lambda *_: 100.4)
    why = why_of_first(own, graph)
    assert "to take 100 cycles with dual_mac, direct 100 (as many); " in why


def test_a_kernel_that_estimates_cannot_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    own, graph = planned("nucleo_f401re", ()), import_model(MODEL)
    cycles = {"dual_mac": 100.0, "direct": 96.0}
    monkeypatch.setattr(KernelChoice, "cycles", lambda _choice, _number, kernel: cycles[kernel.name])
    why = why_of_first(own, graph)
    assert "direct 96 (4 % fewer, within the 10 % by which estimates may err)" in why


def test_a_kernel_that_saves_too_little_for_its_flash(monkeypatch: pytest.MonkeyPatch) -> None:
    own, graph = planned("nucleo_f401re", ()), import_model(MODEL)
    cycles = {"dual_mac": 100.0, "direct": 96.0}
    monkeypatch.setattr(KernelChoice, "cycles", lambda _choice, _number, kernel: cycles[kernel.name])
    monkeypatch.setattr(type(KERNELS_BY_NAME["direct"]), "takes_much_flash", True)
    why = why_of_first(own, graph)
    assert "direct 96 (4 % fewer, and a kernel with much flash has to save more than 5 %)" in why


def test_what_ram_excludes_is_said_with_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    own, graph = planned("nucleo_f401re", ()), import_model(MODEL)
    assert "of RAM with its tensors" not in why_of_first(own, graph)
    monkeypatch.setattr(KernelChoice, "waits", lambda _choice, _number, kernel: inf if kernel.name == "direct" else 0.0)
    choice = KernelChoice(shipped_table(), graph, BitWidths.all(graph, 8), own.board)
    needed = choice.live_bytes(0, KERNELS_BY_NAME["direct"])
    why = why_of_first(own, graph)
    assert f"direct needs {needed} bytes of RAM with its tensors, of {choice.limit_bytes}" in why


def test_what_flash_excludes_is_said_with_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = NetworkBuilder("net", Shape(16, 16, 16)).conv(16, (3, 3)).dense(10).graph()
    widths, winograd = BitWidths.all(graph, 8), KERNELS_BY_NAME["winograd"]
    own = plan_of(graph, "nucleo_f401re")
    assert own.memory.kernels[0] is winograd
    assert KernelChoice(shipped_table(), graph, widths, own.board).lacks_flash_for(0, winograd) == 0
    monkeypatch.setattr(KernelChoice, "_free_flash_bytes", lambda *_: 0)
    graph = replace(graph)  # whose choices are not known yet
    own = plan_of(graph, "nucleo_f401re")
    lacking = KernelChoice(shipped_table(), graph, widths, own.board).lacks_flash_for(0, winograd)
    more, less = (
        selection.flash_bytes(shipped_table(), kernel, graph.layers[0], "cortex-m4", BYTES)
        for kernel in (winograd, own.memory.kernels[0])
    )
    assert lacking == more - less > 0
    assert f"winograd takes {lacking} bytes more flash" in describe_memory(own.kernel_choice(graph, widths), own, 0).why


def test_what_bits_exclude_is_said() -> None:
    graph = import_model(MODEL)
    own, wide = plan_of(graph, "nucleo_g071rb"), plan_of(graph, "nucleo_g071rb", 16)
    bytes_only = describe_memory(own.kernel_choice(graph, BitWidths.all(graph, 8)), own, 2).why
    assert "8-bit values and weights only" not in bytes_only
    why = describe_memory(wide.kernel_choice(graph, BitWidths.all(graph, 16)), wide, 2).why
    assert "unpacked_16k: for 8-bit values and weights only" in why


def described(*layers: Layer) -> list[ProjectMemory]:
    """Return what the plan of a board says about the layers of a network."""
    graph, boards = Graph.of_layers("net", layers), (load_board("nucleo_f401re"),)
    settings, assignment = CostSettings(), (0,) * len(layers)
    plan = make_plan(
        shipped_table(),
        graph,
        8,
        boards,
        make_problem(shipped_table(), graph, boards, settings),
        assignment,
        settings.link_settings_on(boards),
    )
    choice = plan.boards[0].kernel_choice(graph, BitWidths.all(graph, 8))
    return [describe_memory(choice, plan.boards[0], number) for number in range(len(layers))]


def test_elementwise_layers_say_whether_they_work_in_place() -> None:
    shape = Shape(4, 4, 8)
    tanh = Lookup(name="tanh", inputs=("x",), output="y", in_shape=shape, function=np.tanh)
    [alone] = described(tanh)
    assert alone.scheme == "elementwise"
    assert alone.why.split("; ") == [
        "elementwise: one value at a time",
        "direct is the only kernel for this layer on cortex-m4 with 8-bit values",
        "in place over the network's input",
    ]
    add = Add(name="add", inputs=("y", "x"), output="z", in_shape=shape, other_shapes=(shape,), signs=(1, 1))
    branch, joined = described(tanh, add)
    assert branch.why.endswith("; not in place: layer 2 also reads its input")
    assert joined.scheme == "elementwise"
    assert joined.why.startswith("elementwise: one value at a time; ")
    assert "; in place over the " in joined.why


def test_layers_that_move_values_say_so() -> None:
    [upsample] = described(Upsample(name="up", inputs=("x",), output="y", in_shape=Shape(4, 4, 8), factors=(2, 2)))
    assert (upsample.scheme, upsample.why.split(";")[0]) == ("copy", "copy: values are only moved")


def test_a_layer_is_named_once() -> None:
    with pytest.raises(UsageError, match="--kernel 1=direct: layer 1 is named twice"):
        parse_kernels(["1=direct", "1=dual_mac"])


def test_what_a_board_cannot_compute_is_refused() -> None:
    with pytest.raises(UsageError, match=r"layer 3 \(.*\) has no kernel dual_mac on nucleo_g071rb, only packed"):
        planned("nucleo_g071rb", ((2, "dual_mac"),))
    with pytest.raises(UsageError, match=r"--kernel names layer 41, but .* has 7"):
        planned("nucleo_g071rb", ((40, "direct"),))


def test_names_on_the_command_line() -> None:
    assert parse_kernels(["3=direct", "1=interleaved"]) == ((0, "interleaved"), (2, "direct"))
    assert parse_kernels(None) == ()
    for wrong in ("3", "0=direct", "x=direct", "3=fast", "-1=direct"):
        with pytest.raises(
            UsageError, match=f"--kernel {wrong}: expected LAYER=NAME as in 3=direct, NAME one of dual_mac, "
        ):
            parse_kernels([wrong])
