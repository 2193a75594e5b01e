import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from programs.projects import make_project
from session.compiler_cache import compiler_behind
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_boards
from tinysplit.build import packages
from tinysplit.build import platformio as build
from tinysplit.build.stamp import is_built
from tinysplit.common.errors import CheckFailedError, InputError, ToolError
from tinysplit.common.project_files import ELF_IN_PROJECT

pytestmark = pytest.mark.usefixtures("by_platformio")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One empty cache for the module, so that the preparation itself is tested."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def environment(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


ARCHITECTURES = {
    "cortex-m0": "v6S-M",
    "cortex-m0plus": "v6S-M",
    "cortex-m3": "v7",
    "cortex-m4": "v7E-M",
    "cortex-m7": "v7E-M",
    "cortex-m33": "v8-M.mainline",
}
ONE_BOARD_A_CORE = (
    "nucleo_g071rb",
    "nucleo_f401re",
    "nucleo_h743zi",
    "nucleo_u575zi_q",
)  # others: tests/pipeline/test_pipeline.py
OVERFLOW = '__attribute__((section(".weights"), used)) const char much[200000] = {1};\n'


def machine_flags(elf: Path) -> str:
    """Return what GNU readelf says of the core that the ELF is for."""
    return subprocess.run(["arm-none-eabi-readelf", "-A", str(elf)], capture_output=True, text=True, check=True).stdout


def is_alive(process_id: int) -> bool:
    try:
        return Path("/proc", str(process_id), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "board",
    [
        pytest.param(board, id=board.name, marks=() if board.name in ONE_BOARD_A_CORE else pytest.mark.nightly)
        for board in load_boards()
    ],
)
def test_builds_for_every_board(board: Board, tmp_path: Path) -> None:
    project = make_project(tmp_path / "a board", board_name=board.name)
    built: list[Path] = []
    (elf,) = build.build_projects([project], built.append)
    assert built == [project]
    attributes = machine_flags(elf)
    assert f"Tag_CPU_arch: {ARCHITECTURES[board.device.core]}\n" in attributes
    assert "Tag_ABI_VFP_args" not in attributes  # soft float
    assert (project / ".pio" / "system.map").is_file()


NAMES = ("a $b$(c) ", "a;b 'c' \"d\" \u00e9 #%,=")  # that shells, SCons, make or Tcl might take for something else


def test_messages_are_in_english_whatever_the_users_language_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    monkeypatch.setenv("LANGUAGE", "tr")
    found = packages.environment()
    assert (found["LC_ALL"], found["LANGUAGE"]) == ("tr_TR.UTF-8", "en")  # gettext prefers LANGUAGE


def test_two_callers_build_two_projects_each_at_once(tmp_path: Path, cache: Path) -> None:
    shutil.rmtree(cache / "tinysplit", ignore_errors=True)  # both callers want to prepare
    pairs = [[make_project(tmp_path / f"{caller}{n}") for n in range(2)] for caller in NAMES]
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(build.build_projects, pairs))
    assert all(elf.is_file() for elves in results for elf in elves)
    assert len(list(tmp_path.iterdir())) == len(NAMES) * 2  # and no stray folder


def test_a_build_by_another_platformio_leaves_the_program(tmp_path: Path) -> None:
    """PlatformIO empties a build folder that another version of it has made."""
    project = make_project(tmp_path / "board")
    (elf,) = build.build_projects([project])
    program = elf.read_bytes()
    checksum = elf.parent.parent / "project.checksum"
    checksum.write_text(f"another than {checksum.read_text()}")
    command = (sys.executable, "-m", "platformio", "run", "-e", "system", "-d", str(project))
    subprocess.run(command, env=packages.environment(), capture_output=True, check=True)
    assert elf.read_bytes() == program
    assert is_built(project)
    assert (project / ".pio" / "run" / "system" / "firmware.elf").read_bytes() == program


def test_a_second_build_follows_a_changed_source_and_linker_script(tmp_path: Path) -> None:
    project = make_project(tmp_path / "board")
    (elf,) = build.build_projects([project])
    script = project / "linker.ld"
    script.write_text(script.read_text().replace("0x08000000", "0x08001000"))
    (elf,) = build.build_projects([project])
    with elf.open("rb") as stream:
        assert ELFFile(stream).get_section_by_name(".text")["sh_addr"] >= 0x08001000


def test_what_is_built_already_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path / "board")
    (elf,) = build.build_projects([project])
    started: list[Path] = []
    monkeypatch.setattr(build, "_build", lambda directories, _: started.extend(directories))
    built: list[Path] = []
    assert build.build_projects([project], built.append) == [elf]
    assert (built, started) == ([project], [])
    for changed in (project / "src" / "main.c", project / "platformio.ini", elf):
        before = changed.read_bytes()
        changed.write_bytes(before + b"\n")
        build.build_projects([project])
        assert started.pop() == project
        changed.write_bytes(before)
    build.build_projects([project])
    assert started == []


def test_builds_without_a_writable_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    (elf,) = build.build_projects([make_project(tmp_path / "board")])
    assert elf.is_file()
    assert (tmp_path / f"tinysplit-{os.getuid()}" / "cache").is_dir()


def test_the_users_platformio_variables_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATFORMIO_BUILD_FLAGS", "-DBREAK_IT")
    monkeypatch.setenv("PLATFORMIO_BUILD_DIR", str(tmp_path / "elsewhere"))
    source = "#ifdef BREAK_IT\n#error not ours\n#endif\n"
    (elf,) = build.build_projects([make_project(tmp_path / "board", source)])
    assert elf.is_file()


def test_a_compile_error_is_named_with_the_log(tmp_path: Path) -> None:
    project = make_project(tmp_path / "board", "int broken = missing;\n")
    with pytest.raises(ToolError, match=r"main\.c:1:14: error: 'missing' undeclared") as caught:
        build.build_projects([project])
    assert str(project / build.LOG_IN_PROJECT) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "missing" in (project / build.LOG_IN_PROJECT).read_text()


LOG = """\
Processing system (platform: tinysplit_system)
--------------------------------------------------------------------------------
Verbose mode can be enabled via `-v, --verbose` option
{}
========================== [FAILED] Took 0.90 seconds ==========================

Environment    Status    Duration
-------------  --------  ------------
system         FAILED    00:00:00.903
==================== 1 failed, 0 succeeded in 00:00:00.903 ====================
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("src/a.c:1:14: error: first\nsrc/b.c:2:1: error: second", "src/a.c:1:14: error: first"),
        ("Error: Nothing to build. Please put files", "Error: Nothing to build. Please put files"),
        (
            "ModuleNotFoundError: No module named 'x':\n  File \"a\", line 1:",
            "ModuleNotFoundError: No module named 'x'",
        ),
        (
            "Platform Manager: Installing nosuch\nHTTPClientError: ",
            "Platform Manager: Installing nosuch: HTTPClientError",
        ),
        ("stopped by a script", "stopped by a script"),
    ],
)
def test_the_error_is_found_in_a_log(text: str, line: str) -> None:
    assert build.first_error(LOG.format(text)) == line


def test_flash_that_overflows_is_named(tmp_path: Path) -> None:
    project = make_project(tmp_path / "board", OVERFLOW)
    with pytest.raises(CheckFailedError, match=r"^the program of board is \d+ bytes too large for FLASH$"):
        build.build_projects([project])


def test_a_missing_compiler_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="arm-none-eabi-gcc is not on the PATH: install it"):
        build.build_projects([tmp_path])


def test_a_compiler_without_newlib_is_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "arm-none-eabi-gcc"
    compiler.write_text("#!/bin/sh\necho nano.specs\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ToolError, match="libnewlib-arm-none-eabi"):
        build.build_projects([tmp_path])


@pytest.mark.parametrize(("module", "package"), [("platformio", "platformio"), ("SCons", "scons")])
def test_a_missing_package_is_named_at_once(
    module: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "find_spec", lambda name: None if name == module else name)
    with pytest.raises(ToolError, match=f"{package} is not installed: .* -m pip install {package}"):
        build.build_projects([tmp_path])


@pytest.mark.skipif(shutil.which("ccache") is None, reason="ccache is not installed")
def test_what_another_project_has_compiled_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    first, second = (make_project(tmp_path / name) for name in ("first", "second"))
    build.build_projects([first])
    compiled = ccache_count("cache_miss")
    build.build_projects([second])
    assert ccache_count("cache_miss") == compiled > 0
    assert ccache_count("direct_cache_hit") == compiled
    assert (first / ELF_IN_PROJECT).read_bytes() == (second / ELF_IN_PROJECT).read_bytes()


def ccache_count(name: str) -> int:
    found = subprocess.run(["ccache", "--print-stats"], capture_output=True, text=True, check=True).stdout
    return next(int(value) for key, value in map(str.split, found.splitlines()) if key == name)


def test_a_folder_without_a_project_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no platformio\.ini"):
        build.build_projects([tmp_path])
    assert not list(tmp_path.iterdir())


def test_a_build_that_hangs_is_stopped_with_its_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = compiler_behind()
    compiler = tmp_path / "bin" / "arm-none-eabi-gcc"
    compiler.parent.mkdir()
    new, pid = (shlex.quote(str(tmp_path / name)) for name in ("new", "pid"))
    hangs = f"echo $$ > {new}; mv {new} {pid}; exec sleep 600"
    own_path = f"PATH={shlex.quote(os.environ['PATH'])}"  # or a ccache would find this script as its compiler, for ever
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *main.c*) {hangs};; esac\n{own_path} exec {real} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(compiler.parent), prepend=os.pathsep)
    started = build._started

    @contextmanager
    def hanging(directory: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
        """Start PlatformIO; its time is over as soon as the compiler hangs, however long that takes."""
        with started(directory, environment) as process:
            wait = process.wait
            monkeypatch.setattr(process, "wait", partial(wait_for_compiler, process, wait))
            yield process

    def wait_for_compiler(process: subprocess.Popen[bytes], wait: Callable[[], int], limit_s: float = 0.0) -> int:
        if not limit_s:
            return wait()
        while not (tmp_path / "pid").exists():
            time.sleep(0.05)
        raise subprocess.TimeoutExpired(process.args, limit_s)

    monkeypatch.setattr(build, "_started", hanging)
    with pytest.raises(ToolError, match="took more than 300 s and was stopped"):
        build.build_projects([make_project(tmp_path / "board")])
    compiler_id = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 60.0
    while is_alive(compiler_id) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(compiler_id)
