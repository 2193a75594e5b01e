"""What others name goes into every language as it is: each reader of the language gets the same text back."""

import csv
import io
import subprocess
import tomllib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.table import Table

from commands.hostile import HOSTILE, PROGRAM_NAMES
from tinysplit.common.tables import plain_table
from tinysplit.common.texts import quoting
from tinysplit.common.texts.console import PlainConsole


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True).stdout.decode(errors="surrogateescape")


@pytest.mark.parametrize("text", HOSTILE)
def test_shells_get_the_words_on_one_line(text: str, tmp_path: Path) -> None:
    line = quoting.shell_line(("printf", "%s.", text, f"--{text}"))
    assert line.isprintable()
    assert (
        subprocess.run(["bash", "-c", line], check=True, capture_output=True, cwd=tmp_path).stdout.decode(
            errors="surrogateescape"
        )
        == f"{text}.--{text}."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", HOSTILE)
def test_tcl_gets_one_word(text: str) -> None:
    tkinter = pytest.importorskip("tkinter", reason="needs Tcl: apt-get install python3-tk")
    interpreter = tkinter.Tcl()
    assert interpreter.eval(f"set found {quoting.tcl_word(text)}") == text


@pytest.mark.parametrize("text", HOSTILE)
def test_c_gets_its_strings_and_comments(text: str, tmp_path: Path) -> None:
    source = tmp_path / "text.c"
    source.write_text(
        "#include <stdio.h>\n"
        f"/* {quoting.c_comment(text)} */\n"
        f'int main(void) {{ fputs("{quoting.c_string(text)}7", stdout); return 0; }}\n',
        encoding="utf-8",
    )
    program = str(tmp_path / "text")
    output_of("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", str(source), "-o", program)
    assert output_of(program) == f"{text}7"


@pytest.mark.parametrize("text", HOSTILE)
def test_toml_gets_the_string(text: str) -> None:
    read = tomllib.loads(f"# {quoting.line_comment(text)}\nkey = {quoting.toml_string(text)}")
    assert read == {"key": text.encode(errors="replace").decode()}


@pytest.mark.parametrize("text", HOSTILE)
def test_xml_is_well_formed(text: str) -> None:
    """What XML 1.0 can hold comes back, all else as question marks."""
    element = ET.Element("text", name=quoting.xml_text(text))
    read = ET.fromstring(ET.tostring(element, encoding="unicode")).get("name")  # noqa: S314 (our own)
    assert read is not None
    kept = {"\t", "\n", "\x85", *filter(str.isprintable, text), "\u202e", "\u2028"}
    assert read == "".join(each if each in kept else "?" for each in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_spreadsheets_get_no_formula(text: str) -> None:
    stream = io.StringIO()
    csv.writer(stream).writerow([quoting.csv_cell(text)])
    [[cell]] = csv.reader(io.StringIO(stream.getvalue(), newline=""))
    assert cell.removeprefix("'") == text.removeprefix("'")
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_markdown_gets_plain_text_on_one_line() -> None:
    assert quoting.markdown_cell("a|b\n[x](y) `z` <i> *e*") == r"a\|b\\n\[x\](y) \`z\` \<i\> \*e\*"


def test_a_script_in_html_is_not_ended() -> None:
    assert quoting.json_in_html('"</script>"') == '"\\u003c/script>"'


@pytest.mark.parametrize("text", HOSTILE)
def test_terminals_get_no_control_and_no_markup(text: str) -> None:
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=False, width=500)
    table, ours = Table("head", text), plain_table("head", numbers=(text,))
    for each in (table, ours):
        each.add_row(text, text)
        console.print(each)
    console.print(text)
    printed = file.getvalue()
    assert all(each.isprintable() for each in printed.replace("\n", ""))
    for line in text.split("\n"):
        assert printed.count(quoting.printable(line).strip()) >= 3


@pytest.mark.parametrize("text", PROGRAM_NAMES)
def test_serial_numbers_are_plain(text: str) -> None:
    assert not quoting.is_serial_number(text)


@pytest.mark.parametrize("text", ["066EFF555185754867", "0031003A3232510939393731", "a-b_c.d:1"])
def test_plain_serial_numbers(text: str) -> None:
    assert quoting.is_serial_number(text)
