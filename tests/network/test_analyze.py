"""The analysis against the published figures of MobileNet v1 0.25 and against hand counts."""

import json
from io import StringIO
from pathlib import Path

from rich.console import Console

from models.onnx_builder import OnnxBuilder, conv, weights
from session.shared_models import MOBILENET, shared_model
from tinysplit.network.analyze import analyze, print_analysis
from tinysplit.onnx_import import import_model


def test_hand_count(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 8, 8])
    conv(builder, 4, 3)
    builder.node("Clip", builder.constant(0.0), builder.constant(6.0))
    conv(builder, 4, 1, group=4)
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(4, 10)), builder.constant(weights(10)))
    builder.node("Softmax")
    analysis = analyze(import_model(builder.save(tmp_path)), 8)
    expected = [  # kind, macc, params, weights and activations in float32, and with 8 bits
        ("conv", 6 * 6 * 4 * (27 + 1) + 6 * 6 * 4, 112, 448, (192 + 144) * 4, 108 + 24, 336),
        ("depthwise_conv", 4 * 4 * 4 * (9 + 1), 40, 160, (144 + 64) * 4, 36 + 24, 208),
        ("average_pool", 64, 0, 0, (64 + 4) * 4, 0, 68),
        ("dense", 50, 50, 200, (4 + 10) * 4, 40 + 60, 14),
        ("softmax", 150, 0, 0, 20 * 4, 512, 20),
    ]
    counted = [
        (
            layer.kind,
            layer.macc,
            layer.params,
            layer.weights_bytes,
            layer.activations_bytes,
            layer.quantized_weights_bytes,
            layer.quantized_activations_bytes,
        )
        for layer in analysis.layers
    ]
    assert counted == expected
    assert [layer.number for layer in analysis.layers] == [1, 2, 3, 4, 5]
    assert analysis.layers[0].activation == "ReLU6"
    assert analysis.totals.macc == sum(row[1] for row in expected)
    assert analysis.totals.weights_bytes == 448 + 160 + 200
    assert analysis.totals.activations_bytes == 336 * 4
    assert analysis.quantized.weights_bytes == 132 + 60 + 100 + 512
    assert analysis.quantized.activations_bytes == 336


def test_published_figures_of_mobilenet() -> None:
    analysis = analyze(import_model(shared_model(MOBILENET)), 16)
    totals = json.loads(json.dumps(analysis.to_json()))["totals"]
    assert totals["depth"] == 30
    assert round(totals["weights_bytes"] / 1024, 2) == 1825.53
    assert round(totals["macc"] / 1e6, 2) == 14.41
    first, second = analysis.layers[:2]
    assert first.macc == 64 * 64 * 8 * (3 * 3 * 3 + 1) + 64 * 64 * 8
    assert second.macc == 64 * 64 * 8 * (3 * 3 + 1) + 64 * 64 * 8
    assert analysis.layers[-2].weights_bytes == (256 * 1000 + 1000) * 4


def test_json_and_table(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 8, 8])
    conv(builder, 4, 3, name="a/name/of/more/than/twenty/letters/Conv2D")
    builder.node("Relu")
    analysis = analyze(import_model(builder.save(tmp_path)), 8)
    layer = json.loads(json.dumps(analysis.to_json()))["layers"][0]
    assert layer["in_shape"] == [8, 8, 3]
    assert layer["out_shape"] == [6, 6, 4]
    assert layer["name"] == "a/name/of/more/than/twenty/letters/Conv2D"
    text = StringIO()
    print_analysis(analysis, Console(file=text, width=100))
    assert max(map(len, text.getvalue().splitlines())) <= 100
    for word in (
        "conv + ReLU",
        "letters/Conv2D",
        "6x6x4",
        "macc",
        "params",
        " 112 ",
        "weights KB",
        " 0.44 ",
        "activations",
    ):
        assert word in text.getvalue()
