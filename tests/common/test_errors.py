"""Errors are one line that any terminal shows as it is."""

import pytest

from tinysplit.common.errors import InputError, ToolError, UsageError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2 µs, 'Öl'", "2 µs, 'Öl'"),
        ("key a\nb", "key a\\nb"),
        ("\x1b[2J\x7f\u2028\ud800", "\\x1b[2J\\x7f\\u2028\\ud800"),
    ],
)
def test_messages_are_printable(text: str, shown: str) -> None:
    assert [str(kind(text)) for kind in (InputError, ToolError, UsageError)] == [shown] * 3
