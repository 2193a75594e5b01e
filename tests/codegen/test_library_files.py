"""Files of libraries: the prefix of all names, C++, and what is refused."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from libraries.cases import G071, Case, split
from session.compiler_cache import compiled_each

PROGRAM = """#include "kws.hpp"

struct Mine : kws::Application {
  uint8_t seen = 0;
  OWN
};

int main() {
  static Mine mine;
  static const tinysplit_port_t port = {};
  if (port.send) mine.begin(port, 1);
  return 0;
}
"""
GIVES = "bool input(kws_input_t *to) override { to[0] = 1; return true; }"
TAKES = "void output(const kws_output_t *from) override { seen = static_cast<uint8_t>(from[0]); }"


def exported(folder: Path) -> set[str]:
    """Return the external names of the C files of a folder, compiled."""
    files = compiled_each(folder, "gcc", "-std=c11", "-O1", "-I.")
    listed = subprocess.run(["nm", "-g", "--defined-only", *files], capture_output=True, text=True, check=True).stdout
    return {words[-1] for words in map(str.split, listed.splitlines()) if len(words) == 3}


def test_all_names_have_the_prefix_so_that_a_program_has_two_networks(tmp_path: Path) -> None:
    example.generate_example(tmp_path / "whole", "nucleo_l452re")
    folders = {"kws": Case("streamed").folder, "ic": tmp_path / "whole", "tinysplit": Case("streamed").folder}
    names = set[str]()
    for prefix, folder in folders.items():
        out = tmp_path / prefix
        board = ("--board", "2") if prefix != "ic" else ()
        assert f"include {prefix}.h" in run("library", str(folder), "-o", str(out), "--prefix", prefix, *board)
        own = exported(out)
        assert own
        assert all(name.startswith(f"{prefix}_") for name in own)
        assert not own & names
        names |= own
        other = {each for each in folders if each != prefix} | {"TINYSPLIT_INPUT" if prefix != "tinysplit" else "KWS_"}
        assert not any(f" {each}_infer" in (out / f"{prefix}.h").read_text() for each in other)


@pytest.mark.parametrize("prefix", ["9kws", "k-ws", "int", "_kws", "kws net"])
def test_a_prefix_that_begins_no_name_of_c_is_refused(prefix: str, tmp_path: Path) -> None:
    arguments = ("library", str(Case("two").folder), "-o", str(tmp_path / "library"), "--prefix", prefix)
    says = run(*arguments, expect=BAD_INPUT)
    assert says.startswith(f"error: --prefix {prefix}: names in C have letters, digits and _")
    assert not (tmp_path / "library").exists()


def test_a_board_of_a_split_is_chosen(tmp_path: Path) -> None:
    run("library", str(Case("two").folder), "-o", str(tmp_path / "library"), "--board", "2")
    header = (tmp_path / "library" / "tinysplit.h").read_text()
    assert "#define TINYSPLIT_BOARD 2\n" in header
    assert "Link 0: to board 1 at 921600 baud" in header
    says = run("library", str(Case("two").folder), "-o", str(tmp_path / "other"), "--board", "3", expect=BAD_INPUT)
    assert says == "error: there is no board 3: the folder has 2"


def test_a_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(Case("two").folder, folder)
    link = next(folder.glob("board1_*/lib/tinysplit_firmware/src/link.c"))
    link.write_text(f"{link.read_text()}\n")
    says = run("library", str(folder), "-o", str(tmp_path / "library"), expect=BAD_INPUT)
    assert "is of another version of tinysplit, or link.c was changed: generate it again" in says
    assert not (tmp_path / "library").exists()


def test_a_folder_that_is_not_one_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    says = run("library", str(tmp_path / "out"), "-o", str(tmp_path / "library"), expect=BAD_INPUT)
    assert "out" in says


def test_several_boards_that_read_the_input_are_refused(tmp_path: Path) -> None:
    split((G071, G071), "--slices", "rows", out=tmp_path / "rows")
    manifest = tmp_path / "rows" / "out" / "tinysplit.json"
    found = json.loads(manifest.read_text())
    for board in found["boards"]:
        board["takes_input"] = True
    manifest.write_text(json.dumps(found))
    says = run("library", str(manifest.parent), "-o", str(tmp_path / "library"), expect=USAGE)
    assert "boards 1, 2 read the input, and one has to begin the runs: split with --input-source board" in says


@pytest.mark.parametrize("number", [1, 2])
def test_the_class_for_cpp_compiles(number: int, tmp_path: Path) -> None:
    library = tmp_path / "library"
    run("library", str(Case("two").folder), "-o", str(library), "--board", str(number), "--prefix", "kws")
    (tmp_path / "main.cpp").write_text(PROGRAM.replace("OWN", GIVES if number == 1 else TAKES))
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{library}")
    objects = compiled_each(library, "gcc", "-std=c11", "-I.")
    subprocess.run(["g++", *flags, "main.cpp", *objects, "-o", "program"], cwd=tmp_path, check=True)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_finds_the_library_with_a_port(tmp_path: Path) -> None:
    library = tmp_path / "library"
    run("library", str(Case("two").folder), "-o", str(library), "--board", "1", "--prefix", "kws")
    (tmp_path / "CMakeLists.txt").write_text(
        """cmake_minimum_required(VERSION 3.16)
project(board C)
find_package(kws CONFIG REQUIRED PATHS library NO_DEFAULT_PATH)
add_executable(board library/ports/posix/example/main.c)
target_link_libraries(board PRIVATE kws)
"""
    )
    for command in (("-S", ".", "-B", "build", "-D", "KWS_PORT=posix"), ("--build", "build")):
        subprocess.run(["cmake", *command], cwd=tmp_path, check=True, capture_output=True)
    assert subprocess.run([tmp_path / "build" / "board"], check=False).returncode == 2  # no links are named


def test_examples_of_ports_have_the_prefix(tmp_path: Path) -> None:
    library = tmp_path / "library"
    run("library", str(Case("two").folder), "-o", str(library), "--board", "1", "--prefix", "kws")
    hal = (library / "ports" / "stm32_hal" / "example" / "main.c").read_text()
    assert '#include "kws.h"\n#include "tinysplit_hal.h"' in hal
    assert "kws_begin(&hal.port, &application, seed());" in hal
    assert "tinysplit_hal_begin(&hal, &kws_calls, links, uarts, KWS_LINKS);" in hal
    sketch = (library / "ports" / "arduino" / "example" / "example.ino").read_text()
    assert "#include <kws.hpp>" in sketch
    assert "public kws::Application" in sketch


def test_packages_describe_the_library(tmp_path: Path) -> None:
    library = tmp_path / "library"
    run("library", str(Case("two").folder), "-o", str(library), "--board", "1", "--prefix", "kws")
    package = json.loads((library / "library.json").read_text())
    assert (package["name"], package["build"]["srcFilter"]) == ("kws", ["+<*.c>"])
    assert "name: kws\n" in (library / "zephyr" / "module.yml").read_text()
