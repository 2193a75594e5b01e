"""Runs tinysplit as from the command line, in this process."""

from typer.testing import CliRunner

from tinysplit.cli.app import app

USAGE, BAD_INPUT, CHECK_FAILED, TOOL = 2, 3, 1, 4


def run(*arguments: str, expect: int = 0) -> str:
    """Run a command; return stdout where it succeeds, else the one line on stderr."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == expect, result.output
    assert not has_marks(result.output)
    if expect == 0:
        return result.stdout
    assert result.stdout == ""
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "Traceback" not in result.stderr
    return errors[0]


def has_marks(text: str) -> bool:
    """Whether a text, or JSON, has marks of settings that nobody has replaced by names."""
    return any(mark in text.lower() for code in range(0xF8F0, 0xF8F3) for mark in (chr(code), f"\\u{code:x}"))
