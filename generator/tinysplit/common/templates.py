"""The Jinja2 environment of all templates: undefined names are errors, `%%` starts a line statement."""

import re
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_eval_context, select_autoescape
from jinja2.nodes import EvalContext

from tinysplit.common import package_files
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


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(package_files.templates()),
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
