"""Numbers that scripts give, strictly: whole numbers are no truth values, numbers no texts, and none is undefined.

Scalars of numpy stand for Python's. What is in settings, lists and tables of fields is checked like arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from math import isnan
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from tinysplit.common.errors import UsageError
from tinysplit.common.file_schema import place_of
from tinysplit.common.settings_class import is_settings_class

_NUMBERS: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number"}
_REMEDIES: Mapping[object, str] = {("bits", "auto"): ": give `generate` a goal for mixed precision"}
Hint = Any  # a type as in an annotation
Place = tuple[str | int, ...]  # names of arguments and fields, and 0-based places in lists


def arguments_of(function: Callable[..., object], given: Mapping[str, object]) -> dict[str, object]:
    """Return the arguments of a function with Python's numbers for numpy's.

    Raises UsageError, which names argument and value, for a truth value, a text or NaN in place of a number, and for
    a number in place of a truth value.
    """
    hints = _hints(function)
    return {name: _plain(hints.get(name), value, (name,)) for name, value in given.items()}


@cache
def _hints(owner: Callable[..., object]) -> Mapping[str, Hint]:
    return get_type_hints(owner)  # without what Annotated adds


def _plain(hint: Hint, value: object, place: Place) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    kinds = _kinds(hint)
    if isinstance(value, str | bool | int | float):
        _check(kinds, value, place)
        return value
    if is_settings_class(type(value)) and type(value) in kinds:
        return _plain_fields(value, place)
    if isinstance(value, Mapping):
        settings: Any = next(filter(is_settings_class, kinds), None)
        hints = _hints(settings) if settings else {}
        return {name: _plain(hints.get(name), each, (*place, name)) for name, each in value.items()}
    if isinstance(value, list | tuple) and (entries := _entries(kinds, len(value))):
        pairs = zip(entries, value, strict=True)
        return type(value)(_plain(entry, each, (*place, index)) for index, (entry, each) in enumerate(pairs))
    return value


def _plain_fields(settings: Any, place: Place) -> object:  # noqa: ANN401 (any dataclass)
    kind: Any = type(settings)
    hints, changed = _hints(kind), {}
    for field in fields(settings):
        given = getattr(settings, field.name)
        plain = _plain(hints[field.name], given, (*place, field.name))
        if plain is not given:
            changed[field.name] = plain
    return replace(settings, **changed) if changed else settings


def _kinds(hint: Hint) -> tuple[Hint, ...]:
    """Return the types that a hint allows, without Annotated and None."""
    origin: Any = get_origin(hint)
    if origin is Annotated:
        return _kinds(get_args(hint)[0])
    if origin in {Union, UnionType}:
        return tuple(kind for each in get_args(hint) for kind in _kinds(each) if kind is not NoneType)
    return (hint,)


def _check(kinds: Sequence[Hint], value: str | float, place: Place) -> None:
    """Raise UsageError for a value of another type than the number or truth value that is wanted."""
    wanted = next((kind for kind in _NUMBERS if kind in kinds), None)
    if wanted is None or (isinstance(value, str) and _takes_text(kinds)):
        return
    is_truth = isinstance(value, bool)
    is_number = isinstance(value, int | float) and not is_truth and not isnan(value)
    if not (is_truth if wanted is bool else is_number):
        remedy = _REMEDIES.get((place[-1], value), "")
        raise UsageError(f"{place_of(place)} has to be {_NUMBERS[wanted]}, not {value!r}{remedy}")


def _takes_text(kinds: Sequence[Hint]) -> bool:
    return any(isinstance(kind, type) and issubclass(kind, str) for kind in kinds)


def _entries(kinds: Sequence[Hint], count: int) -> Sequence[Hint]:
    """Return the hint of each entry of a list of `count`, none where no list is wanted, or one of another length."""
    for kind in kinds:
        origin: Any = get_origin(kind)
        entries = get_args(kind)
        if origin is tuple and Ellipsis not in entries:
            return entries if len(entries) == count else ()
        if origin in {tuple, list, Sequence} and entries:
            return (entries[0],) * count
    return ()
