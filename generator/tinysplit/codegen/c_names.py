"""The external names of a C library, which all begin with one prefix, so that a program can have several libraries."""

import re
from collections.abc import Collection, Iterable, Mapping

from tinysplit.common.errors import InputError
from tinysplit.settings.programs import PREFIX

OWN = "tinysplit"  # the prefix of what users call, in the sources

# Declarations and definitions in the first column. Other libraries may have the same names: static ones and types.
_DECLARED = re.compile(
    r"^(?!static\b|typedef\b|struct\b|enum\b)(?:__attribute__\(\(.*?\)\)\s+)?(?:[A-Za-z_]\w*[\s*]+)+"
    r"(\w+(?:,\s*\w+)*)\s*[(\[=;]",
    re.MULTILINE,
)
# Of tinysplit_port.h and of the ports, which all libraries have.
_SHARED = r"(?:port|port_t|calls_t|PORT_H)\b|(?:posix|hal|freertos|zephyr|bare)_"
_INCLUDE = re.compile(r"^\s*#\s*include\b")
_HEADER = re.compile(rf"\b{OWN}(\.h|\.hpp)\b")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = """
    alignas alignof and asm auto bool break case catch char class const continue default delete do double else
    enum explicit export extern false float for friend goto if inline int long mutable namespace new not
    nullptr operator or private protected public register restrict return short signed sizeof static struct
    switch template this throw true try typedef typename union unsigned using virtual void volatile while xor
"""


def check_prefix(prefix: str) -> None:
    """Raise InputError for a prefix that no identifier of C and C++ can begin with."""
    if not _IDENTIFIER.fullmatch(prefix) or prefix in _KEYWORDS.split() or prefix.startswith("_"):
        raise InputError(f"{PREFIX(prefix)}: names in C have letters, digits and _, and begin with a letter (as kws)")


def with_prefix(texts: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the texts of a library by their file names, with `prefix` before all external names and in file names."""
    names = _external(texts.values())
    return {_file_name(name, prefix): prefixed(text, prefix, names) for name, text in texts.items()}


def prefixed(text: str, prefix: str, names: Collection[str] = ()) -> str:
    """Return a text in which what users call has the prefix in place of ours, and `names` have it in front."""
    own = rf"{OWN}_(?!{_SHARED})(\w+)|{OWN.upper()}_(?!{_SHARED})(\w+)|{OWN}(?=::)"
    words = re.compile(rf"\b(?:({'|'.join(sorted(names)) or '(?!)'})\b|{own})")

    def renamed(found: re.Match[str]) -> str:
        internal, public, macro = found.groups()
        if macro:
            return f"{prefix.upper()}_{macro}"
        return f"{prefix}_{internal or public}" if internal or public else prefix

    return "\n".join(
        _HEADER.sub(rf"{prefix}\1", line) if _INCLUDE.match(line) else words.sub(renamed, line)
        for line in text.split("\n")
    )


def _external(texts: Iterable[str]) -> set[str]:
    lists = (found.group(1) for text in texts for found in _DECLARED.finditer(text))
    return {name for names in lists for name in re.findall(r"\w+", names) if not name.startswith(OWN)}


def _file_name(name: str, prefix: str) -> str:
    stem, dot, suffix = name.partition(".")
    return f"{prefix}{dot}{suffix}" if stem == OWN else name
