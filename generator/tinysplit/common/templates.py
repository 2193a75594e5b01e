"""The Jinja2 environment of all templates: undefined names are errors, `%%` starts a line statement."""

import re
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from tinysplit.common import package_files

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
        autoescape=select_autoescape(("html.j2",), default=False, default_for_string=False),
    )
    environment.filters["dedent"] = _dedent
    return environment


def _dedent(text: str) -> str:
    """Return `text` with one level of C's indentation, two spaces, less."""
    return re.sub(r"(?m)^  ", "", text)
