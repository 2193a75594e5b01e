"""What functions for scripts take: checks of all arguments, and errors in the words of scripts."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from types import NoneType
from typing import ParamSpec, TypeVar

from pydantic import BeforeValidator, ConfigDict, PlainValidator, ValidationError, validate_call

from tinysplit.api.scalars import arguments_of
from tinysplit.common.errors import TinysplitError, UsageError
from tinysplit.common.file_schema import first_mistake, wanted
from tinysplit.settings.setting import as_argument, worded

P = ParamSpec("P")
R = TypeVar("R")

_CHECKS = ConfigDict(arbitrary_types_allowed=True, revalidate_instances="always")  # fields of settings, too
_PLAIN = (str, int, float, Path, NoneType)  # values that are shown

_WITHOUT_VALUE = {"value_error", "too_short", "too_long"}  # types of mistakes that say all


def for_scripts(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of a function by their types, which pydantic knows; word its errors for scripts.

    The function then raises UsageError for an argument that is missing, unknown, or not what its type says; text stands
    for values of enumerations.
    """
    checked: Callable[..., R] = validate_call(config=_CHECKS)(function)
    parameters = signature(function)

    @wraps(function)
    def with_checks(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = arguments_of(function, parameters.bind(*args, **kwargs).arguments)
        except (TypeError, UsageError) as error:
            raise UsageError(f"{function.__name__}: {error}") from None
        try:
            return checked(**given)
        except ValidationError as error:
            raise UsageError(f"{function.__name__}: {_mistake(error)}") from None
        except TinysplitError as error:
            error.args = (worded(error.message, as_argument),)
            raise

    return with_checks


def takes(what: str, *kinds: type) -> PlainValidator:
    """Return the check of an argument that takes `what`, an object of one of these classes."""
    return PlainValidator(wanted(what, lambda value: isinstance(value, kinds) and not _is_empty(value)))


def takes_some(what: str, *kinds: type) -> PlainValidator:
    """Return the check of an argument that takes one object of these classes, or a list or tuple of them."""

    def is_right(value: object) -> bool:
        every = value if isinstance(value, list | tuple) else (value,)
        return all(isinstance(each, kinds) and not _is_empty(each) for each in every)

    return PlainValidator(wanted(what, is_right))


def _is_empty(value: object) -> bool:
    return isinstance(value, str) and not value  # no path and no name


def takes_settings(kind: type) -> BeforeValidator:
    """Return the check of an argument that takes settings, whose fields are checked by their types."""
    return BeforeValidator(
        wanted(f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}", lambda value: isinstance(value, kind))
    )


def _mistake(error: ValidationError) -> str:
    """Return the first mistake with the value: "settings.baud has to be a whole number, not 'auto'"."""
    first = error.errors()[0]
    value = first["input"]
    if first["type"] in _WITHOUT_VALUE:
        return first_mistake(error)
    shown = repr(value) if isinstance(value, _PLAIN) else f"of type {type(value).__name__}"
    return f"{first_mistake(error)}, not {shown}"
