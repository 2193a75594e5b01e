import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from tinysplit.common.tables import PlainTable, plain_table, shortened
from tinysplit.common.texts.console import PlainConsole


def test_long_names_keep_their_ends() -> None:
    assert shortened("conv1", 20) == "conv1"
    assert shortened("/features/block.12/conv1/Conv", 11) == "…conv1/Conv"


def test_layers_lose_the_beginning_that_they_have_in_common() -> None:
    table = plain_table("#", "layer", "kind", numbers=("cycles",))
    for number in range(3):
        table.add_row(str(number), f"sequential_model/features_of_block/conv2d_{number}/Conv2D", "conv", "1234")
    table.add_row("3", f"sequential_model/dense/BiasAdd;sequential_model/dense/{'x' * 300}", "dense", "56")
    assert [line.split()[1] for line in lines_of(table, 60)[1:]] == [
        "…features_of_block/conv2d_0/Conv2D",
        "…features_of_block/conv2d_1/Conv2D",
        "…features_of_block/conv2d_2/Conv2D",
        "…dense/BiasAdd…",
    ]
    assert [line.split()[1] for line in lines_of(table, 500)[1:3]] == [
        "sequential_model/features_of_block/conv2d_0/Conv2D",
        "sequential_model/features_of_block/conv2d_1/Conv2D",
    ]


def test_nothing_is_wrapped_or_shortened_in_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = plain_table("layer", "kind")
    table.add_row("x" * 300, "conv + ReLU")
    console = PlainConsole()
    console.print("word " * 100)
    console.print(table)
    sentence, _, row = capsys.readouterr().out.splitlines()
    assert sentence == "word " * 100
    assert row == f"{'x' * 300}  conv + ReLU"


LONG = "production_line_controller_with_{}_revision_b"
BOARDS = [LONG.format(part) for part in ("f401re", "g071rb", "h743zi", "l452re")]


def lines_of(table: PlainTable, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO())
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


def check_words(table: PlainTable, words: Sequence[str], width: int) -> None:
    """Check that all words are whole, or the end of one behind an ellipsis, and that no line is too long."""
    lines = lines_of(table, width)
    assert max(map(len, lines)) <= width
    for word in " ".join(lines).split():
        assert word in words or any(word[0] == "…" and each.endswith(word[1:]) for each in words), word


@given(
    rows=st.lists(st.lists(st.text("abc _-+", max_size=60), min_size=3, max_size=3), min_size=1, max_size=5),
    numbers=st.lists(st.integers(0, 10**9), min_size=5, max_size=5),
    width=st.integers(50, 120),
)
def test_words_are_never_broken(rows: list[list[str]], numbers: list[int], width: int) -> None:
    table = plain_table("first", "second", numbers=("value",), last_labels=("last",))
    for (first, second, last), number in zip(rows, numbers, strict=False):
        table.add_row(first, second, str(number), last)
    words = " ".join(["first second value last", *(cell for row in rows for cell in row), *map(str, numbers)]).split()
    check_words(table, words, width)


def test_long_names_are_shortened_before_other_cells_are_wrapped() -> None:
    table = plain_table("board", "layers", "flash", numbers=("L ms",))
    for number, name in enumerate(BOARDS, 1):
        table.add_row(f"{number} {name}", "1-4, 6", "a sentence of thirty-five letters", "0.99")
    assert lines_of(table)[1:] == [
        "1 …f401re_revision_b  1-4, 6  a sentence of thirty-five letters  0.99",
        "2 …g071rb_revision_b  1-4, 6  a sentence of thirty-five letters  0.99",
        "3 …h743zi_revision_b  1-4, 6  a sentence of thirty-five letters  0.99",
        "4 …l452re_revision_b  1-4, 6  a sentence of thirty-five letters  0.99",
    ]


def test_sets_of_long_names_are_wrapped_behind_the_plus_sign() -> None:
    table = plain_table("boards", numbers=("L ms",))
    table.add_row(" + ".join(BOARDS), "0.99")
    lines = lines_of(table, 40)
    assert [line.split()[-1] for line in lines[2:4]] == ["+", "+"]
    assert lines[1].split() == ["…f401re_revision_b", "+", "0.99"]


def test_a_row_may_have_too_few_cells() -> None:
    table = plain_table("a", numbers=("n",), last_labels=("z",))
    table.add_row("word")
    assert lines_of(table)[1].split() == ["word"]


def test_styles_take_no_room() -> None:
    table = plain_table("mark", "text")
    table.add_row(Text("=", "green"), "word " * 5)
    assert lines_of(table, 31)[1].rstrip() == "=     word word word word word"


def test_a_wide_console_shortens_nothing() -> None:
    table = plain_table("boards", numbers=("L ms",))
    table.add_row(" + ".join(BOARDS), "0.99")
    assert lines_of(table, 250)[1].startswith(" + ".join(BOARDS))


def test_columns_without_rows_and_words() -> None:
    assert [line.rstrip() for line in lines_of(plain_table("a", "", numbers=("n",)))] == ["a     n"]
