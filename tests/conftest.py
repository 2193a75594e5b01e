import numpy as np
import pytest

import onnx_builder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-golden", action="store_true", help="write tests/golden/ anew instead of comparing")


@pytest.fixture(autouse=True)
def _same_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same random weights, whichever tests run before it."""
    monkeypatch.setattr(onnx_builder, "RNG", np.random.default_rng(0))
