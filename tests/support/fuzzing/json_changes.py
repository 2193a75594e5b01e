"""Changes of JSON that stays JSON: a value at any depth is replaced, left out, renamed, moved or repeated."""

import json
from collections.abc import Callable
from copy import deepcopy
from math import inf, nan
from random import Random
from typing import Any

_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 255, 2**31, 2**63, 2**70, -(2**63), 10**400, 0.5, -0.0, 1e308, nan, inf),
    *("", "0", "1", "x", "name", "a\nb", "\x1b[2J", "\u2028", "\ud800", "\0", "x" * 300, "../x", "/", "nucleo_g071rb"),
    *([], {}, [0], [[]], ["x"], {"x": 0}, [1, 2], {"number": 1}, [None], [0.5, -1]),
)
_MOST_CHANGES = 3

Place = tuple[Any, Any]  # a list or table, and an index or key in it


def changed_json(random: Random, content: bytes) -> bytes:
    """Return a JSON text with one to three values changed; what is no JSON stays as it is."""
    return _changed_lines(random, content, _changed)


def _changed_lines(random: Random, content: bytes, change: Callable[[Random, object], object]) -> bytes:
    """Change the text, or one line of it where each is JSON, as in a journal."""
    lines = content.splitlines(keepends=True)
    for at, line in ((0, content), (int(random.random() * len(lines)), None)) if lines else ():
        try:
            data = json.loads(line or lines[at])
        except (ValueError, RecursionError):
            continue
        text = json.dumps(change(random, data)).encode()
        return text if line else b"".join([*lines[:at], text, b"\n", *lines[at + 1 :]])
    return content


def _changed(random: Random, data: object) -> object:
    whole = [deepcopy(data)]
    for _ in range(1 + int(random.random() ** 2 * _MOST_CHANGES)):
        _change(random, _place(random, whole))
    return whole[0] if whole else None


def _place(random: Random, whole: list[Any]) -> Place:
    """Return a place at any depth: each level is left with the same chance."""
    inside: Any = whole
    key: Any = 0
    while True:
        below = inside[key] if isinstance(inside, dict) or key < len(inside) else None
        if not isinstance(below, dict | list) or not below or (inside is not whole and random.random() < 0.2):
            return inside, key
        inside = below
        key = random.choice(list(inside)) if isinstance(inside, dict) else int(random.random() * len(inside))


def _change(random: Random, place: Place) -> None:
    inside, key = place
    what = int(random.random() * 6)
    if isinstance(inside, list) and key >= len(inside):
        return
    value = inside[key]
    if what == 0:
        del inside[key]
    elif what == 1 and isinstance(value, int | float) and not isinstance(value, bool):
        inside[key] = random.choice(
            (value + 1, value - 1, -value, value * 2, float(value) if abs(value) < 1e300 else 0, str(value))
        )
    elif what == 2 and isinstance(inside, dict):
        inside[random.choice((*inside, "x", "a\nb", ""))] = inside.pop(key)
    elif what == 3 and isinstance(inside, list):
        inside[key:key] = [deepcopy(value) for _ in range(random.choice((1, 1, 2, 40)))]
    elif what == 4 and len(inside) > 1:
        other = random.choice(list(inside)) if isinstance(inside, dict) else int(random.random() * len(inside))
        inside[key], inside[other] = inside[other], inside[key]
    else:
        inside[key] = deepcopy(random.choice(_ODD))
