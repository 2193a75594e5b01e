"""The Jinja2 environment of all templates: undefined names are errors, `%%` starts a line statement."""

import re
import sys
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined, pass_eval_context, select_autoescape
from jinja2.bccache import Bucket
from jinja2.nodes import EvalContext
from typing_extensions import override

from tinysplit.common import package_files
from tinysplit.common.cache import read_cached, write_cached
from tinysplit.common.texts import quoting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def render(template: str, context: "DataclassInstance") -> str:
    """Return the text of `templates/<template>`, with the fields of `context`, a frozen dataclass, as variables.

    Templates only print and loop: Python computes every fact. Raises jinja2.UndefinedError for a name without a field.
    """
    return (
        _environment()
        .get_template(template)
        .render({field.name: getattr(context, field.name) for field in fields(context)})
    )


class _CompiledTemplates(BytecodeCache):
    """Keeps compiled templates by their path and text, and by what compiles them."""

    _KIND = "templates"
    _COMPILER = f"{jinja2.__version__} {sys.version}".encode() + Path(__file__).read_bytes()

    @override
    def load_bytecode(self, bucket: Bucket) -> None:
        read_cached(self._KIND, self._key(bucket), bucket.bytecode_from_string)

    @override
    def dump_bytecode(self, bucket: Bucket) -> None:
        write_cached(self._KIND, self._key(bucket), bucket.bytecode_to_string())

    def _key(self, bucket: Bucket) -> bytes:
        return self._COMPILER + f"{bucket.key} {bucket.checksum}".encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(package_files.templates()),
        bytecode_cache=_CompiledTemplates(),
        undefined=StrictUndefined,
        line_statement_prefix="%%",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=select_autoescape(("html.j2", "svg.j2"), default=False, default_for_string=False),
        finalize=_finalize,
    )
    environment.filters["dedent"] = _dedent
    for quote in (quoting.c_comment, quoting.c_string, quoting.line_comment, quoting.markdown_cell):
        environment.filters[quote.__name__] = quote
    return environment


@pass_eval_context
def _finalize(context: EvalContext, value: object) -> object:
    """Return what a template prints, in HTML and SVG without the characters that XML cannot hold."""
    return quoting.xml_text(value) if context.autoescape and type(value) is str else value


def _dedent(text: str) -> str:
    """Return `text` with one level of C's indentation, two spaces, less."""
    return re.sub(r"(?m)^  ", "", text)
