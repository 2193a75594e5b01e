"""Texts of others in what tinysplit writes: one function for each language that they go into.

Names of layers, tensors, boards and classes, paths, serial numbers and outputs of programs may have any characters.
HTML and SVG are quoted by their templates (`common/templates.py`). JSON by Python's module.
"""

import re
import shlex
from collections.abc import Sequence

_NOT_IN_XML = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # compiled when it is used: slow
_SAFE_IN_TCL = re.compile(r"[^\w./:@%+=,-]", re.ASCII)
_MARKDOWN = re.compile(r"([\\`*|<>\[\]&])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_SERIAL_NUMBER = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.:-]{0,126}")


def printable(text: str) -> str:
    """Return a text on one line, without characters that control a terminal: these become escapes as in Python."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines, without characters that control a terminal but for the ends of lines."""
    return "\n".join(map(printable, text.split("\n")))


def shell_line(command: Sequence[str]) -> str:
    """Return a command as one line for a shell (bash, zsh, or sh of POSIX 2024)."""
    return " ".join(map(_shell_word, command))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    escapes = (
        each if each.isprintable() and each not in "\\'" else f"\\{each}" if each in "\\'" else _octal(each)
        for each in word
    )
    return f"$'{''.join(escapes)}'"


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogateescape"))


def tcl_word(text: str) -> str:
    """Return a text as one word of Tcl, which OpenOCD reads: nothing in it is a variable, a command or an end."""
    if not text:
        return "{}"
    return _SAFE_IN_TCL.sub(lambda match: match[0] if match[0] > "\x7f" else _tcl_character(match[0]), text)


def _tcl_character(character: str) -> str:
    return f"\\{character}" if character.isprintable() else f"\\{ord(character):03o}"


def is_serial_number(text: str) -> bool:
    """Whether a text can be the serial number of a probe: letters and digits, between them also `_`, `.`, `:` and `-`.

    Serial numbers come from whatever is plugged in, and go into command lines, scripts and udev's names of disks.
    """
    return _SERIAL_NUMBER.fullmatch(text) is not None


def c_comment(text: str) -> str:
    """Return a text in ASCII for a comment of C, an assembler or a linker script, which it cannot end."""
    ascii_text = "".join(each if each.isascii() and each.isprintable() else "?" for each in text)
    return ascii_text.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *")


def c_string(text: str) -> str:
    """Return a text of ASCII characters for the inside of a string literal of C."""
    return re.sub(r'[\\"?]|[^\x20-\x7e]', lambda match: _c_character(match[0]), text)


def _c_character(character: str) -> str:
    return f"\\{character}" if character in '\\"?' else _octal(character)


def line_comment(text: str) -> str:
    """Return a text for a comment that ends with its line: of CMake, Make, ini and TOML files, and of shells."""
    return printable(text)


def xml_text(text: str) -> str:
    """Return a text without the characters that XML cannot hold, for a template or module that escapes `<` and `&`."""
    return re.sub(_NOT_IN_XML, "?", text)


def markdown_cell(text: str) -> str:
    """Return a text for Markdown, in a line or a cell of a table: none of its characters has a meaning."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def csv_cell(text: str) -> str:
    """Return a text for a cell of a CSV file, which a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def toml_string(text: str) -> str:
    """Return a text as a string of TOML; halves of surrogate pairs, which TOML cannot hold, become question marks."""
    characters = ("?" if "\ud800" <= each <= "\udfff" else _toml_character(each) for each in text)
    return f'"{"".join(characters)}"'


def _toml_character(character: str) -> str:
    if character in '\\"':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def json_in_html(text: str) -> str:
    """Return JSON for the inside of a `<script>` of HTML, which it cannot end."""
    return text.replace("<", "\\u003c")
