"""Base of all file schemas: frozen, unknown keys forbidden, one line about the first error."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.texts import read_json_file
from tinysplit.settings.setting import Setting


class FileModel(BaseModel):
    """A file or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# Numbers far above what any network or board needs: all sums and products of them are finite.
Number = Annotated[int, Field(ge=1, le=10**6)]  # of a layer, board, cut or sample
Count = Annotated[int, Field(ge=0, le=10**15)]  # of bytes, cycles, frames
Hertz = Annotated[int, Field(ge=1, le=10**11)]  # or baud
Seconds = Annotated[float, Field(ge=0, le=1e9)]
Watts = Annotated[float, Field(ge=0, le=1e6)]
Figure = Annotated[float, Field(ge=-1e15, le=1e15)]


def in_range(setting: Setting) -> Any:  # noqa: ANN401 (pydantic's own type)
    """Return the check of a number, in Annotated, that has the range of a setting."""
    return Field(ge=setting.at_least, gt=setting.above, le=setting.at_most)


_WANTED = "wanted"  # our own type of error, with its words

# What pydantic's types of errors mean, with the names of their contexts; those that are missing keep their own words.
_WORDS = {
    _WANTED: "has to be {wanted}",
    "missing": "is missing",
    "extra_forbidden": "is no known key",
    "string_type": "has to be text",
    "string_too_short": "needs {min_length} or more characters",
    "string_too_long": "has more than {max_length} characters",
    "int_type": "has to be a whole number",
    "int_parsing": "has to be a whole number",
    "int_from_float": "has to be a whole number",
    "float_type": "has to be a number",
    "float_parsing": "has to be a number",
    "finite_number": "has to be finite",
    "bool_type": "has to be true or false",
    "bool_parsing": "has to be true or false",
    "path_type": "has to be a path",
    "callable_type": "has to be a function",
    "tuple_type": "has to be a list",
    "list_type": "has to be a list",
    "sequence_str": "has to be a list",
    "is_instance_of": "has to be a list",  # `Sequence`: the only class that is checked so
    "dict_type": "has to be a table",
    "model_type": "has to be a table",
    "literal_error": "has to be {expected}",
    "enum": "has to be {expected}",
    "greater_than": "has to be more than {gt:g}",
    "greater_than_equal": "has to be at least {ge:g}",
    "less_than": "has to be less than {lt}",
    "less_than_equal": "has to be at most {le}",
    "too_short": "needs {min_length} or more entries",
    "too_long": "has more than {max_length} entries",
}


def wanted(what: str, is_right: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a check for validators of pydantic: where `is_right` says no, the value "has to be `what`"."""

    def check(value: Any) -> Any:  # noqa: ANN401 (of any type)
        if not is_right(value):
            raise PydanticCustomError(_WANTED, "has to be {wanted}", {_WANTED: what})
        return value

    return check


def matching(pattern: str, what: str) -> Callable[[Any], Any]:
    """Return a check for texts that match a regular expression, whole; `what` says in plain words what that is."""
    return wanted(what, re.compile(pattern).fullmatch)


def first_mistake(error: ValidationError) -> str:
    """Return the first validation error in plain words: "boards 1, name is missing"; entries count from 1."""
    first = error.errors()[0]
    where, words = place_of(first["loc"]), _in_words(first)
    if words:
        return f"{where} {words}".strip()
    what = first["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def wrong_value(error: ValidationError) -> str | None:
    """Return the first validation error of a value in plain words ("0 has to be at least 1"), None without any."""
    first = error.errors()[0]
    words = _in_words(first)
    return words and f"{first['input']} {words}"


def _in_words(mistake: ErrorDetails) -> str | None:
    words = _WORDS.get(mistake["type"])
    return words and words.format(**mistake.get("ctx", {}))


def place_of(location: Sequence[int | str]) -> str:
    """Return ("board", 1, "port") as "board 2, port"."""
    place = ""
    for before, part in pairwise((None, *location)):
        separator = "" if before is None else " " if isinstance(part, int) else ", " if isinstance(before, int) else "."
        place += f"{separator}{part + 1 if isinstance(part, int) else part}"
    return place


Model = TypeVar("Model", bound=FileModel)


def read_json(path: Path, remedy: str) -> object:
    """Return what a JSON file holds. Raises InputError with the remedy when it cannot be read or is not JSON."""
    try:
        return read_json_file(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {remedy}") from None
    except ValueError:
        raise InputError(f"{path} is not JSON: {remedy}") from None


def validate(path: Path, data: object, model: type[Model], remedy: str) -> Model:
    """Return what a JSON file holds as `model`. Raises InputError with its first mistake and the remedy."""
    try:
        return model.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}: {remedy}") from None
