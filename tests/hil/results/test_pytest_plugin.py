"""The pytest plugin, in pytest runs of their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands.command_line import run
from commands.served_boards import served
from example_folders.example import CALIBRATION, MODEL, SAMPLES, shared_example
from rigs.fake_rig import make_project
from tinysplit.common.host_protocol import HostProtocol

pytest_plugins = ["pytester"]

PLUGIN = "tinysplit_hil.pytest_plugin"
BOARD = "nucleo_g071rb"
MEASURES = f"""
import numpy as np

def test_boards(tinysplit_rig, tinysplit_project):
    tinysplit_rig.require("{BOARD}")
    measured = tinysplit_project({{folder!r}}).measure({str(SAMPLES)!r}, count=2)
    labels = np.load({str(SAMPLES)!r})["y"][:2]
    assert measured.is_bit_exact
    assert measured.outputs.shape == measured.integers.shape == (2, 10)
    assert measured.outputs.argmax(axis=1).tolist() == labels.tolist()
    assert (measured.l_s, measured.t_s) == (measured.report.measured.l_s, 0.0)
    assert abs(measured.i_s / measured.estimated_i_s - 1) < 0.06
    print("\\ncycles", [layer.cycles.mean for layer in measured.report.measurement.layers])
"""


@pytest.fixture
def plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\n")
    return pytester


def result_of(plugin: pytest.Pytester, test: str, *options: str) -> pytest.RunResult:
    plugin.makepyfile(test)
    return plugin.runpytest_inprocess("-p", PLUGIN, "-s", *options)


@pytest.mark.slow
def test_a_generated_folder_on_virtual_and_served_boards(plugin: pytest.Pytester, tmp_path: Path) -> None:
    _, folder = shared_example(BOARD)
    test, rig = MEASURES.format(folder=str(folder)), tmp_path / "rig.toml"
    virtual = result_of(plugin, test)
    virtual.assert_outcomes(passed=1)
    with served(folder, "-o", str(rig), temporary=tmp_path):
        at_ports = result_of(plugin, test, "--tinysplit-rig", str(rig))
    at_ports.assert_outcomes(passed=1)
    cycles = [line for line in virtual.outlines if line.startswith("cycles")]
    assert len(cycles) == 1
    assert cycles == [line for line in at_ports.outlines if line.startswith("cycles")]


@pytest.mark.slow
def test_the_example_works_where_it_is_copied(plugin: pytest.Pytester) -> None:
    run("example", "pytest", "-o", str(plugin.path))
    plugin.runpytest_subprocess("-p", PLUGIN).assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_model_is_built_once(plugin: pytest.Pytester) -> None:
    result = result_of(
        plugin,
        f"""
        import numpy as np, pytest

        @pytest.fixture
        def project(tinysplit_project):
            return tinysplit_project({str(MODEL)!r}, ["{BOARD}"], np.load({str(CALIBRATION)!r})["x"], bits=16)

        def test_first(project):
            assert project.measure(np.load({str(SAMPLES)!r})["x"], count=1).integers.dtype == np.int16

        def test_second(project):
            assert project.project.bits == 16
        """,
    )
    result.assert_outcomes(passed=2)
    assert str(result.outlines + result.errlines).count("generating") == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tinysplit_project('nowhere')", "InputError: nowhere is not a generated folder: it has no tinysplit.json"),
        ("tinysplit_project('a.onnx', ['esp32'], 'b.npz')", "InputError: a.onnx"),
        (f"tinysplit_project({str(MODEL)!r}, ['esp32'], 'b.npz')", "UsageError: there is no board 'esp32'"),
        (f"tinysplit_project({str(MODEL)!r}, ['{BOARD}'])", "has to be quantized: give calibration samples"),
        (f"tinysplit_project({str(MODEL)!r}, ['{BOARD}'], 'b.npz')", "InputError: b.npz is missing"),
    ],
)
def test_errors_of_projects_end_in_the_test(plugin: pytest.Pytester, call: str, message: str) -> None:
    result = result_of(plugin, f"def test(tinysplit_project):\n    {call}\n")
    result.assert_outcomes(failed=1)
    (error,) = (line for line in result.outlines if line.startswith("E "))
    assert message in error
    assert not [line for line in result.outlines if "tinysplit_hil/" in line or "generator/" in line]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tinysplit-rig", "no.toml"), "--tinysplit-rig: rig *no.toml not found: *"),
        (("--tinysplit-rig", "bad.toml"), "*bad.toml is not a valid rig file (the file has the unknown key `boards`*"),
        (("--tinysplit-programmer", "jlink"), "--tinysplit-programmer jlink: expected one of openocd, *"),
    ],
)
def test_options_that_cannot_be_used(plugin: pytest.Pytester, options: tuple[str, ...], message: str) -> None:
    (plugin.path / "bad.toml").write_text("boards = 2\n[[board]]\nport = 'a'\n")
    result = result_of(plugin, "def test(tinysplit_rig):\n    pass\n", *options)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_a_test_for_other_boards_is_skipped(plugin: pytest.Pytester) -> None:
    (plugin.path / "rig.toml").write_text("[[board]]\nport = 'a'\nname = 'nucleo_f401re'\n[[board]]\nport = 'b'\n")
    plugin.makeini("[pytest]\ntinysplit_rig = rig.toml\n")
    result = result_of(
        plugin,
        f"""
        def test_other(tinysplit_rig):
            tinysplit_rig.require("{BOARD}", "{BOARD}")

        def test_three(tinysplit_rig):
            tinysplit_rig.require("nucleo_f401re", "{BOARD}", "{BOARD}")

        def test_fits(tinysplit_rig):
            tinysplit_rig.require("nucleo_f401re", "{BOARD}")
            assert (tinysplit_rig.is_virtual, tinysplit_rig.boards) == (False, ("nucleo_f401re", None))
        """,
        "-rs",
    )
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines([f"*needs {BOARD}, {BOARD}; */rig.toml has nucleo_f401re, ?*"])


def test_virtual_boards_are_all_boards(plugin: pytest.Pytester) -> None:
    test = 'def test(tinysplit_rig):\n    tinysplit_rig.require("nucleo_f401re")\n    assert tinysplit_rig.is_virtual\n'
    plugin.makeini("[pytest]\ntinysplit_rig = nowhere.toml\n")
    result_of(plugin, test, "--tinysplit-rig", "virtual").assert_outcomes(passed=1)


def test_a_project_of_another_protocol_is_not_measured(plugin: pytest.Pytester, tmp_path: Path) -> None:
    project = make_project()
    text = project.model_copy(update={"host_protocol": HostProtocol.MLPERF}).model_dump_json()
    (tmp_path / "tinysplit.json").write_text(text)
    call = f"tinysplit_project({str(tmp_path)!r}).measure('x.npz')"
    result = result_of(plugin, f"def test(tinysplit_project):\n    {call}\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *InputError: * speaks MLPerf Tiny's protocol: *"])


def test_runs_without_the_fixtures_import_nothing_of_ours(plugin: pytest.Pytester) -> None:
    result_of(
        plugin,
        """
        import sys

        def test_imports():
            ours = sorted(name for name in sys.modules if name.split(".")[0] in ("tinysplit", "tinysplit_hil", "numpy"))
            assert ours == ["tinysplit_hil", "tinysplit_hil.pytest_plugin", "tinysplit_hil.pytest_plugin.options"]
        """,
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN]
    done = subprocess.run(command, cwd=plugin.path, check=False, capture_output=True, text=True, timeout=60)
    assert "1 passed" in done.stdout, done.stdout


def test_the_plugin_is_an_entry_point() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\ntinysplit = "tinysplit_hil.pytest_plugin"\n' in text
