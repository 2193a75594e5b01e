"""Base of all file schemas: frozen, unknown keys forbidden, one line about the first error."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from tinysplit.common.errors import InputError


class FileModel(BaseModel):
    """A file or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def first_mistake(error: ValidationError) -> str:
    """Return the first validation error with its location: "boards.0.name: Field required"."""
    first = error.errors()[0]
    where, what = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


Model = TypeVar("Model", bound=FileModel)


def read_json(path: Path, remedy: str) -> object:
    """Return what a JSON file holds. Raises InputError with the remedy when it cannot be read or is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {remedy}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON: {remedy}") from None


def validate(path: Path, data: object, model: type[Model], remedy: str) -> Model:
    """Return what a JSON file holds as `model`. Raises InputError with its first mistake and the remedy."""
    try:
        return model.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}: {remedy}") from None
