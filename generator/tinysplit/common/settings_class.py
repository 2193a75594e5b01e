"""Settings that scripts make: a wrong name of a field is a UsageError, as a wrong value is."""

from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

from tinysplit.common.errors import UsageError

T = TypeVar("T")
_kinds: set[type] = set()


def settings_class(kind: type[T]) -> type[T]:
    """Let a dataclass raise UsageError where it is made with a field that it has not, or without one that it needs."""
    plain: Any = kind.__init__

    @wraps(plain)
    def with_checks(self: T, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (of all fields)
        try:
            plain(self, *args, **kwargs)
        except TypeError as error:
            raise UsageError(_mistake(kind, str(error), kwargs)) from None

    kind.__init__ = with_checks  # type: ignore[assignment]
    _kinds.add(kind)
    return kind


def is_settings_class(kind: object) -> bool:
    """Whether a class is one of settings."""
    return kind in _kinds


def _mistake(kind: type[Any], text: str, given: dict[str, Any]) -> str:
    """Return what is wrong with the fields of a settings class: "CostSettings has no field bauds: ..."."""
    names = [field.name for field in fields(kind) if field.init]
    unknown = next((name for name in given if name not in names), None)
    if unknown is None:
        return f"{kind.__name__} {text.partition('() ')[2] or text}"
    near = get_close_matches(unknown, names, n=1)
    return f"{kind.__name__} has no field {unknown}: {f'did you mean {near[0]}?' if near else ', '.join(names)}"
