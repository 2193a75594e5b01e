"""Shell blocks of README and docs: they run in the order of their page, or say behind `sh` why not.

Where a page generates and builds the example, the folder has the programs of other tests already, which then need not
be built again. Commands in other code, which name files and boards of a reader's own, are understood by the parser.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.command_line import run
from example_folders.example import FOLDER, shared_example
from tinysplit.cli.app import _COMMANDS, imported_command

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
TUTORIAL = ROOT / "docs" / "start" / "tutorial.md"  # tests/cli/test_tutorial.py runs it
BLOCK = re.compile(r"^```(?:sh|console)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUT = {"README.md": "digits/out", "commands.md": "out/tiny_cnn"}  # where a page builds the example
PLACEHOLDER = re.compile(r"\.\.\.|\[--|\|")  # commands with these are patterns


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return what stands behind `sh`, and the text, of each block."""
    return [(why.strip(), text) for why, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def lines(text: str) -> Iterator[str]:
    """Yield lines of a shell, those that go on joined, without comments."""
    for line in text.replace("\\\n", " ").splitlines():
        if plain := re.sub(r"(?:^|\s)#.*$", "", line).strip():
            yield plain


def indented_commands(page: Path) -> Iterator[str]:
    """Yield the commands in indented code of a page."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^ {4}.*\n)+", re.sub(BLOCK, "", text), re.MULTILINE):
        yield from (line for line in lines(block) if line.startswith("tinysplit "))


RUNNING = [page for page in PAGES if page != TUTORIAL and any(not why for why, _ in blocks(page))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new current folder with what pages name: the checkout's examples, and a network of the reader."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FOLDER, tmp_path / "examples" / FOLDER.name)
    shutil.copy(FOLDER / "tiny_cnn.onnx", tmp_path / "net.onnx")
    shutil.copy(FOLDER / "calibration.npz", tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = OUT.get(page.name)
    for why, text in blocks(page):
        for command in (part.strip() for line in lines(text) if not why for part in line.split("&&")):
            name, *arguments = shlex.split(command)
            if name == "cd":
                monkeypatch.chdir(arguments[0])
                continue
            assert name == "tinysplit", f"{page.name}: `{command}` cannot run here: say why behind ```sh"
            if arguments[0] == "generate" and built:
                shutil.copytree(shared_example("nucleo_g071rb", "nucleo_g071rb")[1], folder / built)
                arguments += ["--force"]
            run(*arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_does_not_run_says_why(page: Path) -> None:
    reasons = [why for why, _ in blocks(page) if why]
    assert [why for why in reasons if not why.startswith(("skip: ", "hardware"))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_in_other_code_are_understood(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (line for line in indented_commands(page) if not PLACEHOLDER.search(line)):
        _, *words = shlex.split(re.split(r" [>&]|;", command)[0])
        name, *arguments = [word for word in words if word not in {"--no-config", "--verbose"}]
        assert name in _COMMANDS, command
        parsed = imported_command(name)
        parsed = parsed.commands[arguments.pop(0)] if name == "bench" else parsed
        known = {option for parameter in parsed.params for option in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in arguments if re.match(r"--?[a-z]", word)}
        assert used <= known, f"{page.name}: {command}: {used - known}"
