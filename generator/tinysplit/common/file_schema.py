"""What the schemas of all files have in common: frozen, no unknown keys, and one line about the first mistake."""

from pydantic import BaseModel, ConfigDict, ValidationError


class FileModel(BaseModel):
    """A file or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def first_mistake(error: ValidationError) -> str:
    """Return where the first mistake is and what it is: "boards.0.name: Field required"."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "the file"
    return f"{where}: {first['msg']}"
