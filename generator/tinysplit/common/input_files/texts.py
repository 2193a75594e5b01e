"""Reading of TOML and JSON files from others."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from tinysplit.common.input_files.limits import JSON_BYTES, TOML_BYTES, read_limited

# The time of tomllib grows with the square of the number of parts of a dotted key.
MAX_DOTS_IN_LINE = 200
_MANY_DOTS = re.compile(rf"^(?!\s*#)(?:[^.\n]*\.){{{MAX_DOTS_IN_LINE + 1}}}", re.MULTILINE)


def read_toml_file(path: Path) -> dict[str, Any]:
    """Return what a TOML file in UTF-8 holds.

    Raises OSError, UnicodeDecodeError or tomllib.TOMLDecodeError as its parts do, InputError for a file over the limit.
    """
    text = read_limited(path, TOML_BYTES).decode("utf-8-sig")
    if _MANY_DOTS.search(text):
        raise tomllib.TOMLDecodeError(f"a line has more than {MAX_DOTS_IN_LINE} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("values are nested too deep") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # dates that do not exist and integers of thousands of digits, which tomllib lets pass
        raise tomllib.TOMLDecodeError(str(error)) from None


def read_json_file(path: Path) -> Any:  # noqa: ANN401 (whatever it holds)
    """Return what a JSON file in UTF-8 holds.

    Raises OSError or ValueError where it cannot be read or is not JSON, InputError for a file over the limit.
    """
    text = read_limited(path, JSON_BYTES).decode()
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("values are nested too deep") from None
