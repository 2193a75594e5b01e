"""The pytest plugin: tests that measure on virtual boards, or with `--tinysplit-rig FILE` on the real ones of a rig.

pytest imports this module in every run of an environment in which tinysplit is installed. So it imports nothing but
pytest: the fixtures import what they need when a test asks for them (docs/do/testing_on_boards.md).
"""

from typing import TYPE_CHECKING

import pytest

from tinysplit_hil.pytest_plugin.options import add_options

if TYPE_CHECKING:
    from tinysplit_hil.pytest_plugin.projects import ProjectFactory
    from tinysplit_hil.pytest_plugin.rig import RigOfTests


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add_options(parser)


@pytest.fixture(scope="session")
def tinysplit_rig(pytestconfig: pytest.Config) -> "RigOfTests":
    """Tell the boards of this session: `is_virtual`, `boards` (names, where known), `require(*names)` or skip."""
    from tinysplit_hil.pytest_plugin.rig import rig_of_tests  # noqa: PLC0415 (see above)

    return rig_of_tests(pytestconfig)


@pytest.fixture(scope="session")
def tinysplit_project(tinysplit_rig: "RigOfTests", tmp_path_factory: pytest.TempPathFactory) -> "ProjectFactory":
    """Make a project: call it with an ONNX file, boards and calibration samples, or with a generated folder.

    `project.measure(samples)` runs them on the boards of the rig and returns outputs, L, T and I.
    """
    from tinysplit_hil.pytest_plugin.projects import ProjectFactory  # noqa: PLC0415

    return ProjectFactory(tinysplit_rig, tmp_path_factory)
