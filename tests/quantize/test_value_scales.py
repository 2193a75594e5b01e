from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.calibrated import calibrated
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.project.layer_formats import ProjectFormat
from tinysplit.quantize.read_errors import ReadError
from tinysplit.quantize.scale_search import TimeLimit
from tinysplit.quantize.value_scales import ValueScales


def formats(model: Path, x: NDArray[np.float32]) -> dict[str, ValueFormat]:
    own = calibrated(model, x)
    errors = {name: ReadError.of(own.graph, name, own.statistics) for name in own.graph.value_names}
    return ValueScales(own.graph, errors, x).formats()


@pytest.fixture
def residual(tmp_path: Path) -> Path:
    builder = OnnxBuilder([1, 3, 6, 6])
    conv(builder, 4, 3, (1, 1), name="first")
    left = builder.node("Relu", name="left")
    conv(builder, 4, 4, (1, 1), name="second")
    builder.node("Add", left, name="sum")
    builder.node("MaxPool", kernel_shape=[2, 2], name="pool")
    conv(builder, 4, 4, (1, 1), name="third")
    builder.node("Relu", name="free")
    builder.node("GlobalAveragePool", name="average")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(5, 4)), builder.constant(weights(5)), transB=1, name="fc")
    return builder.save(tmp_path)


def test_values_that_are_added_keep_powers_of_two_unless_that_pays(residual: Path) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (20, 3, 6, 6)).astype(np.float32)
    own = calibrated(residual, x, TimeLimit.usual(percent=0))
    found = formats(residual, x)
    joined = {name for layer in own.graph.layers if layer.kind == "add" for name in (*layer.inputs, layer.output)}
    assert len(joined) == 3
    assert not joined & found.keys()
    quantized = own.nearest(BitWidths.all(own.graph, 8))
    kinds = {layer.layer.output: layer.formats.y for layer in quantized.layers}
    assert all(isinstance(kinds[name], QFormat) for name in joined)
    assert any(not isinstance(values, QFormat) for values in kinds.values())
    in_16_bits = own.nearest(BitWidths.all(own.graph, 16))
    assert all(isinstance(layer.formats.y, QFormat) for layer in in_16_bits.layers)


def test_values_below_float32_count_as_zero(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 2, 3, 3])
    builder.node("Conv", builder.constant(weights(2, 2, 1, 1)), name="first")
    x = np.random.default_rng(0).uniform(-1, 1, (20, 2, 3, 3)).astype(np.float32)
    model = builder.save(tmp_path)
    for factor in (1e-35, 1e-43):
        own = calibrated(model, x * np.float32(factor))
        for bits in (8, 16):
            for layer in own.best(BitWidths.all(own.graph, bits)).layers:
                assert ProjectFormat.of(layer.formats.y).values == layer.formats.y
                assert (layer.formats.y == QFormat(bits, bits - 1)) is (factor == 1e-43)


def test_what_a_fully_connected_layer_reads_uses_all_256_integers(residual: Path) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, (20, 3, 6, 6)).astype(np.float32)
    own = calibrated(residual, x)
    found = formats(residual, x)
    average = next(layer.output for layer in own.graph.layers if layer.kind == "average_pool")
    free = next(layer.inputs[0] for layer in own.graph.layers if layer.kind == "average_pool")
    assert own.statistics[free].minimum >= 0
    assert found[free].zero_point == 0
    assert found[average].zero_point == (-128 if own.statistics[average].minimum >= 0 else 0)
    assert found[own.graph.layers[-1].output].zero_point != 0  # the host converts it


def test_an_input_of_bytes_loses_nothing(residual: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 3, 6, 6))
    for scale, offset, zero_point in ((1.0, 0, -128), (1 / 255, 0, -128), (0.5847, -211, 83), (0.25, -256, 127)):
        x = ((pixels + offset) * scale).astype(np.float32)
        found = formats(residual, x)["x"]
        assert found.scale == pytest.approx(scale, rel=1e-5) or offset == -256  # 0 is none of those
        if offset != -256:
            assert found.zero_point == zero_point
            assert np.allclose(found.dequantize(found.quantize(x)), x, atol=1e-3 * scale)


def test_scales_fit_the_range(residual: Path) -> None:
    x = np.random.default_rng(0).uniform(-1, 3, (20, 3, 6, 6)).astype(np.float32)
    own = calibrated(residual, x)
    found = formats(residual, x)
    assert found["x"].scale == pytest.approx(4 / 255, rel=0.01)
    for name, values in found.items():
        seen = own.statistics[name]
        q = seen.best_format(8)
        error = ReadError.of(own.graph, name, own.statistics)
        assert error(values) <= error(q)
        assert (values.low - values.zero_point) * values.scale <= 0 <= (values.high - values.zero_point) * values.scale
