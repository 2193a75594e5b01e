"""Options of commands, derived from the declarations of choices."""

from typing import Any

import typer

from tinysplit.settings.setting import Setting, worded


def option(setting: Setting, text: str = "", **others: Any) -> Any:  # noqa: ANN401 (typer's own signature)
    """Return the option of a choice for a signature; `text` is the help of a command that has its own."""
    names = f"{setting.option}/{setting.off}" if setting.has_off else setting.option
    short = (setting.short,) if setting.short else ()
    limits = {"min": setting.at_least, "max": setting.at_most}
    details = {"help": worded(text or setting.help), "rich_help_panel": setting.heading, **limits, **others}
    return typer.Option(names, *short, **details)
