"""Inputs made from a corpus by a seeded generator: the same seed gives the same inputs."""

import ast
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

Change = Callable[[Random, bytes], bytes]

_MOST_BYTES = 1 << 16
_MOST_CHANGES = 6
_WORD = re.compile(rb"[A-Za-z_][\w-]*|-?\d[\d.e+-]*|\"[^\"\n]{0,40}\"")
_MOST_WORDS = 400
_ODD = (
    *(b"", b"\0", b"\n", b"\r", b"\x1b[2J", b"\xff", b"\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80"),
    *(b"0", b"1", b"-1", b"2", b"255", b"256", b"65536", b"4294967296", b"18446744073709551616", b"9" * 5000),
    *(b"1e999", b"-1e-999", b"0.5", b"nan", b"inf", b"-inf", b"\xd9\xa3", b"true", b"false", b"null", b"x" * 300),
    *(b"[]", b"{}", b'""', b"''", b"[" * 2000, b".", b",", b";", b":", b"=", b"/", b"..", b"#", b"%", b"a." * 40),
)
_BOUNDS = [
    (value % (1 << 8 * size)).to_bytes(size, "little")
    for size in (1, 2, 4, 8)
    for value in (0, 1, -1, 2, 127, 128, 255, 256, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 62, -(1 << 63))
]


def read_corpus(path: Path) -> list[bytes]:
    """Return the inputs of a corpus file: a bytes literal of Python on each line, or a comment behind "#"."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="ascii").splitlines()
    return [ast.literal_eval(line) for line in lines if line and not line.startswith("#")]


class Mutator:
    """Changes inputs of a corpus: bytes, words, lines and parts of other inputs, or as `changes` do."""

    def __init__(
        self, seed: int, corpus: Sequence[bytes], changes: Sequence[Change] = (), n_seeds: int | None = None
    ) -> None:
        """`changes` know the structure of the inputs; each is as frequent as all changes of bytes together.

        Half of the inputs are made from the first `n_seeds` of the corpus, by default all alike.
        """
        self._random = Random(seed)  # noqa: S311 - not for secrets
        self._corpus = corpus
        self._n_seeds = n_seeds or len(corpus)
        found = dict.fromkeys(word for each in corpus for word in _WORD.findall(each))
        self._words = list(found)[:_MOST_WORDS] or [b""]
        self._ways: tuple[Change, ...] = (self._changed, *changes)

    def next(self) -> bytes:
        """Return the next input."""
        random = self._random
        way = self._ways[int(random.random() * len(self._ways))]
        count = len(self._corpus)
        if self._n_seeds < count and random.random() < 0.5:
            count = self._n_seeds
        return way(random, self._corpus[int(random.random() * count)])

    def _changed(self, random: Random, content: bytes) -> bytes:
        data = bytearray(content)
        number = 1
        while number < _MOST_CHANGES and random.random() < 0.5:
            number += 1
        for _ in range(number):
            step = _STEPS[int(random.random() * len(_STEPS))]
            step(self, random, data)
        return bytes(data[:_MOST_BYTES])

    def _set_byte(self, random: Random, data: bytearray) -> None:
        if data:
            data[int(random.random() * len(data))] = int(random.random() * 256)

    def _flip_bit(self, random: Random, data: bytearray) -> None:
        if data:
            data[int(random.random() * len(data))] ^= 1 << int(random.random() * 8)

    def _set_number(self, random: Random, data: bytearray) -> None:
        """Replace bytes by a number at a bound of its type."""
        number = random.choice(_BOUNDS)
        at = int(random.random() * (len(data) + 1))
        data[at : at + len(number)] = number

    def _insert(self, random: Random, data: bytearray) -> None:
        at = int(random.random() * (len(data) + 1))
        data[at:at] = random.choice(_ODD) if random.random() < 0.5 else random.randbytes(1 + int(random.random() * 8))

    def _erase(self, random: Random, data: bytearray) -> None:
        at = int(random.random() * (len(data) + 1))
        most = 4 if random.random() < 0.5 else len(data)
        del data[at : at + 1 + int(random.random() * most)]

    def _repeat(self, random: Random, data: bytearray) -> None:
        at = int(random.random() * (len(data) + 1))
        part = data[at : at + 1 + int(random.random() * 64)]
        data[at:at] = part * (1 + int(random.random() * 4))

    def _splice(self, random: Random, data: bytearray) -> None:
        """Continue with the end of another input."""
        other = self._corpus[int(random.random() * len(self._corpus))]
        at, behind = int(random.random() * (len(data) + 1)), int(random.random() * (len(other) + 1))
        data[at:] = other[behind:]

    def _set_word(self, random: Random, data: bytearray) -> None:
        """Replace a word or a number by another one, or by something odd."""
        found = _WORD.search(data, int(random.random() * (len(data) + 1)))
        if found:
            data[found.start() : found.end()] = random.choice(self._words if random.random() < 0.5 else _ODD)

    def _move_line(self, random: Random, data: bytearray) -> None:
        """Remove a line, and put it in another place, or twice there."""
        lines = data.split(b"\n")
        line = lines.pop(int(random.random() * len(lines)))
        at = int(random.random() * (len(lines) + 1))
        lines[at:at] = [line] * int(random.random() * 3)
        data[:] = b"\n".join(lines)


_STEPS = (
    Mutator._set_byte, Mutator._flip_bit, Mutator._set_number, Mutator._insert, Mutator._erase, Mutator._repeat,
    Mutator._splice, Mutator._set_word, Mutator._set_word, Mutator._move_line,
)  # fmt: skip
