"""Jinja2 as all templates use it: undefined names are errors, `%%` starts a line statement."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tinysplit.common import resources


def render(template: str, **context: object) -> str:
    """Render `templates/<template>`; the templates only loop and print, so every fact stands in `context`."""
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(resources.templates()),
        undefined=StrictUndefined,
        line_statement_prefix="%%",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (C is no HTML)
    )
