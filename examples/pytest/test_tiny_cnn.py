"""Tests of a network on its boards: `pytest` takes virtual ones, `pytest --tinysplit-rig rig.toml` those on a desk."""

from pathlib import Path

import numpy as np
import pytest

from tinysplit_hil.pytest_plugin.projects import Measured, ProjectFactory
from tinysplit_hil.pytest_plugin.rig import RigOfTests

HERE = Path(__file__).parent
TINY_CNN = HERE if (HERE / "tiny_cnn.onnx").is_file() else HERE.parent / "tiny_cnn"  # in tinysplit's own repository
BOARDS = ("nucleo_g071rb", "nucleo_f401re")


@pytest.fixture(scope="module")
def measured(tinysplit_rig: RigOfTests, tinysplit_project: ProjectFactory) -> Measured:
    """Split and build the network, flash boards that do not run it yet, and run five images, once for all tests."""
    tinysplit_rig.require(*BOARDS)
    project = tinysplit_project(TINY_CNN / "tiny_cnn.onnx", BOARDS, TINY_CNN / "calibration.npz", use_all=True)
    return project.measure(TINY_CNN / "samples.npz", count=5)


def test_digits_are_recognised(measured: Measured) -> None:
    """Compare what the boards say with the labels."""
    labels = np.load(TINY_CNN / "samples.npz")["y"][:5]
    assert measured.is_bit_exact
    assert measured.outputs.argmax(axis=1).tolist() == labels.tolist()


def test_an_inference_keeps_its_time(measured: Measured) -> None:
    """Fail where a change of the network makes it slower."""
    assert measured.i_s < 0.02
    assert measured.i_s == pytest.approx(measured.estimated_i_s, rel=0.1)
    assert measured.i_s < measured.l_s + measured.t_s  # boards compute while tensors cross
