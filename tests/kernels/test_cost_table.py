"""What layers are made of, counted by hand, and the costs that measurements give the parts."""

from dataclasses import replace

import numpy as np
import pytest

from tinysplit.kernels import KERNELS
from tinysplit.kernels.cost_table import ONCE, KernelCosts, Work, plain_work, pool_work
from tinysplit.kernels.lane_sums import LaneSum
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Layer, Shape, Window
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit.papers.reproduce.networks import mobilenet_v1
from tinysplit.quantize.choose_formats import choose_formats, quantize

BYTES = Widths.all(8)
NO_ACTIVATION = Activation()


def work(name: str, layer: Layer, widths: Widths = BYTES) -> Work:
    kernel = next(each for each in KERNELS if each.name == name)
    return {part: count for part, count in kernel.work(layer, widths).items() if count}


def network(shape: Shape) -> NetworkBuilder:
    return NetworkBuilder("network", shape)


def test_plain_loops_leave_padding_out() -> None:
    graph = mobilenet_v1(0.25)
    depthwise, pointwise = graph.layers[25], graph.layers[26]
    # 3x3 windows over a padded 4x4 map: 10 of 12 rows and columns are real, and 4 of 16 windows reach nowhere over it.
    found = plain_work(depthwise)
    assert found["macc"] + found["border_macc"] == pytest.approx(depthwise.operator_macc * (10 / 12) ** 2)
    assert found["macc"] == found["mixed"] == 4 * 10 * 256  # nine products and a bias in 4 windows
    assert found["row"] == 10 * 4 * 256
    assert found["border"] == 12 * 256
    assert plain_work(pointwise) == {
        "macc": pointwise.operator_macc,
        "border_macc": 0,
        "mixed": 0,
        "output": pointwise.out_shape.size,
        "pixel": 16,
        "row": pointwise.out_shape.size,
        "border": 0,
        "signed": 0,
    }


def test_small_windows_of_pools_are_no_loops() -> None:
    (two, three) = network(Shape(9, 9, 4)).max_pool(2, 2).max_pool(3, 1).graph().layers
    outputs = 4 * 4 * 4
    assert pool_work(two, Window((2, 2), (2, 2)), 3) == {
        "output": outputs,
        "pixel": 16,
        "border": 0,
        "border_macc": 0,
        "straight_macc": 4 * outputs,
        "division": 0,
        "product": 0,
        "signed": 4 * outputs,
    }
    found = pool_work(three, Window((3, 3)), 2)
    assert (found["unrolled_macc"], found["unrolled_row"], found["looped"]) == (9 * 16, 3 * 16, 16)
    assert found["division"] == 16


@pytest.mark.parametrize(("columns", "name"), [(3, "peeled_"), (4, "unrolled_"), (7, "unrolled_"), (8, "")])
def test_loops_over_few_columns_are_unrolled(columns: int, name: str) -> None:
    layer = network(Shape(9, columns, 4)).average_pool().graph().layers[0]
    found = pool_work(layer, Window((9, columns), (9, columns)), 3)
    assert (found[f"{name}macc"], found[f"{name}row"], found["looped"]) == (9 * columns * 4, 9 * 4, 4)


@pytest.mark.parametrize(("largest", "part"), [(3.0, "unclamped"), (1.0, "product")])
def test_averages_in_the_scale_of_their_input_need_no_clamp(largest: float, part: str) -> None:
    graph = network(Shape(4, 4, 3)).average_pool(2).graph()
    ranges = {graph.input_name: (-3.0, 3.0), graph.layers[0].output: (-largest, largest)}
    quantized = quantize(graph, choose_formats(graph, ranges, 8), 8).layers[0]
    kernel = next(each for each in KERNELS if each.name == "direct")
    found = kernel.quantized_work(graph.layers[0], quantized)
    assert work("direct", graph.layers[0])["product"] == 2 * 2 * 3  # until formats decide
    assert {name for name in ("unclamped", "product") if found[name]} == {part}
    assert found[part] == 2 * 2 * 3


@pytest.mark.parametrize(("zero_point", "part"), [(0, "straight_macc"), (-128, "signed_straight_macc")])
def test_stored_integers_decide_whether_a_word_of_a_pool_is_signed(zero_point: int, part: str) -> None:
    """Values of a ReLU are never negative; their integers are, where the zero point is."""
    graph = network(Shape(4, 4, 4)).conv(4, (1, 1), activation=Activation(0)).max_pool(2, 2).graph()
    pool = quantize(graph, choose_formats(graph, dict.fromkeys(_values(graph), (-1.0, 1.0)), 8), 8).layers[1]
    x = ValueFormat(8, 1 / 256, zero_point)
    stored = replace(pool, formats=replace(pool.formats, inputs=(x,)), bounds=((zero_point, 127),))
    swar = next(each for each in KERNELS if each.name == "swar")
    assert swar.quantized_work(pool.layer, stored)[part] == 4 * 4 * 4
    assert work("swar", pool.layer).get("signed", 0.0) == 0.0  # until formats decide


def _values(graph: Graph) -> tuple[str, ...]:
    return (graph.input_name, *(layer.output for layer in graph.layers))


def test_pairs_of_pixels_and_what_fills_them_up() -> None:
    # 3x5 outputs of 6 channels: two pairs a row, one of two rows' last pixels and one alone, two blocks; 3x3 over 2.
    layer = network(Shape(3, 5, 2)).conv(6, (3, 3)).graph().layers[0]
    found = work("dual_mac", layer)
    assert found["two_pairs"] == (3 * 2 + 1) * 2 * 3 * 3
    assert found["one_pairs"] == 1 * 2 * 3 * 3
    assert (found["two_blocks"], found["one_blocks"]) == (14, 2) == (found["positive_two_blocks"], 2)
    assert (found["two"], found["one"], found["rest"]) == (7, 1, 8)
    assert (found["two_rows"], found["two_loops"]) == (2, 2)  # nine pairs are no loops but where rows are joined
    assert (found["one_loops"], found["gathered"]) == (2, 3 * 9)
    # A strip has a row of 5 + 2 pixels of 2 channels; the first and the last rows of outputs see a row of padding.
    assert (found["odd_widened"], found["zeroed"], found["fill"]) == (7 * 14, 2 * 14, 9)
    assert found["pads"] == 2 + 2 * 7  # those rows, and both ends of the others
    assert "pads" not in work("dual_mac", network(Shape(5, 7, 2)).conv(6, (3, 3), padded=False).graph().layers[0])


def test_long_windows_are_loops_over_rows_and_pairs() -> None:
    found = work("dual_mac", network(Shape(4, 4, 12)).conv(4, (3, 3)).graph().layers[0])
    assert found["two_rows"] == 8 * 3
    assert found["two_loops"] == 8 * 3 * 2  # 18 pairs a row, 12 of them unrolled
    found = work("dual_mac", network(Shape(4, 4, 12)).conv(4).graph().layers[0])
    assert (found["apart"], "fill" in found) == (4 * 4 * 12, False)


def test_four_outputs_of_a_plane_and_the_rest() -> None:
    layer = network(Shape(6, 6, 2)).depthwise(activation=NO_ACTIVATION).graph().layers[0]
    found = work("planes", layer)
    assert found == {
        "four_rows": 6 * 2 * 1 * 3,
        "looped_one_rows": 6 * 2 * 2 * 3,
        "row": 12,
        "gathered": 6 * 2,  # of five columns behind the first one
        "last": 6 * 2,
        "gathered_rows": 6,
        "band": 1,
        "four": 12,
        "free_four": 12,
        "looped_one": 24,
        "free_looped_one": 24,
    }


def test_planes_are_turned_where_fewer_outputs_are_left_beside_the_fours() -> None:
    high, wide = (network(shape).depthwise().graph().layers[0] for shape in (Shape(8, 5, 2), Shape(5, 8, 2)))
    assert work("planes", high) == work("planes", wide)
    assert work("planes", high)["four_rows"] == 5 * 2 * 2 * 3
    oblong = network(Shape(8, 5, 2)).depthwise((5, 3)).graph().layers[0]
    assert work("planes", oblong)["one_rows"] == 8 * 2 * 5
    too_long = network(Shape(400, 1, 2)).depthwise().graph().layers[0]
    assert work("planes", too_long)["one_rows"] == 400 * 2 * 3


def test_windows_are_copied_by_rows_or_by_positions() -> None:
    relu, layer = network(Shape(4, 4, 4)).conv(4).conv(8, (3, 3)).graph().layers
    del relu
    found = work("packed", layer)
    # Two of four windows of a row lie inside; 10 of 12 kernel rows do. The others have two columns inside.
    assert (found["run"], found["piece"]) == (10 * 2, 10 * 4)
    assert found["outside"] == 4 * 4 * 9 - 10 * 2 * 3 - 10 * 4
    assert found["words"] == 10 * 2 * 3 + 10 * 4
    assert found["filled_words"] == found["outside"]
    assert (found["block"], found["pixel"], found["pairs"]) == (32, 16, 32 * 18)


def test_values_that_are_never_negative_are_read_where_they_are_in_longer_groups() -> None:
    signed, positive = network(Shape(4, 4, 32)).conv(32, activation=RELU6).conv(32).graph().layers
    assert (signed.x_clamp, positive.x_clamp) == (NO_ACTIVATION, RELU6)
    first, second = work("packed", signed), work("packed", positive)
    assert first["group"] > second["group"]
    assert "buffered" not in first
    assert first["signed_words"] == 16 * 8
    assert second["buffered"] == positive.out_shape.size
    assert "words" not in second


RELU6 = Activation(0, 6)


def test_weights_are_unpacked_once_and_windows_copied_for_their_channels() -> None:
    layer = network(Shape(4, 4, 64)).conv(4).depthwise().conv(64, (3, 3)).graph().layers[2]
    few = work("packed", layer)
    unpacked = work("unpacked", layer)
    assert unpacked["unpacked"] == 16 * 36
    assert unpacked["pixel"] >= few["pixel"]
    assert unpacked["group"] == few["group"]


def test_rows_slide_and_are_kept() -> None:
    layer = network(Shape(6, 8, 4)).conv(4).depthwise().graph().layers[1]
    found = work("sliding", layer)
    assert (found["output"], found["channel"]) == (6 * 4 * 6, 6 * 4)
    # Six rows of 8 words are copied; before each of five more rows of outputs two rows, with padding, of 1 + 9 + 8.
    assert 12 * found["twelves"] + found["words"] == 6 * 8 + 5 * 18
    strided = network(Shape(6, 8, 4)).depthwise(stride=2).graph().layers[0]
    assert work("sliding", strided)["strided_output"] == 3 * 4 * 3


def test_what_a_first_input_is_clamped_to() -> None:
    net = network(Shape(8, 8, 4)).conv(4, activation=RELU6)
    clamped = net.value
    graph = net.max_pool(2, 2).conv(4, activation=NO_ACTIVATION).conv(4).after(clamped).conv(4).graph()
    assert [layer.x_clamp.low for layer in graph.layers] == [-np.inf, 0, 0, -np.inf, 0]
    assert graph.layers[1].x_clamp == graph.layers[4].x_clamp == RELU6


def test_parts_that_were_never_seen_cost_nothing() -> None:
    assert KernelCosts(cycles={"macc": 2.0, ONCE: 10.0}, code_bytes=0).of({"macc": 3, "border": 7}) == 16


def test_layers_of_a_graph_keep_their_order() -> None:
    layers = network(Shape(8, 8, 4)).conv(4).conv(8).layers
    assert [layer.name for layer in Graph.of_layers("graph", layers).layers] == ["layer1", "layer2"]


def quantized(layer: Layer, largest: float, bits: int = 8) -> QuantizedLayer:
    """Return `layer` with outputs up to `largest`, and inputs up to 1."""
    graph = Graph.of_layers("net", (layer,))
    ranges = dict.fromkeys(layer.inputs, (-1.0, 1.0)) | {layer.output: (-largest, largest)}
    ranges |= {graph.input_name: (-1.0, 1.0)}
    return quantize(graph, choose_formats(graph, ranges, bits), bits).layers[0]


@pytest.mark.parametrize(("largest", "clamp"), [(3.9, "positive"), (9.0, "capped")])
def test_a_relu6_is_capped_only_where_its_format_reaches_further(largest: float, clamp: str) -> None:
    (layer,) = network(Shape(8, 8, 4)).depthwise(activation=Activation(0, 6)).graph().layers
    kernel = next(each for each in KERNELS if each.name == "planes")
    exact = kernel.quantized_work(layer, quantized(layer, largest))
    assert exact[f"{clamp}_four"] == exact["four"] == 2 * 8 * 4
    assert {name for name in exact if name.endswith("_four")} == {f"{clamp}_four"}
    assert kernel.work(layer, BYTES)["positive_four"] == exact["four"]


def test_sums_in_lanes_count_operations_on_words() -> None:
    assert (LaneSum(0, 1, 1, 0, 0).halvings, LaneSum(0, 1, 1, 0, 0).sums) == (1, 1)
    assert (LaneSum(0, 1, 3, 2, 0).halvings, LaneSum(0, 1, 3, 2, 0).sums) == (3, 0)
    assert (LaneSum(0, 1, 1, -2, 0).halvings, LaneSum(0, 1, 1, -2, 0).sums) == (3, 5)
    assert (LaneSum(0, 1, 0, 0, 2).halvings, LaneSum(0, 1, 0, 0, 2).sums) == (0, 3)
    net = network(Shape(4, 4, 5)).prelu()
    layer = net.add(net.value).graph().layers[1]
    assert work("lanes", layer) == {"words": 20, "halvings": 20, "sums": 20, "clamps": 20}
    halves = work("lanes", layer, Widths.all(16))
    assert halves == {"words": 40, "halvings": 40, "sums": 40, "clamps": 40}


def test_channels_of_concatenations_are_copied_in_loops_or_straight() -> None:
    net = network(Shape(3, 4, 2)).conv(8)
    first = net.value
    few = net.after(first).conv(1).value
    many = net.after(first).conv(12).value
    layer = net.after(few).concat(many).graph().layers[-1]
    assert work("direct", layer) == {"pixel": 12, "run": 12, "output": 144, "straight": 12, "scaled": 144}
    words = net.after(first).concat(many).graph().layers[-1]
    assert work("lanes", words) == {"pixel": 12, "run": 12, "output": 144, "straight": 96, "halved": 144}


def test_windows_of_groups_have_loops_over_columns() -> None:
    layer = network(Shape(3, 3, 4)).conv(12, (3, 3), groups=4).graph().layers[0]
    assert work("direct", layer)["column"] == 4 * 2 * (7 * 7)  # three outputs of each group are two and one
    assert "looped_column" in work("direct", network(Shape(3, 3, 4)).conv(4, (3, 3), groups=2).graph().layers[0])
