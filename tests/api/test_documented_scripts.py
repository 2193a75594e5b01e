"""The scripts of the pages about the library and the notebook run as they stand."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from example_folders.example import FOLDER, shared_example

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = DOCS / "do" / "library.md"
NOTEBOOK = FOLDER / "tiny_cnn.ipynb"


def cells() -> list[dict[str, Any]]:
    notebook: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    return list(notebook["cells"])


def execute(sources: Sequence[str], name: str) -> dict[str, Any]:
    """Return the names that the sources define, executed one after the other in one namespace."""
    names: dict[str, Any] = {}
    for number, source in enumerate(sources, 1):
        exec(compile(source, f"{name} {number}", "exec"), names)  # noqa: S102 (what the documentation tells to run)
    return names


def scripts(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_scripts_are_typed(tmp_path: Path) -> None:
    pages = (SCRIPT, DOCS / "index.md", DOCS / "understand" / "prediction.md")
    texts = {page.stem: "\n".join(scripts(page)) for page in pages}
    texts["notebook"] = "\n".join("".join(cell["source"]) for cell in cells() if cell["cell_type"] == "code")
    for name, text in texts.items():
        (tmp_path / f"{name}_script.py").write_text(text, encoding="utf-8")
    command = (sys.executable, "-m", "mypy", "--strict", *map(str, tmp_path.iterdir()))
    found = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=False, timeout=300)
    assert found.returncode == 0, found.stdout


def test_the_notebook_stores_no_outputs() -> None:
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert code
    assert not [cell for cell in code if cell["outputs"] or cell["execution_count"] is not None]
    assert len({cell["id"] for cell in cells()}) == len(cells())


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: the example's files, and what both scripts generate, as other tests have built it."""
    _, built = shared_example("nucleo_g071rb", "nucleo_g071rb")
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    shutil.copytree(built, tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_script(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = execute(scripts(SCRIPT), SCRIPT.name)
    assert names["mixed"].folder == Path("mixed")
    measured = names["measured"]
    assert measured.is_bit_exact
    assert measured.latency_s == pytest.approx(names["found"].latency_s, rel=0.05)
    assert json.loads((example / "out" / "measurement.json").read_text()) == measured.to_json()
    printed = capsys.readouterr().out
    assert printed.startswith(
        "links at 4000000 baud, assumed for short wires: `tinysplit wiring` tests it\n"
        "removed rows and columns that no layer reads: 0.81 M MACs become 0.43 M\nsplitting tiny_cnn"
    )
    assert "accuracy 97.78%" in printed


def test_script_about_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    page = DOCS / "understand" / "prediction.md"
    found = execute(scripts(page), page.name)["found"]
    assert 0 < found.latency_s <= found.period_s
    assert capsys.readouterr().out.startswith(f"{found.latency_s} {found.period_s} {found.energy_j}\n")


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_script_of_the_package_index(capsys: pytest.CaptureFixture[str]) -> None:
    names = execute(scripts(DOCS / "index.md"), "index.md")
    assert names["measured"].is_bit_exact
    assert capsys.readouterr().out.endswith("True\n")


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    names = execute(["".join(cell["source"]) for cell in cells() if cell["cell_type"] == "code"], NOTEBOOK.name)
    assert names["measured"].is_bit_exact
    assert {1, 2} == {layer.board for layer in names["split"].layers}
    printed = capsys.readouterr().out
    assert "building 2 projects ..." in printed
    assert re.search(r"layer \d+ dense", printed)
