"""Random quantized networks in random forms, against ONNX Runtime without optimizations and ONNX's own evaluator."""

from pathlib import Path

import numpy as np
import pytest

from models.qdq_networks import (
    ACTIVATIONS,
    CONTRIBUTED,
    EVALUATED_OPSET,
    LAYERS,
    SCALARS,
    STATED_OPSET,
    TYPES,
    WEIGHTS,
    Form,
    QdqBuilder,
    X,
    check,
    conv,
    run_plain,
    run_reference,
)
from session.profiles import cases


@pytest.mark.parametrize("seed", range(cases(quick=8, full=60, nightly=600)))
def test_random_networks(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    opset = int(rng.choice([13, 19, 21, 23]))
    has_long = opset >= STATED_OPSET or rng.random() < 0.5
    domain = CONTRIBUTED if (opset < STATED_OPSET and has_long) or rng.random() < 0.2 else ""
    is_stated = opset >= STATED_OPSET and not domain and rng.random() < 0.3
    form = Form(
        element=str(rng.choice(TYPES if has_long else TYPES[:2])),
        is_stated=bool(is_stated),
        domain=domain,
        scalars=str(rng.choice(SCALARS)),
        weights=str(rng.choice(WEIGHTS)),
        per_channel=bool(rng.random() < 0.5),
    )
    builder = QdqBuilder(X, form, opset)
    builder.pair()
    for _ in range(rng.integers(1, 4)):
        LAYERS[str(rng.choice(["Conv", "DepthwiseConv", "ConvTranspose", "Resize", "MaxPool"]))](builder)
        ACTIVATIONS[str(rng.choice(["none", "Relu", "Clip"]))](builder)
        builder.pair()
    conv(builder)
    builder.pair()
    is_short = form.element.endswith("8")
    check(builder, tmp_path, steps=6 if is_short else 800)
    if not domain and opset >= EVALUATED_OPSET:
        expected = run_reference(builder.model(), X)
        difference = np.abs(expected - run_plain(builder.model(), X)) / builder.pairs[-1][0]
        assert difference.max() <= (3 if is_short else 400)
