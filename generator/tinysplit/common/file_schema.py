"""Base of all file schemas: frozen, unknown keys forbidden, one line about the first error."""

from pydantic import BaseModel, ConfigDict, ValidationError


class FileModel(BaseModel):
    """A file or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def first_mistake(error: ValidationError) -> str:
    """Return the first validation error with its location: "boards.0.name: Field required"."""
    first = error.errors()[0]
    where, what = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what
