"""Commands and groups of typer: plain help, no empty values, and values of the config file as defaults.

It is imported fast, as each command has it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typing_extensions import override

from tinysplit.common.choices import AUTO
from tinysplit.common.errors import InputError, UsageError
from tinysplit.settings.setting import begun_by

CommandLineError: Any = typer.BadParameter.__mro__[1]  # click's UsageError, which typer has in itself
CONFIG_NAME = "tinysplit.toml"
_TAKEN = "tinysplit.config"  # in click's context
_SHOWS_ALL = "tinysplit.help_all"  # likewise


def check_not_empty(command: Any, ctx: Any, args: list[str]) -> None:  # noqa: ANN401 (click's command and context)
    """Raise click's error of a command line for an argument or a value of an option that is empty."""
    given, _, order = command.make_parser(ctx).parse_args(args=list(args))
    for parameter in order:
        value = given.get(parameter.name)
        if value == "" or (isinstance(value, list | tuple) and "" in value):
            is_option = parameter.param_type_name == "option"
            name = parameter.opts[0] if is_option else f"argument {parameter.name.upper()}"
            raise CommandLineError(f"{name} is empty, but needs a value", ctx=ctx)


def without_checks_of_defaults(parameters: Iterable[Any]) -> list[Any]:
    """Return parameters of which typer checks only what is given: for its checks, it imports pydantic.

    Defaults are None, or values of the type of the parameter.
    """
    parameters = list(parameters)
    for each in parameters:
        if "process_value" not in vars(each):
            each.process_value = partial(_processed, each, each.process_value)
    return parameters


def _processed(parameter: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:  # noqa: ANN401 (click's)
    is_default = value is None or (value is parameter.default and isinstance(value, Enum))
    if not is_default or parameter.required or parameter.multiple or parameter.nargs != 1:
        return process(ctx, value)
    return parameter.callback(ctx, parameter, value) if parameter.callback else value


class CheckedCommand(TyperCommand):
    """A command that refuses empty values: paths would be the current folder, texts and names no choice.

    With `first_options`, the names of parameters, --help has these and those that are required, and --help-all all.
    """

    first_options: Sequence[str] = ()

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        check_not_empty(self, ctx, args)
        return super().parse_args(ctx, args)

    @override
    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and --help-all."""
        return without_checks_of_defaults([*super().get_params(ctx), _help_all_option()])

    @override
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, all of them under their headings."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        shows_all = _SHOWS_ALL in ctx.meta or not self.first_options
        for parameter in super().get_params(ctx) if shows_all else self._first_params(ctx):
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            heading = getattr(parameter, "rich_help_panel", None) if shows_all else usual
            if record := parameter.get_help_record(ctx):
                sections.setdefault(heading or usual, []).append(record)
        for heading, records in filter(lambda section: section[1], sections.items()):
            with formatter.section(heading):
                formatter.write_dl(records)

    def _first_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 (click's context)
        """Return the arguments, the first options in their order, and those that show help."""
        of_name = {parameter.name: parameter for parameter in self.params}
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        helps = [each for each in self.get_params(ctx) if each not in self.params]
        return [*arguments, *(of_name[name] for name in self.first_options), *helps]


@cache
def _help_all_option() -> Any:  # noqa: ANN401 (click's option)
    """Return the option that shows the help with all options and ends."""

    def show(context: typer.Context, is_wanted: bool) -> None:
        if is_wanted and not context.resilient_parsing:
            context.meta[_SHOWS_ALL] = True
            typer.echo(context.get_help())
            raise typer.Exit

    def command(
        _all: Annotated[
            bool,
            typer.Option(
                "--help-all", callback=show, is_eager=True, expose_value=False, help="Show all options and exit."
            ),
        ] = False,
    ) -> None: ...

    only = typer.Typer(add_completion=False)
    only.command()(command)
    return typer.main.get_command(only).params[0]


class PlainGroup(TyperGroup):
    """A group of commands whose help has the first paragraph of each of them."""

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in their order."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, (self.commands[name].help or "").split("\n\n")[0]) for name in self.commands])


def value_mistake(error: Exception) -> str | None:
    """Return what is wrong with the value of an option ("0 has to be at least 1"), None if its text says that."""
    if error.__cause__ is None:
        return None
    from pydantic import ValidationError

    from tinysplit.common.file_schema import wrong_value

    return wrong_value(error.__cause__) if isinstance(error.__cause__, ValidationError) else None


@dataclass(frozen=True)
class _Taken:
    """A config file, and its key for each parameter that has its value from there."""

    path: Path
    key_of: Mapping[str, str]

    def blamed(self, error: UsageError) -> InputError | None:
        """Return the error with file and key, None for one of no value of the file."""
        setting, what = begun_by(error.message) or (error.setting, f": {error.message}")
        if setting is None or setting.name not in self.key_of:
            return None
        return InputError(f"{self.path}: {self.key_of[setting.name]}{what}")


def config_path(given: Mapping[str, Any]) -> Path | None:
    """Return the config file beside the model that the command line names, or in the current folder, if any."""
    models = [given["model"]] if "model" in given else given.get("models", ())[:1]
    folders = (*(Path(model).parent for model in models), Path())
    return next((path for path in (folder / CONFIG_NAME for folder in folders) if path.exists()), None)


class ConfiguredCommand(CheckedCommand):
    """Takes what the command line leaves out from the config file, and says so on stderr."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options, and others from the config file. Raises InputError for a mistake in the file."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        given = {name: value for name, value in given.items() if isinstance(value, bool | str | list | tuple)}
        path = config_path(given)
        is_wanted = ctx.find_root().params.get("_config", True) and not given.get("help") and not ctx.resilient_parsing
        if path and is_wanted:
            ctx.default_map = self._defaults(ctx, path, set(given))
        return super().parse_args(ctx, args)

    @override
    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises InputError for a value of the config file that makes no sense."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            taken: _Taken | None = ctx.meta.get(_TAKEN)
            blamed = taken and taken.blamed(error)
            if not blamed:
                raise
            raise blamed from error

    def _defaults(self, ctx: Any, path: Path, given: set[str]) -> dict[str, Any]:  # noqa: ANN401 (click's context)
        from tinysplit.cli.config.file import read_config
        from tinysplit.cli.config.keys import keys_of

        config = read_config(path)
        defaults, key_of = {}, {}
        for parameter in (each for each in self.params if each.name not in given):
            key = next((key for key in keys_of(str(self.name), str(parameter.name)) if key in config), None)
            if key is None:
                continue
            value = [config[key]] if parameter.nargs == -1 else config[key]
            try:
                parameter.process_value(ctx, value)
            except (typer.BadParameter, UsageError) as error:
                if config[key] == AUTO:  # chosen by other commands: mixed precision needs samples
                    continue
                wrong = value_mistake(error)
                why = error.message if isinstance(error, typer.BadParameter) else str(error)
                text = f"{key} {wrong}" if wrong else f"{key}: {why}"
                raise InputError(f"{path}: {text}") from None
            defaults[str(parameter.name)] = value
            key_of[str(parameter.name)] = key
        if key_of:
            from tinysplit.cli.basic_options import messages

            ctx.meta[_TAKEN] = _Taken(path, key_of)
            names = ", ".join(key_of.values())
            messages.print(f"taken from {path}: {names}", highlight=False, markup=False, soft_wrap=True)
        return defaults
