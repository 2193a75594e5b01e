"""The wheel, installed in an empty environment outside the checkout."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import tinysplit
from session import built_release

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel() -> Path:
    return built_release.wheel()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` of an environment with the wheel and, without a download, this environment's dependencies.

    Their folder is named by a .pth file. Python follows no .pth file inside a folder named so: the editable
    installation of the checkout stays out of reach.
    """
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)],
        check=True,
    )
    site_packages = next(folder.glob("lib/python*/site-packages"))
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run(installed: Path, program: str, *arguments: str, cwd: Path) -> str:
    """Run a program of the environment far from the checkout and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(
        [str(installed / program), *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def contents(folder: Path) -> dict[Path, bytes]:
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_wheel_holds_its_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tinysplit", "tinysplit_hil", "virtual_stm32"}
    assert not [name for name in names if name.endswith((".pyc", ".o", ".elf"))]
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    header, _, description = zipfile.ZipFile(wheel).read(metadata).decode().partition("\n\n")
    assert {"License-Expression: Apache-2.0", f"Version: {tinysplit.__version__}"} <= set(header.splitlines())
    assert "Classifier: Typing :: Typed" in header
    assert "tinysplit example tiny_cnn" in description
    assert set(re.findall(r"\]\((?!https://)[^)]*\)", description)) == set()  # links that an index page cannot follow


def test_installed_resources_are_those_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    script = (
        "from tinysplit.common import package_files as r\n"
        "import tinysplit; print(tinysplit.__file__)\n"
        "for folder in (r.templates(), r.firmware(), r.boards(), r.examples(), r.docs()): print(folder)"
    )
    package, *folders = map(Path, run(installed, "python", "-c", script, cwd=tmp_path).split())
    assert package.is_relative_to(installed.parent)
    for name, folder in zip(("templates", "firmware", "boards", "examples", "docs"), folders, strict=True):
        assert folder.is_relative_to(package.parent)
        assert contents(folder) == contents(ROOT / name)


def test_installed_wheel_splits_generates_and_builds(installed: Path, tmp_path: Path) -> None:
    run(installed, "tinysplit", "example", "tiny_cnn", "-o", ".", cwd=tmp_path)
    board = ("--board", "nucleo_g071rb")
    run(installed, "tinysplit", "split", "tiny_cnn.onnx", *board, *board, "--use-all", "-o", "split.json", cwd=tmp_path)
    arguments = ("--split", "split.json", "--samples", "calibration.npz", "--bits", "8", "-o", "out")
    run(installed, "tinysplit", "generate", "tiny_cnn.onnx", *arguments, cwd=tmp_path)
    report = json.loads(run(installed, "tinysplit", "build", "out", "--json", cwd=tmp_path))
    assert len(report["boards"]) == 2
    assert all((tmp_path / built["elf"]).is_file() for built in report["boards"])
